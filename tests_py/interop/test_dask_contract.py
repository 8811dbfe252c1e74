"""test_dask_contract.py: the cases of the operators' contract with all arrays in Dask chunks, against naive loops."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest

import gatherscatter as gs
from contract import READING, solve
from contract_run import cases, name_of
from contract_write import WRITING
from dask_chunks import as_dask
from layouts import significant
from reference import Clash

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask.array is not installed")

SERVED = {
    "reading": ("gather_dim", "gather_axis", "gather_nd", "tile_gather", "take", "take_along_axis"),
    "writing": ("scatter", "scatter_axis", "scatter_nd", "put_along_axis"),
}


def served(kind):
    """Small cases of the operators that Dask arrays have; libraries other than NumPy and `out` are left out."""
    return [case for case in cases(kind) if case["operator"] in SERVED[kind] and case["size"] <= 65]


def rng_of(case):
    return np.random.default_rng(zlib.crc32(name_of(case).encode()))


def in_chunks(value, rng, always=False):
    """An array as a Dask array, or in one of four cases as it is."""
    if not isinstance(value, np.ndarray) or (not always and rng.random() < 0.25):
        return value
    return as_dask(value, rng)


def check(contract, case, call):
    p = contract.build(case)
    answer = solve(contract, case, p)
    rng = rng_of(case)
    lazy = replace(
        p,
        source=in_chunks(p.source, rng, always=True),
        indices=[in_chunks(index, rng) for index in p.indices],
        mask=in_chunks(p.mask, rng),
        src=in_chunks(p.src, rng),
        out=None,
    )
    if case["operator"] == "tile_gather":
        lazy.fill = in_chunks(p.fill, rng)
    try:
        made = call(lazy)
        result = made.compute(scheduler="sync")
    except gs.OutOfBoundsError as error:
        assert answer.bad is not None and not isinstance(answer.bad, Clash)
        assert error.count in (answer.bad.count, None)
        if error.count is not None:
            assert (error.index, error.position, error.axis, error.size) == answer.bad[:4]
        check_bad_point(error, p)
    except ValueError as error:
        assert isinstance(answer.bad, Clash), error
        assert "write to the same element" in str(error)
    else:
        assert answer.bad is None, f"no error, expected {answer.bad}"
        assert made.dtype == result.dtype == answer.result.dtype and made.shape == answer.result.shape
        assert significant(np.asarray(result)) == significant(answer.result)


def check_bad_point(error, p):
    """The position is one of a point whose index is the one of the error."""
    indices = [np.asarray(index) for index in p.indices]
    if len(indices) > 1:
        index = np.broadcast_to(indices[error.axis], np.broadcast_shapes(*(i.shape for i in indices)))
    elif indices[0].ndim == len(error.position) + 1:
        index = np.moveaxis(indices[0], -1, 0)[error.axis - p.batch_dims]
    else:
        index = indices[0]
    place = tuple(i if n > 1 else 0 for i, n in zip(error.position, index.shape, strict=True))
    assert int(index[place]) == error.index


@pytest.mark.parametrize("case", served("reading"), ids=name_of)
def test_contract_of_dask(case):
    check(READING, case, READING.operators[case["operator"]].call)


@pytest.mark.parametrize("case", served("writing"), ids=name_of)
def test_contract_of_writing_dask(case):
    def call(p):
        if case["operator"] != "put_along_axis":
            return WRITING.operators[case["operator"]].call(p)
        rule = {"bounds": p.bounds, "negative": p.negative, "mask": p.mask}
        return gs.put_along_axis(p.source, p.indices[0], p.src, p.axis, **rule)

    check(WRITING, case, call)


def test_enough_cases_are_served():
    for kind, names in SERVED.items():
        assert {case["operator"] for case in served(kind)} == set(names)
        assert len(served(kind)) > 100
