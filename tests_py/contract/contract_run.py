"""contract_run.py: runs one case of the contract and checks all that is promised of a call.

Run as a program, it runs a sample of the cases and every reduction, and prints one line of JSON: the backend, and a
hash of all answers. A test runs it once for each backend and ISA level (they are read at import) and compares the
lines.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import gatherscatter as gs
from contract import (
    ABOVE_THRESHOLDS,
    LOOPS_UP_TO,
    READING,
    THREADS,
    Contract,
    Operator,
    Problem,
    in_library,
    solve,
    state,
    with_out,
)
from contract_write import KINDS, WRITING
from layouts import DTYPES, bytes_of, finite_items, random_items, root_of, significant, torch
from pairwise import Row, all_pairs
from reference import Answer, Bad, Clash
from reference_reduce import reducible
from second_reference import opaque


@functools.cache
def cases(contract: str) -> list[Row]:
    """The sample of the "reading" or "writing" cases, in which every pair of values occurs."""
    return all_pairs(CONTRACTS[contract].factors, CONTRACTS[contract].allows)


CONTRACTS = {"reading": READING, "writing": WRITING}


def name_of(case: Row) -> str:
    return "-".join(str(value) for value in case.values())


def check(contract: Contract, case: Row, loops_up_to: int = LOOPS_UP_TO) -> bytes:
    """Run the case with every number of threads; return the bytes of the answer (or of the error)."""
    p = contract.build(case)
    answer = solve(contract, case, p, loops_up_to)
    if answer.result is not None:
        shape = answer.result.shape
    else:  # the shape without the bad index is that with all points masked
        shape = solve(contract, case, replace(p, mask=np.False_), -1).result.shape
    room = with_out(case, p, shape).out
    verify(contract.operators[case["operator"]], in_library(case, p), answer, room)
    return repr(answer.bad).encode() if answer.bad is not None else significant(answer.result)


def verify(
    operator: Operator, p: Problem, answer: Answer, room: np.ndarray | None, threads: tuple[int, ...] = THREADS
) -> None:
    """Call the operator and check all that it promises. `room` is the NumPy array whose memory `p.out` uses."""
    before, room_before = state(p), memory(room)
    room_after = written(room, answer.result)
    for n in threads:
        restore(room, room_before)
        with gs.thread_limit(n):
            try:
                result = operator.call(p)
            except gs.OutOfBoundsError as error:
                found = Bad(error.index, error.position, error.axis, error.size, error.count)
                assert found == answer.bad, f"{n} threads"
                assert type(error.index) is int and type(error.position) is tuple
                assert memory(room) == room_before, "an error must not change out"
            except ValueError as error:
                assert isinstance(answer.bad, Clash), f"{n} threads: {error}"
                assert str(answer.bad.position) in str(error) and str(answer.bad.first) in str(error), error
                assert memory(room) == room_before, "an error must not change out"
            else:
                assert answer.bad is None, f"{n} threads: no error, expected {answer.bad}"
                if room is None:
                    check_fresh(result, answer.result, p)
                else:
                    assert result is p.out
                    assert significant(room) == significant(answer.result), f"{n} threads"
                    opaque(room)[...] = opaque(answer.result)  # padding bytes inside items may differ
                    assert memory(room) == room_after, f"{n} threads: the memory around out"
    restore(room, room_before)  # `out` may be the source itself
    assert state(p) == before, "the arguments are only read"


def check_fresh(result: Any, expected: np.ndarray, p: Problem) -> None:
    """Check library, dtype, shape, order and every byte of a new result."""
    if torch is not None and isinstance(p.source, torch.Tensor):
        assert type(result) is torch.Tensor and result.dtype == p.source.dtype and result.is_contiguous()
        assert tuple(result.shape) == expected.shape and bytes_of(result) == expected.tobytes()
        return
    if expected.ndim == 0:  # a scalar of NumPy, which is native and aligned; its item is compared
        assert isinstance(result, np.generic) and not isinstance(result, np.ndarray)
        scalar = expected[()]
        assert type(result) is type(scalar) and result.dtype == scalar.dtype
        assert significant(np.asarray(result)) == significant(np.asarray(scalar))
        return
    assert type(result) is np.ndarray and result.dtype == expected.dtype
    assert result.flags.c_contiguous and result.flags.writeable and result.shape == expected.shape
    assert significant(result) == significant(expected)


def memory(array: np.ndarray | None) -> bytes:
    """All bytes of the object that owns an array's memory, gaps included."""
    if array is None:
        return b""
    root = root_of(array)
    return root.ravel(order="K").tobytes() if isinstance(root, np.ndarray) else bytes(root)


def written(room: np.ndarray | None, result: np.ndarray | None) -> bytes:
    """The bytes that the memory must have after the result is written to `room`."""
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


def every_reduction() -> Iterator[bytes]:
    """gatherscatter's results for every dtype and reduction, to compare backends."""
    rng = np.random.default_rng(3)
    index = rng.integers(0, 500, 3000)
    for items, dtype, kind, include_self in itertools.product(
        (random_items, finite_items), DTYPES.values(), KINDS, (True, False)
    ):
        if reducible(dtype, kind):
            x, src = items((501,), dtype, rng), items((3000,), dtype, rng)
            yield gs.scatter(x, 0, index, src, reduce=kind, include_self=include_self).tobytes()


if __name__ == "__main__":
    digest, count = hashlib.sha256(), 0
    for kind, contract in CONTRACTS.items():
        wanted = [case for case in cases(kind) if case["size"] != ABOVE_THRESHOLDS or case["dtype"] == "int8"]
        for case in wanted[:: int(sys.argv[1])]:
            digest.update(check(contract, case))
            count += 1
    for answer in every_reduction():
        digest.update(answer)
        count += 1
    print(json.dumps({**who_ran(), "cases": count, "digest": digest.hexdigest()}))
