"""test_dask_dispatch.py: which calls reach the Dask engine, what they refuse, and how many tasks their graphs have."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import child_process
import gatherscatter as gs
from dask_chunks import as_dask, random_chunks

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("dask.callbacks", reason="this Dask has no callbacks")

RNG = np.random.default_rng(5)
X = RNG.integers(0, 1000, (12, 9))
SEPARATE = {"array.chunk-size": "1 B"}  # chunks of an index are not joined to larger blocks
INDEX = RNG.integers(-12, 12, (7, 9))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, m: gs.gather(x, 0, i, mask=m, fill_value=-1),
        lambda x, i, m: gs.gather(x, index=i, dim=0, mask=m),
        lambda x, i, m: gs.gather(x, indices=i, axis=1, bounds="wrap", mask=m),
        lambda x, i, m: gs.take(x, i, mode="wrap", mask=m),
        lambda x, i, m: gs.take_along_axis(x, indices=i, axis=0, mask=m),
        lambda x, i, m: gs.scatter(x, 0, i, 3, mask=m),
        lambda x, i, m: gs.scatter(x, 0, i, i, reduce="add", mask=m),
        lambda x, i, m: gs.tile_gather(x, (i, abs(i) % 9), mask=m, padding_value=7),
    ],
)
def test_dask_arrays_anywhere(call):
    """A Dask array in any place makes the call lazy, and the answer is that of arrays in memory."""
    mask = RNG.random((7, 9)) < 0.7
    expected = call(X, INDEX, mask)
    for which in range(1, 8):
        given = [as_dask(a, RNG) if which >> at & 1 else a for at, a in enumerate((X, INDEX, mask))]
        made = call(*given)
        assert isinstance(made, da.Array) and made.dtype == expected.dtype and made.shape == expected.shape
        np.testing.assert_array_equal(made.compute(scheduler="sync"), expected)


def test_nothing_is_computed_early():
    def fail(block):
        raise AssertionError("a chunk was computed")

    x = da.map_blocks(fail, da.zeros((8, 4), chunks=2), dtype=float, meta=np.empty((0, 0)))
    index = da.map_blocks(fail, da.zeros((8, 4), chunks=2), dtype=int, meta=np.empty((0, 0), int))
    gs.gather(x, 0, index)
    gs.scatter(x, 0, index, 1.0)
    with pytest.raises(AssertionError, match="a chunk was computed"):
        gs.gather(x, 0, index).compute(scheduler="sync")


def test_only_the_chunks_that_meet_are_read():
    x = da.arange(100, chunks=10)
    made = gs.gather(x, 0, np.arange(35, 45))
    picks = [key for key in made.dask.to_dict() if str(key[0]).startswith("gather-pick-")]
    assert len(picks) == 2


@pytest.mark.parametrize("lazy", [False, True])
def test_the_number_of_tasks_is_bounded(lazy):
    """At most 2 x pairs + 2 x result chunks + data chunks, beside the chunks of the arguments themselves."""
    for _ in range(30):
        shape = tuple(RNG.integers(1, 40, 2))
        data = RNG.integers(0, 9, shape)
        x = da.from_array(data, chunks=random_chunks(shape, RNG))
        rows = RNG.integers(0, shape[0], int(RNG.integers(1, 60)))
        index = da.from_array(rows, chunks=random_chunks(rows.shape, RNG)) if lazy else rows
        gathered = gs.gather(x, index, 0)
        scattered = gs.scatter(x, index, 1, 0)
        n_index = len(gathered.chunks[0])
        if lazy:
            pairs = n_index * x.numblocks[0]
        else:
            ends, starts = np.cumsum(x.chunks[0]), np.cumsum((0, *gathered.chunks[0]))
            blocks = pairwise(starts)
            pairs = sum(len(np.unique(np.searchsorted(ends, rows[a:b], side="right"))) for a, b in blocks)
        pairs *= x.numblocks[1]
        for made in (gathered, scattered):
            own = [key for key in made.dask.to_dict() if str(key[0]).startswith(("gather", "scatter"))]
            assert len(own) <= 2 * pairs + 2 * n_index * x.numblocks[1] + x.npartitions


def test_short_chunks_of_an_index_are_joined():
    """A block takes much from each chunk of the data; chunks of the result are those of the index."""
    data, at = RNG.random((1000, 3)), RNG.integers(-1000, 1000, 960)
    x, index = da.from_array(data, chunks=(10, 3)), da.from_array(at, chunks=20)
    made = gs.gather(x, index, 0)
    steps = Counter(str(key[0]).split("-")[1] for key in made.dask.to_dict() if str(key[0]).startswith("gather"))
    assert steps["split"] == steps["merged"] == 1 and steps["pick"] == steps["picked"] == 100
    assert made.chunks == ((20,) * 48, (3,))
    np.testing.assert_array_equal(made.compute(scheduler="sync"), data[at])
    np.testing.assert_array_equal(made[25:85:7].compute(scheduler="sync"), data[at][25:85:7])
    with pytest.raises(gs.OutOfBoundsError, match=r"index 5000 .* at position \(317,\)"):
        bad = np.where(np.arange(960) == 317, 5000, at)
        gs.gather(x, da.from_array(bad, chunks=20), 0)[:1].compute(scheduler="sync")
    # Chunks of the data along an axis that index and data share stay apart.
    wide = da.from_array(RNG.integers(0, 9, (6, 8)), chunks=(2, 1))
    rows = da.from_array(RNG.integers(0, 6, (5, 8)), chunks=(1, 1))
    made = gs.gather(wide, 0, rows)
    splits = [key for key in made.dask.to_dict() if str(key[0]).startswith("gather-split")]
    assert len(splits) == 8 and made.chunks == rows.chunks
    np.testing.assert_array_equal(made.compute(scheduler="sync"), np.take_along_axis(wide.compute(), rows.compute(), 0))


@pytest.mark.parametrize(("columns", "parts"), [(1, 40), (16, 20), (512, 0)])
def test_tasks_hand_on_positions_for_several_chunks_where_these_are_a_small_part(columns, parts):
    """A worker gets positions that it does not need, up to an eighth of the bytes of the values."""
    x = da.zeros((40, columns), chunks=(1, columns))
    with dask.config.set(SEPARATE):
        made = gs.gather(x, da.from_array(RNG.integers(0, 40, 7), chunks=7), 0)
    assert sum(str(key[0]).startswith("gather-part-") for key in made.dask.to_dict()) == parts
    assert made.compute(scheduler="sync").shape == (7, columns)


def test_many_tasks_are_a_warning():
    x, index = da.zeros(400, chunks=1), da.zeros(300, chunks=1, dtype=int)
    with dask.config.set(SEPARATE), pytest.warns(UserWarning, match=r"24\d,\d{3} tasks.*rechunk the index"):
        gs.gather(x, 0, index)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.gather(x, 0, index.rechunk(100))


class Sizes(dask.callbacks.Callback):
    """The bytes of the arrays in the results of all tasks, by step; an array that is handed on counts once."""

    def __init__(self):
        self.arrays = {}

    def _posttask(self, key, result, graph, state, worker):
        for array in arrays_in(result):
            name = str(key[0]) if isinstance(key, tuple) else str(key)
            step = name.partition("-")[2].partition("-")[0]
            self.arrays.setdefault(id(array), (step, array))  # kept, so that no other has its id

    def total(self, step):
        return sum(array.nbytes for name, array in self.arrays.values() if name == step)


def arrays_in(result):
    if isinstance(result, np.ndarray):
        return [result]
    items = result.values() if isinstance(result, dict) else result if isinstance(result, tuple | list) else ()
    return [array for item in items for array in arrays_in(item)]


@pytest.mark.parametrize("lazy", [False, True])
def test_intermediates_total_the_size_of_the_result(lazy):
    """What is picked for a gather are the bytes of its result, what is selected for a scatter those of its values."""
    data, at = RNG.random((400, 30)), RNG.integers(0, 400, 500)
    x = da.from_array(data, chunks=(60, 30), name=False)
    index = da.from_array(at, chunks=90) if lazy else at
    with Sizes() as sizes, dask.config.set(SEPARATE):
        made = gs.gather(x, index, 0)
        made.compute(scheduler="sync", optimize_graph=False)
    assert sizes.total("pick") == made.nbytes
    assert sizes.total("picked") == 0
    assert sizes.total("split") <= 2 * at.size  # a byte for the position in the chunk, and one for the point
    with Sizes() as sizes:
        values = RNG.random((500, 30))
        gs.scatter(x, index, values, 0).compute(scheduler="sync", optimize_graph=False)
    positions = at.size
    assert values.nbytes <= sizes.total("select") <= values.nbytes + positions
    assert sizes.total("selected") == 0


def test_the_data_are_never_one_chunk():
    x = da.from_array(X, chunks=(2, 9))
    for made in (gs.gather(x, 0, da.from_array(INDEX, chunks=3)), gs.scatter(x, 0, INDEX, 1)):
        assert not any("rechunk" in str(name) for name in made.dask.layers if x.name in made.dask.dependencies[name])
        sizes = []
        made.map_blocks(lambda block, sizes=sizes: sizes.append(block.shape) or block, dtype=made.dtype).compute()
        assert max(size[0] for size in sizes) <= 3


# ---- errors


def test_a_bad_index_in_memory_is_an_error_at_once():
    x = as_dask(X, RNG)
    index = INDEX.copy()
    index[3, 4], index[5, 1] = 99, -13
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.gather(x, 0, index)
    error = caught.value
    assert (error.index, error.position, error.axis, error.size, error.count) == (99, (3, 4), 0, 12, 2)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("call", [lambda x, i: gs.gather(x, 0, i), lambda x, i: gs.scatter(x, 0, i, 1)])
def test_a_bad_index_in_a_chunk_is_an_error_with_its_global_position(call, scheduler):
    index = INDEX.copy()
    index[5, 7] = 99
    made = call(da.from_array(X, chunks=5), da.from_array(index, chunks=(2, 4)))
    with pytest.raises(gs.OutOfBoundsError, match=r"position \(5, 7\)") as caught:
        made.compute(scheduler=scheduler)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.index, error.position, error.axis, error.size, error.count) == (99, (5, 7), 0, 12, None)


def test_chunks_of_unknown_size():
    x = da.from_array(X, chunks=4)
    unknown = x[x[:, 0] > 3]
    for call in (lambda: gs.gather(unknown, 0, INDEX), lambda: gs.take(x, unknown[:, 0] % 5)):
        with pytest.raises(ValueError, match=r"x\.compute_chunk_sizes\(\)"):
            call()


def test_what_is_not_written_to():
    x = da.from_array(X, chunks=4)
    with pytest.raises(TypeError, match="Dask arrays are not written to"):
        gs.gather(x, 0, INDEX, out=X)
    with pytest.raises(TypeError, match="nothing would be written"):
        gs.put_along_axis(X, da.from_array(INDEX, chunks=4), 1, 0)
    with pytest.raises(TypeError, match=r"x\.compute\(\)"):
        gs.put(x, [1], 2)
    with pytest.raises(TypeError, match=r"x\.compute\(\)"):
        gs.plan(gs.take, x, [1])


def test_values_that_the_call_needs():
    """Where an operator reads a number, a Dask array is no stand-in for it."""
    x, one = da.from_array(X, chunks=4), da.ones((), dtype=int)
    for name, call in {
        "fill_value": lambda: gs.gather(x, 0, INDEX, fill_value=one, bounds="fill"),
        "axis": lambda: gs.take(x, INDEX, axis=one),
        "batch_dims": lambda: gs.gather_nd(x, INDEX[:, :1], one),
        "src": lambda: gs.scatter(x, 0, INDEX, one * 1.5),
    }.items():
        with pytest.raises(TypeError, match=rf"{name} is a Dask array, .*x\.compute\(\)"):
            call()


def test_functions_have_the_signatures_of_the_operators():
    for name in gs.dask.__all__:
        theirs, ours = (inspect.signature(getattr(module, name)).parameters for module in (gs, gs.dask))
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ]
    with pytest.raises(TypeError, match="take: missing a required argument: 'indices'"):
        gs.take(da.zeros(3))


def test_errors_of_geometry_are_those_of_the_operator():
    x, index = da.from_array(X, chunks=4), da.from_array(INDEX, chunks=4)
    cases = (
        lambda a, i: gs.gather(a, 5, i),
        lambda a, i: gs.gather(a, 0, i[0]),
        lambda a, i: gs.gather(a, 0, i * 1.5),
        lambda a, i: gs.gather(a, 0, i, bounds="no"),
        lambda a, i: gs.gather(a, 0, i, mask=i),
        lambda a, i: gs.scatter(a, 0, i, i * 1.5),
        lambda a, i: gs.scatter(a, 0, i, 1, reduce="no"),
        lambda a, i: gs.take(a, i * 1.5),
        lambda a, i: gs.take_along_axis(a, i[0], 0),
        lambda a, i: gs.tile_gather(a, (i,)),
        lambda a, i: gs.gather_nd(a, i),
    )
    for call in cases:
        with pytest.raises(Exception) as expected:  # whatever the operator raises
            call(X, INDEX)
        with pytest.raises(type(expected.value)) as caught:
            call(x, index)
        assert str(caught.value) == str(expected.value)


# ---- dtypes, order, threads


def test_reductions_have_the_same_bytes_for_every_chunking():
    """Floats added in another order have other bytes; the order of points is kept, also in chunks of several axes."""
    x, src = RNG.random(30), RNG.random((40, 25)) * 10.0 ** RNG.integers(-9, 9, (40, 25))
    index = RNG.integers(0, 30, (40, 25))
    for kind in ("add", "mul", "mean"):
        expected = gs.scatter(x, index, src, 0, reduce=kind)
        for _ in range(10):
            made = gs.scatter(as_dask(x, RNG), as_dask(index, RNG), as_dask(src, RNG), 0, reduce=kind)
            assert made.compute(scheduler="sync").tobytes() == expected.tobytes()


def test_duplicates_across_chunks():
    x, index = np.zeros(4, int), np.array([[1, 2], [1, 0]])
    values = np.array([[1, 2], [3, 4]])
    for chunks in (1, 2, (2, 1), (1, 2)):
        at = da.from_array(index, chunks=chunks)
        made = gs.scatter(da.from_array(x, chunks=3), at, values, 0)
        assert made.compute().tolist() == [4, 3, 2, 0]
        assert gs.scatter(da.from_array(x, chunks=3), at, values, 0, duplicates="first").compute().tolist() == [
            4,
            1,
            2,
            0,
        ]
        with pytest.raises(ValueError, match=r"positions \(1, 0\) and \(0, 0\)"):
            gs.scatter(da.from_array(x, chunks=3), at, values, 0, duplicates="error").compute()


def test_tasks_use_one_thread_each(monkeypatch):
    """The operators of all tasks; and the limit of a task does not leak into the thread that ran it."""
    moves = importlib.import_module("gatherscatter._dask.moves")
    used = Counter()

    def recorded(operator):
        def call(*args, **kwargs):
            used[operator.__name__, gs.get_num_threads()] += 1
            return operator(*args, **kwargs)

        return call

    for name in ("take", "gather_nd", "scatter"):
        monkeypatch.setattr(moves, name, recorded(getattr(moves, name)))
    data, at = RNG.random((400, 30)), RNG.integers(0, 30, (500, 2))
    x, index = da.from_array(data, chunks=(60, 20)), da.from_array(at, chunks=(90, 2))
    before = gs.get_num_threads()
    gs.set_num_threads(3)
    try:
        with ThreadPoolExecutor(1) as pool:
            for rows in (at[:, 0], index[:, 0]):
                made = gs.gather(x, rows, 0)
                np.testing.assert_array_equal(made.compute(scheduler="threads", pool=pool), data[at[:, 0]])
            made = gs.gather_nd(da.from_array(data[..., None], chunks=(60, 20, 1)), index)
            np.testing.assert_array_equal(made[:, 0].compute(scheduler="threads", pool=pool), data[at[:, 0], at[:, 1]])
            gs.scatter(x, index[:, 0], da.from_array(data[at[:, 0]] + 1, chunks=70), 0).compute(
                scheduler="threads", pool=pool
            )
            assert pool.submit(gs.get_num_threads).result() == 3
    finally:
        gs.set_num_threads(before)
    assert set(used) == {("take", 1), ("gather_nd", 1), ("scatter", 1)}


def test_xarray_over_dask():
    """The recipe of docs/dask.md."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = xarray.DataArray(da.from_array(X.astype(float), chunks=(5, 4)), dims=("time", "station"))
    rows = xarray.DataArray(da.from_array(INDEX, chunks=(3, 4)), dims=("sample", "station"))

    def pointwise(data, rows):
        return gs.take_along_axis(data, rows, axis=-1)

    made = xarray.apply_ufunc(
        pointwise,
        data,
        rows,
        input_core_dims=[["time"], ["sample"]],
        output_core_dims=[["sample"]],
        dask="allowed",
    )
    assert made.dims == ("station", "sample") and isinstance(made.data, da.Array)
    np.testing.assert_array_equal(made.transpose("sample", "station").values, gs.take_along_axis(X, INDEX, 0))


