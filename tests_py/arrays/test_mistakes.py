"""test_mistakes.py: the frequent mistakes in calls on arrays: each error says in one sentence what to write instead."""

from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs

X = np.arange(12.0).reshape(3, 4)
SRC = np.arange(8.0).reshape(2, 4)
ROWS = np.array([2, 0])
COLUMN = ROWS[:, None]

# call, exception, and words that are in its text
MISTAKES = {
    # whole rows were meant, and the elementwise form is written
    "gather rows by dim": (lambda: gs.gather(X, 0, ROWS), ValueError, ["gather(input, indices, axis=0)"]),
    "scatter rows by dim": (lambda: gs.scatter(X, 0, ROWS, SRC), ValueError, ["scatter(input, indices, src, axis=0)"]),
    "scatter to a column": (
        lambda: gs.scatter(X, 0, np.zeros((3, 1), int), SRC),
        ValueError,
        ["an index of shape (n, 1) fills one column", "scatter(input, indices, src, axis=0)"],
    ),
    # the two forms are mixed
    "dim as a list": (lambda: gs.gather(X, dim=[0, 2], index=[1, 1]), TypeError, ["dim= is one integer"]),
    "dim as an array": (lambda: gs.gather(X, dim=ROWS, index=ROWS), TypeError, ["dim= is one integer"]),
    "axis with index": (lambda: gs.gather(X, index=ROWS, axis=0), TypeError, ["write indices= for index="]),
    "dim, index and axis": (lambda: gs.gather(X, 0, COLUMN, axis=0), TypeError, ["gather(input, indices, axis=..)"]),
    "rows without axis": (lambda: gs.gather(X, ROWS), TypeError, ["axis is missing", "gather(input, indices, axis=0)"]),
    "index without dim": (lambda: gs.gather(X, index=ROWS), TypeError, ["gather(input, dim, index)"]),
    "slice as rows": (lambda: gs.gather(X, slice(0, 2), axis=0), TypeError, ["numpy.arange(start, stop)"]),
    "labels as rows": (lambda: gs.gather(X, ["a", "b"], axis=0), TypeError, ["get_indexer(index)"]),
    "objects as rows": (lambda: gs.gather(X, ROWS.astype(object), axis=0), TypeError, ["index.astype('int64')"]),
    "objects": (lambda: gs.take(np.array([1, "a"], object), ROWS), TypeError, ["input.astype(dtype)"]),
    "reduction of times": (
        lambda: gs.scatter(X.astype("M8[s]"), ROWS, SRC.astype("M8[s]"), reduce="max"),
        TypeError,
        ["x.view('int64')"],
    ),
    "number of NumPy that does not fit": (
        lambda: gs.scatter(X.astype("i1"), ROWS, np.int64(500)),
        ValueError,
        ["src 500 does not fit"],
    ),
    "mask as rows": (lambda: gs.gather(X, X > 5, axis=0), TypeError, ["mask=", "compress, putmask and place"]),
    "coordinates along the first axis": (
        lambda: gs.gather_nd(X, np.zeros((5, 9), int)),
        ValueError,
        ["lie along the last axis of indices"],
    ),
    "an axis too few": (lambda: gs.tile_gather(X, (ROWS,)), TypeError, ["numpy.arange(n)", "indices[..., None]"]),
    "masked array": (lambda: gs.scatter(X, 0, COLUMN, np.ma.array([[1.0]])), TypeError, ["getmaskarray"]),
    "one row without axis": (lambda: gs.gather(X, 2), TypeError, ["gather(input, number, axis=0)"]),
    "one row written without axis": (
        lambda: gs.scatter(X, 2, SRC[0]),
        TypeError,
        ["scatter(input, indices, src, axis=0)"],
    ),
    "path": (lambda: gs.gather("x.npy", ROWS, axis=0), TypeError, ["gatherscatter.open(path)"]),
    "path as an object": (lambda: gs.scatter(Path("x.npy"), ROWS, SRC), TypeError, ["gatherscatter.open(path)"]),
    "mask of rows": (
        lambda: gs.gather(X, 1, np.zeros((3, 1), int), mask=np.ones(3, bool)),
        ValueError,
        ["to the shape (3, 1) of the points; shapes are aligned at the last axis: give it the shape (3, 1)"],
    ),
    "mask that fits nothing": (
        lambda: gs.gather(X, 1, np.zeros((3, 1), int), mask=np.ones(2, bool)),
        ValueError,
        ["does not broadcast to the shape (3, 1)"],
    ),
    "NaN among integers": (
        lambda: gs.gather(X.astype(int), [9], axis=0, bounds="fill", fill_value=np.nan),
        ValueError,
        ["fill_value nan does not fit dtype int64; cast the input to a floating-point dtype"],
    ),
    # a fill value that no point can have
    "fill value alone": (lambda: gs.gather(X, ROWS, axis=0, fill_value=0), TypeError, ["mask=", 'bounds="fill"']),
    "fill value by dim": (lambda: gs.gather(X, 0, COLUMN, fill_value=0), TypeError, ["mask=", 'bounds="fill"']),
    "fill value of gather_nd": (lambda: gs.gather_nd(X, COLUMN, fill_value=0), TypeError, ["mask=", 'bounds="fill"']),
    "fill value of take": (lambda: gs.take(X, ROWS, fill_value=0), TypeError, ["mask=", 'bounds="fill"']),
    "fill value of a mode": (lambda: gs.take(X, ROWS, mode="clip", fill_value=0), TypeError, ["bounds='clip'"]),
    "fill value along an axis": (
        lambda: gs.take_along_axis(X, COLUMN, 0, bounds="wrap", fill_value=0),
        TypeError,
        ["mask=", "bounds='wrap'"],
    ),
    # row numbers where coordinates belong
    "flat index of scatter_nd": (lambda: gs.scatter_nd(np.zeros(3), [0, 1, 2], 1.0), ValueError, ["indices[:, None]"]),
    "flat index of gather_nd": (lambda: gs.gather_nd(X, [0, 1, 2]), ValueError, ["indices[:, None]"]),
    "flat index that is a coordinate": (lambda: gs.scatter_nd(X, ROWS, SRC), ValueError, ["indices[:, None]"]),
    # the index of x[r, c] where one index belongs
    "tuple of arrays": (lambda: gs.gather(X, (ROWS, ROWS), axis=0), TypeError, ["gs.gather_nd(x, (r, c))"]),
    "tuple of arrays along a dim": (lambda: gs.gather(X, 0, (ROWS, ROWS)), TypeError, ["gs.gather_nd(x, (r, c))"]),
    "tuple of an array and a list": (lambda: gs.gather(X, (ROWS, [1, 2]), 0), TypeError, ["tuple of arrays"]),
    "tuple of arrays to write": (lambda: gs.scatter(X, (ROWS, ROWS), 0.0), TypeError, ["gs.scatter_nd(x, (r, c), v)"]),
    "tuple of arrays to write into": (
        lambda: gs.scatter(X, (ROWS, ROWS), 0.0, out=X),
        TypeError,
        ["np.stack((r, c), axis=-1)"],
    ),
    "tuple of arrays to add": (lambda: gs.scatter(X, 0, (ROWS, ROWS), 0.0, reduce="add"), TypeError, ["scatter_nd"]),
    "tuple of arrays in a plan": (lambda: gs.plan(gs.scatter, X, (ROWS, ROWS), 0.0), TypeError, ["scatter_nd"]),
    "slice in a tuple": (lambda: gs.gather_nd(X, (slice(None), ROWS)), TypeError, ["slice(None", "np.arange(n)"]),
    "tuple of arrays for a plan": (
        lambda: gs.plan(gs.gather_nd, X, np.zeros((2, 2), int))(X, (ROWS, ROWS)),
        TypeError,
        ["np.stack"],
    ),
    "tuple of arrays to scatter by a plan": (
        lambda: gs.plan(gs.gather_nd, X, np.zeros((2, 2), int)).scatter(X, (ROWS, ROWS), np.zeros(2)),
        TypeError,
        ["np.stack"],
    ),
    # a second index in the place of the axis
    "array as axis": (lambda: gs.gather(X, ROWS, ROWS[:1]), TypeError, ["shape (1,)", "gather(input, dim, index)"]),
    "array as axis=": (lambda: gs.gather(X, ROWS, axis=ROWS[1:]), TypeError, ["gather(input, indices, axis=..)"]),
    "array as axis of scatter": (lambda: gs.scatter(X, ROWS, SRC, ROWS[1:]), TypeError, ["the axis is", "(1,)"]),
    "list as axis": (lambda: gs.gather(X, ROWS, [0]), TypeError, ["the axis is [0]"]),
    "array as batch_dims": (lambda: gs.gather(X, ROWS, 0, ROWS[1:]), TypeError, ["batch_dims is", "an integer"]),
    # dtypes
    "src of another dtype": (lambda: gs.scatter(X, ROWS, SRC.astype("f4")), TypeError, ["src.astype(input.dtype)"]),
    "updates of another dtype": (
        lambda: gs.scatter_nd(X, COLUMN, SRC.astype(int)),
        TypeError,
        ["updates.astype(input.dtype)"],
    ),
    "float index": (lambda: gs.gather(X, ROWS * 1.0, axis=0), TypeError, ["index.astype('int64')"]),
    "boolean index": (lambda: gs.gather(X, ROWS > 0, axis=0), TypeError, ["mask="]),
    "mask of integers": (lambda: gs.gather(X, ROWS, axis=0, mask=ROWS), TypeError, ["mask.astype(bool)"]),
    "rows and values exchanged": (
        lambda: gs.scatter(X, SRC, [2, 0]),
        TypeError,
        ["the values are integers", "the order is scatter(input, indices, src)"],
    ),
    "text in place of a date": (
        lambda: gs.scatter(X.astype("M8[D]"), ROWS, "2024-01-31"),
        ValueError,
        ["numpy.datetime64(text)"],
    ),
    "text without room": (
        lambda: gs.gather(np.array(["a"]), [1], axis=0, bounds="fill", fill_value="none"),
        ValueError,
        ["input.astype('<U4') has room for it"],
    ),
    # words of other operators
    "nullify": (
        lambda: gs.gather(X, ROWS, axis=0, bounds="nullify"),
        ValueError,
        ["bounds='fill'", "gatherscatter.table"],
    ),
    "nullify in a scatter": (lambda: gs.scatter(X, ROWS, SRC, bounds="nullify"), ValueError, ["bounds='drop'"]),
    "nullify in take": (lambda: gs.take(X, ROWS, bounds="nullify"), ValueError, ["bounds='fill'"]),
    "fill in a scatter": (
        lambda: gs.scatter(X, ROWS, SRC, bounds="fill"),
        ValueError,
        ["bounds='drop' writes nothing"],
    ),
    "drop in a gather": (lambda: gs.gather(X, ROWS, axis=0, bounds="drop"), ValueError, ["bounds='fill'"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_says_what_to_write(name):
    call, kind, words = MISTAKES[name]
    before = X.tobytes(), SRC.tobytes()
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "\n" not in text and len(text) < 300
    assert (X.tobytes(), SRC.tobytes()) == before


def test_the_casts_for_tensors_are_those_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, rows = torch.zeros(3, 4), torch.tensor([2, 0])
    with pytest.raises(TypeError, match=r"src\.to\(input\.dtype\) casts it"):
        gs.scatter(x, rows, torch.zeros(2, 4, dtype=torch.float64))
    with pytest.raises(TypeError, match=r"index\.long\(\) casts it"):
        gs.gather(x, rows.float(), axis=0)
    with pytest.raises(TypeError, match=r"mask\.bool\(\) casts it"):
        gs.gather(x, rows, axis=0, mask=rows)


def test_what_is_no_axis_of_tensors_and_other_libraries():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    for x, rows, stack in (
        (torch.zeros(3, 4), torch.tensor([2, 0]), "torch.stack((r, c), dim=-1)"),
        (torch.zeros(3, 4, requires_grad=True), torch.tensor([2, 0]), "torch.stack((r, c), dim=-1)"),
        (jnp.zeros((3, 4)), jnp.array([2, 0]), "np.stack((r, c), axis=-1)"),
        (da.from_array(X, chunks=2), da.from_array(ROWS), "np.stack((r, c), axis=-1)"),
    ):
        for call in (lambda x, i: gs.gather(x, i, axis=0), lambda x, i: gs.scatter(x, i, 0.0)):
            with pytest.raises(TypeError, match="tuple of arrays") as caught:
                call(x, (rows, rows))
            assert stack in str(caught.value)
        for call in (lambda x, axis: gs.gather(x, ROWS, axis), lambda x, axis: gs.scatter(x, ROWS, 0.0, axis=axis)):
            with pytest.raises(TypeError, match=r"the axis is .* of shape \(1,\), expected an integer"):
                call(x, rows[1:])
    with pytest.raises(TypeError, match=r"axis is .*, expected an integer"):
        gs.take(torch.zeros(3, 4), torch.tensor([2, 0]), torch.tensor([0]))
    with pytest.raises(TypeError, match=r"batch_dims is .*, expected an integer"):
        gs.gather_nd(X, [[0]], torch.tensor([0]))


def test_a_number_of_rank_0_is_an_axis():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for axis in (np.array(1), np.int8(1), torch.tensor(1)):
        np.testing.assert_array_equal(gs.gather(X, ROWS, axis), X[:, ROWS])
        np.testing.assert_array_equal(gs.gather(torch.tensor(X), ROWS, axis=axis), X[:, ROWS])


def test_a_tuple_of_numbers_is_one_point():
    assert gs.gather_nd(X, (1, 2)) == gs.gather_nd(X, (np.int8(1), np.array(2))) == X[1, 2]
    np.testing.assert_array_equal(gs.gather_nd(X, ((1, 2), [0, 3])), [X[1, 2], X[0, 3]])


def test_times_are_reduced_as_integers():
    times = np.arange(3).astype("m8[s]")
    raised = gs.scatter(times.view("int64"), [0, 0], np.array([7, 5], "m8[s]").view("int64"), reduce="max")
    assert raised.view("m8[s]").tolist() == np.array([7, 1, 2], "m8[s]").tolist()


def test_writes_to_an_array_of_dask_name_the_operator_that_takes_it():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = da.from_array(X[0], chunks=2)
    for call in (
        lambda: gs.put(lazy, [0], 1.0),
        lambda: gs.place(lazy, lazy > 0, [1.0]),
        lambda: gs.putmask(lazy, lazy > 0, 1.0),
    ):
        with pytest.raises(TypeError, match=r"gatherscatter\.scatter takes it and returns a new one"):
            call()


def test_the_casts_work():
    np.testing.assert_array_equal(gs.scatter(X, ROWS, SRC.astype("f4").astype(X.dtype)), gs.scatter(X, ROWS, SRC))
    np.testing.assert_array_equal(gs.scatter_nd(np.zeros(3), np.array([0, 2])[:, None], 1.0), [1, 0, 1])


def test_an_error_says_nothing_about_rows_where_shapes_do_not_suggest_them():
    for call in (
        lambda: gs.gather(X, 0, [[[0]]]),
        lambda: gs.scatter(X, 0, [[0, 1]], np.ones(3)),
        lambda: gs.take_along_axis(X, ROWS, 0),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert "whole rows" not in str(caught.value)


def test_an_index_of_one_column_fills_one_column():
    """The elementwise form reads the leading part of the values, as torch does; its docstring says so."""
    written = gs.scatter(np.zeros((3, 4)), 0, COLUMN, SRC)
    assert written[:, 0].tolist() == [4, 0, 0] and not written[:, 1:].any()
    for operator in (gs.scatter, gs.gather):
        assert "shape (n, 1)" in operator.__doc__


def test_a_mapped_file_that_is_read_only(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for call in (
        lambda: gs.gather(X, [0, 1, 2], axis=0, out=mapped),
        lambda: gs.scatter(mapped, ROWS, SRC, out=mapped),
        lambda: gs.put_along_axis(mapped, np.zeros((3, 1), int), 0.0, 1),
        lambda: gs.put(mapped, ROWS, 0.0),
    ):
        with pytest.raises(ValueError, match=r"is read-only; mode='r\+' opens its file for writing"):
            call()
    assert np.array_equal(mapped, X)
