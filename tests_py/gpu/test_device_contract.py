"""test_device_contract.py: the contract of all operators for arrays on the emulated GPU and on real ones.

The cases are the sample of test_contract.py, with the arrays of a library in place of NumPy's. A real GPU is used if
there is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from contract import ABOVE_THRESHOLDS, Contract, Problem, solve, state, with_out
from contract_run import CONTRACTS, cases, name_of
from device_libraries import EMULATED, LIBRARIES, REAL, DeviceLibrary, in_use
from layouts import significant
from pairwise import Row
from reference import Answer, Bad, Clash

pytestmark = pytest.mark.long

KINDS_OF_OPERATORS = [(kind, name) for kind in CONTRACTS for name in CONTRACTS[kind].operators]


def fits(case: Row, library: DeviceLibrary, dtype: np.dtype) -> bool:
    """Whether a library supports the arrays of a case. An array that is written must be writable."""
    return library.holds(dtype) and (library.writable or case["out"] == "none")


def moved(p: Problem, library: DeviceLibrary, on_host: bool) -> Problem:
    """The problem with its arrays on the GPU. Lists, and integers in the other byte order, stay on the host.

    So do all indices with `on_host`.
    """

    def there(value: Any) -> Any:
        return library.there(value) if isinstance(value, np.ndarray) and value.dtype.isnative else value

    other = replace(
        p,
        source=library.there(p.source),
        indices=p.indices if on_host else [there(index) for index in p.indices],
        mask=there(p.mask),
        fill=library.there(p.fill) if isinstance(p.fill, np.ndarray) else p.fill,
        src=library.there(p.src) if isinstance(p.src, np.ndarray) else p.src,
    )
    if p.out is not None:
        other.out = other.source if p.out is p.source else library.there(p.out)
    return other


def shape_of_result(contract: Contract, case: Row, p: Problem, answer: Answer) -> tuple[int, ...]:
    if answer.result is None:  # the shape without the bad index is that with all points masked
        return tuple(solve(contract, case, replace(p, mask=np.False_), -1).result.shape)
    return tuple(answer.result.shape)


def check(contract: Contract, case: Row, library: DeviceLibrary) -> None:
    p = contract.build(case)
    answer = solve(contract, case, p)
    p = with_out(case, p, shape_of_result(contract, case, p, answer))
    room = None if p.out is None else p.out.tobytes()
    before = state(p)
    q = moved(p, library, contract.operators[case["operator"]].on_host)
    try:
        result = contract.operators[case["operator"]].call(q)
        gs.cuda.synchronize()
    except gs.OutOfBoundsError as error:
        assert Bad(error.index, error.position, error.axis, error.size, error.count) == answer.bad
        if q.out is not None and case["bounds"] == "raise":
            assert library.back(q.out).tobytes() == room, "an error must not change out"
        return
    except ValueError as error:
        assert isinstance(answer.bad, Clash), error
        assert str(answer.bad.position) in str(error) and str(answer.bad.first) in str(error), error
        return
    assert answer.bad is None, f"no error, expected {answer.bad}"
    assert library.is_own(result)
    if q.out is not None:
        assert result is q.out
    found = library.back(result)
    assert found.shape == answer.result.shape and found.dtype == answer.result.dtype
    assert significant(np.asarray(found)) == significant(answer.result)
    if q.out is not q.source:
        assert significant(library.back(q.source)) == significant(p.source), "the arguments are only read"
    assert q.out is not None or state(p) == before


def run(name: str, kind: str, operator: str) -> int:
    contract, count = CONTRACTS[kind], 0
    with in_use(name) as library:
        for case in cases(kind):
            if case["operator"] != operator or (case["size"] == ABOVE_THRESHOLDS and count % 3 and name in EMULATED):
                continue
            case = {**case, "library": "numpy", "out": case["out"] if library.writable else "none"}
            dtype = contract.build({**case, "size": 1}).source.dtype
            if not fits(case, library, dtype):
                continue
            count += 1
            try:
                check(contract, case, library)
            except BaseException as error:
                error.add_note(f"case: {name_of(case)}")
                raise
    return count


@pytest.mark.parametrize("name", EMULATED)
@pytest.mark.parametrize(("kind", "operator"), KINDS_OF_OPERATORS)
def test_on_the_emulated_gpu(name, kind, operator):
    assert run(name, kind, operator) > (20 if operator != "putmask" else 3)


# Calls that write in place are left out for immutable arrays.
GIVES_AN_ARRAY = [pair for pair in KINDS_OF_OPERATORS if pair[0] == "reading" or "scatter" in pair[1][:12]]
ON_GPUS = [
    (name, *pair)
    for name in REAL
    for pair in KINDS_OF_OPERATORS
    if LIBRARIES[name].writable or (pair in GIVES_AN_ARRAY and pair[1] != "tile_scatter")
]


@pytest.mark.parametrize(("name", "kind", "operator"), ON_GPUS)
def test_on_a_gpu(name, kind, operator):
    why = LIBRARIES[name].why_not() or gs.cuda.why_not()
    if why:
        pytest.skip(f"arrays of {name} on a GPU: {why}")
    assert run(name, kind, operator) > 3