def test_with_query_planning():
    """Arrays that are expressions; the switch is read once, so a child process sets it."""
    pytest.importorskip("dask.array._array_expr", reason="this Dask has no query planning for arrays")
    code = """
import dask
dask.config.set({"array.query-planning": True})
import dask.array as da, numpy as np, gatherscatter as gs
rng = np.random.default_rng(1)
x, index = rng.integers(0, 99, (9, 7)), rng.integers(-9, 9, (5, 7))
dx, di = da.from_array(x, chunks=4), da.from_array(index, chunks=3)
assert type(dx).__module__.startswith("dask.array._array_expr")
for i in (index, di):
    one, two = gs.gather(dx, 0, i), gs.gather(dx + 1, 0, i)
    np.testing.assert_array_equal((one + two)[1:].compute(), 2 * gs.gather(x, 0, index)[1:] + 1)
    np.testing.assert_array_equal(gs.take(dx, i).compute(), gs.take(x, index))
    np.testing.assert_array_equal(gs.scatter(dx, 0, i, i, reduce="add").compute(),
                                  gs.scatter(x, 0, index, index, reduce="add"))
    np.testing.assert_array_equal(gs.gather(dx.rechunk(2), i[0], 1).compute(), gs.gather(x, index[0], 1))
try:
    gs.gather(dx, 0, di * 9).compute()
except gs.OutOfBoundsError as error:
    print(error.size)
"""
    assert child_process.run(code).strip() == "9"
