"""contract_run.py: runs one case of the contract and checks everything that is promised of a call.

As a program it runs a sample of the cases and prints one line of JSON: who ran them, and a hash of all answers. So the
test can start it once for every backend and ISA level (they are read at import) and compare.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

import gatherscatter as gs
from contract import (
    ABOVE_THRESHOLDS,
    FACTORS,
    LOOPS_UP_TO,
    OPERATORS,
    THREADS,
    Problem,
    allows,
    build,
    in_library,
    solve,
    state,
    with_out,
)
from layouts import bytes_of, root_of, significant, torch
from pairwise import Row, all_pairs
from reference import Answer, Bad
from second_reference import opaque


def cases() -> list[Row]:
    return all_pairs(FACTORS, allows)


def name_of(case: Row) -> str:
    return "-".join(str(value) for value in case.values())


def check(case: Row, loops_up_to: int = LOOPS_UP_TO) -> bytes:
    """Runs the case on every thread count; returns the bytes of the answer (or of the error)."""
    p = build(case)
    answer = solve(case, p, loops_up_to)
    shape = answer.result.shape if answer.result is not None else result_shape(case, p)
    room = with_out(case, p, shape).out
    verify(case["operator"], in_library(case, p), answer, room)
    return repr(answer.bad).encode() if answer.bad is not None else significant(answer.result)


def verify(
    operator: str, p: Problem, answer: Answer, room: np.ndarray | None, threads: tuple[int, ...] = THREADS
) -> None:
    """Calls the operator and checks all that it promises. `room` is the NumPy array in whose memory `p.out` lies."""
    before, room_before = state(p), memory(room)
    room_after = written(room, answer.result)
    for n in threads:
        restore(room, room_before)
        with gs.thread_limit(n):
            try:
                result = OPERATORS[operator].call(p)
            except gs.OutOfBoundsError as error:
                found = Bad(error.index, error.position, error.axis, error.size, error.count)
                assert found == answer.bad, f"{n} threads"
                assert type(error.index) is int and type(error.position) is tuple
                assert memory(room) == room_before, "an error leaves out as it was"
            else:
                assert answer.bad is None, f"{n} threads: no error, expected {answer.bad}"
                if room is None:
                    check_fresh(result, answer.result, p)
                else:
                    assert result is p.out
                    assert significant(room) == significant(answer.result), f"{n} threads"
                    opaque(room)[...] = opaque(answer.result)  # bytes that mean nothing may differ
                    assert memory(room) == room_after, f"{n} threads: what lies around out"
    assert state(p) == before, "the arguments are only read"


def result_shape(case: Row, p: Problem) -> tuple[int, ...]:
    """What the shape would have been without the bad index: the same problem with every index masked off."""
    masked = Problem(p.source, p.indices, p.axis, p.batch_dims, p.bounds, p.negative, np.False_)
    return solve(case, masked, -1).result.shape


def check_fresh(result: Any, expected: np.ndarray, p: Problem) -> None:
    """Library, dtype, shape, order and every byte of a fresh result."""
    if torch is not None and isinstance(p.source, torch.Tensor):
        assert type(result) is torch.Tensor and result.dtype == p.source.dtype and result.is_contiguous()
        assert tuple(result.shape) == expected.shape and bytes_of(result) == expected.tobytes()
        return
    if expected.ndim == 0:  # NumPy's scalars are native and aligned; otherwise the same item
        assert isinstance(result, np.generic) and not isinstance(result, np.ndarray)
        scalar = expected[()]
        assert type(result) is type(scalar) and result.dtype == scalar.dtype
        assert significant(np.asarray(result)) == significant(np.asarray(scalar))
        return
    assert type(result) is np.ndarray and result.dtype == expected.dtype
    assert result.flags.c_contiguous and result.flags.writeable and result.shape == expected.shape
    assert significant(result) == significant(expected)


def memory(array: np.ndarray | None) -> bytes:
    """All bytes of the object that an array lies in, gaps included."""
    if array is None:
        return b""
    root = root_of(array)
    return root.ravel(order="K").tobytes() if isinstance(root, np.ndarray) else bytes(root)


def written(room: np.ndarray | None, result: np.ndarray | None) -> bytes:
    """What the memory is to be once the result is written there."""
    if room is None or result is None:
        return b""
    before = memory(room)
    opaque(room)[...] = opaque(result)
    after = memory(room)
    restore(room, before)
    return after


def restore(array: np.ndarray | None, content: bytes) -> None:
    if array is None:
        return
    root = root_of(array)
    if isinstance(root, np.ndarray):
        flat = root.ravel(order="K")
        assert np.shares_memory(flat, root) or not flat.nbytes
        if content:
            flat.view("u1")[...] = np.frombuffer(content, "u1")
    else:
        root[:] = content


def who_ran() -> dict[str, str]:
    config = gs.show_config()
    return {"backend": config["backend"], "isa": config["isa"]}


if __name__ == "__main__":
    sample = [case for case in cases() if case["size"] != ABOVE_THRESHOLDS or case["dtype"] == "int8"][
        :: int(sys.argv[1])
    ]
    digest = hashlib.sha256(b"".join(check(case) for case in sample)).hexdigest()
    print(json.dumps({**who_ran(), "cases": len(sample), "digest": digest}))
