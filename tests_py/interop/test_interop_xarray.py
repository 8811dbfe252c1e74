"""test_interop_xarray.py: DataArrays of xarray as data, indices and masks: values of NumPy, and labels that hold."""

import numpy as np
import pytest

import gatherscatter as gs

xr = pytest.importorskip("xarray", reason="xarray is not installed")

V = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0])
TIME, STATION = [10, 20, 30], list("abcd")


def data(values=V):
    return xr.DataArray(
        values,
        dims=("time", "station"),
        coords={"time": TIME, "station": STATION, "lat": ("station", [1.0, 2.0, 3.0, 4.0]), "run": 7},
        name="t",
        attrs={"unit": "K"},
    )


# call of a function of data and index array, the same call on NumPy, and the axes whose labels are kept or taken
GATHERS = {
    "rows": (lambda x, i: gs.gather(x, i, axis=0), {"time", "station"}),
    "rows by position": (lambda x, i: gs.gather(x, i, 0), {"time", "station"}),
    "rows by keyword": (lambda x, i: gs.gather(x, input_indices=i, axis=-2), {"time", "station"}),
    "columns": (lambda x, i: gs.gather(x, indices=i, axis=1), {"time", "station"}),
    "filled": (lambda x, i: gs.gather(x, i + 2, axis=0, bounds="fill", fill_value=-1), {"station"}),
    "take": (lambda x, i: gs.take(x, i, axis=1), {"time", "station"}),
    "compress": (lambda x, i: gs.compress(i > 0, x, axis=0), {"time", "station"}),
    "repeat": (lambda x, i: gs.repeat(x, 2, axis=0), {"time", "station"}),
    "roll": (lambda x, i: gs.roll(x, 1, axis=1), {"time", "station"}),
    "roll both": (lambda x, i: gs.roll(x, (1, 1), axis=(0, 1)), set()),
    "elements": (lambda x, i: gs.gather(x, 0, i[:, None] + np.zeros(4, int)), {"station"}),
    "elements along": (lambda x, i: gs.take_along_axis(x, i[:1, None] + np.zeros((3, 2), int), axis=1), {"time"}),
    "elements along the last": (lambda x, i: gs.take_along_axis(x, i[:1, None] + np.zeros((3, 1), int)), {"time"}),
    "scatter": (lambda x, i: gs.scatter(x, i, 5.0), {"time", "station"}),
    "scatter by dim": (lambda x, i: gs.scatter(x, 0, i[:, None], 5.0, reduce="add"), {"time", "station"}),
    "scatter_nd": (lambda x, i: gs.scatter_nd(x, i[:, None], 5.0), {"time", "station"}),
}


# calls whose points differ along the other axis, which is in its order
SAME_ORDER = {
    "time": ("elements along", "elements along the last"),
    "station": ("elements", "filled"),
}


@pytest.mark.parametrize("name", GATHERS)
def test_values_are_those_of_numpy_and_labels_of_untouched_axes_are_kept(name):
    call, kept = GATHERS[name]
    expected, x = call(V, ROWS), data()
    result = call(x, ROWS)
    assert type(result) is xr.DataArray and result.dims == x.dims and result.name == "t" and result.attrs == x.attrs
    np.testing.assert_array_equal(result.values, expected, strict=True)
    assert set(result.coords) == kept | {"run"} | ({"lat"} if "station" in kept else set())
    # The labels of each axis are moved as its values are: those of a row number are looked up in a numbered array.
    rows = call(np.arange(12).reshape(3, 4), ROWS)
    if name.startswith("scatter"):
        rows = np.arange(12).reshape(3, 4)
    for dim in kept:
        numbers = rows[:, 0] // 4 if dim == "time" else rows[0] % 4
        numbers = np.arange(result.sizes[dim]) if name in SAME_ORDER.get(dim, ()) else numbers
        assert result[dim].values.tolist() == x[dim].values[numbers].tolist()
    if "station" in kept:
        assert result["lat"].values.tolist() == [float(1 + STATION.index(each)) for each in result["station"].values]


@pytest.mark.parametrize("name", GATHERS)
def test_a_lazy_dataarray_stays_lazy(name):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    if name in ("compress", "repeat", "roll", "roll both"):
        with pytest.raises(TypeError, match=r"x\.compute\(\)"):
            GATHERS[name][0](data().chunk(2), ROWS)
        return
    result = GATHERS[name][0](data().chunk(2), ROWS)
    assert isinstance(result.data, da.Array)
    np.testing.assert_array_equal(result.values, GATHERS[name][0](V, ROWS))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: gs.gather(x, 1, axis=0),
        lambda x: gs.gather(x, [[0, 1], [2, 2]], axis=0),
        lambda x: gs.gather_nd(x, [[0, 1], [2, 2]]),
        lambda x: gs.take(x, [3, 4]),
    ],
)
def test_another_rank_gives_an_array_of_numpy(call):
    result = call(data())
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, call(V), strict=True)


def test_a_shorter_elementwise_index_has_the_first_labels():
    result = gs.gather(data(), 0, [[2, 1], [0, 0]])
    assert result["station"].values.tolist() == ["a", "b"] and result["lat"].values.tolist() == [1.0, 2.0]
    assert "time" not in result.coords


def test_levels_of_an_index_are_kept_or_dropped_together():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    levels = pandas.MultiIndex.from_product([["x", "y"], [1, 2]], names=("letter", "number"))
    x = xr.DataArray(V, dims=("time", "place"), coords=xr.Coordinates.from_pandas_multiindex(levels, "place"))
    assert set(gs.gather(x, ROWS, axis=0).coords) == {"place", "letter", "number"}
    xr.testing.assert_identical(gs.gather(x, ROWS, axis=1), x.isel(place=ROWS))
    assert not set(gs.gather(x, ROWS, axis=1, bounds="fill").coords)


def test_as_index_mask_values_and_tuples_of_indices():
    i = xr.DataArray(ROWS, dims="sample")
    np.testing.assert_array_equal(gs.gather(V, i, axis=0), V[ROWS])
    np.testing.assert_array_equal(gs.gather(V, i, axis=0, mask=i > 0), [V[2], np.zeros(4)])
    np.testing.assert_array_equal(gs.scatter(np.zeros(3), i, xr.DataArray([1.0, 2.0])), [2, 0, 1])
    np.testing.assert_array_equal(gs.tile_gather(V, (i, xr.DataArray([1, 1]))), V[ROWS, 1])
    np.testing.assert_array_equal(gs.compat.pypto.gather(data(), 0, i.values[:, None]), V[ROWS][:, :1])
    assert type(gs.gather(V, i, axis=0)) is np.ndarray


def test_writes_in_place_reach_the_dataarray():
    x = data(V.copy())
    assert gs.put(x, [1], 99.0) is None and x.values[0, 1] == 99
    gs.tile_scatter(x, (xr.DataArray([2]), 3), -1.0)
    assert x.values[2, 3] == -1
    out = data(np.zeros((2, 4))[[0, 0, 1]])
    assert gs.gather(data(), [0, 1, 2], axis=0, out=out) is out
    np.testing.assert_array_equal(out.values, V)


def test_plans_take_dataarrays_and_return_arrays():
    plan = gs.plan(gs.gather, data(), xr.DataArray(ROWS), axis="time")
    np.testing.assert_array_equal(plan(data(), xr.DataArray([1, 1])), V[[1, 1]])
    np.testing.assert_array_equal(plan.scatter(data(), xr.DataArray([1, 1]), 0.0), gs.scatter(V, [1, 1], 0.0))
    assert "rows" in repr(gs.explain(gs.gather, data(), ROWS, axis="time"))


def test_errors_are_those_of_the_values():
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.gather(data(), [9], axis=0)
    assert (caught.value.index, caught.value.axis) == (9, 0)
    with pytest.raises(TypeError, match=r"x\[name\]\.values"):
        gs.gather(data().to_dataset(), [0], axis=0)
    with pytest.raises(TypeError, match=r"x\.values"):
        gs.scatter(V, 0, [[0]], [data()])


def test_structure_of_the_input_is_not_changed():
    x = data()
    before = x.copy(deep=True)
    gs.gather(x, ROWS, axis=0)
    gs.scatter(x, ROWS, 1.0)
    assert x.identical(before)


@pytest.mark.parametrize("role", ["input", "index", "mask", "fill_value"])
@pytest.mark.parametrize("lazy", [False, True])
def test_functions_of_dask_name_the_way_to_call_them_on_dataarrays(role, lazy):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    arguments = {"input": da.from_array(V, chunks=2), "index": np.array([[0, 1, 2, 0]]), "dim": 0}
    given = {"mask": np.array([[True, False, True, True]]), "fill_value": np.array(1.0)} | arguments
    value = da.from_array(np.asarray(given[role]), chunks=1) if lazy else np.asarray(given[role])
    labelled = xr.DataArray(value, dims=("time", "station")[2 - value.ndim :])
    with pytest.raises(TypeError, match=rf"^gather: {role} is an xarray\.DataArray.*x\.data.*xarray\.apply_ufunc"):
        gs.dask.gather(**arguments | {role: labelled})
    with pytest.raises(TypeError, match=r"^tile_gather: indices is an xarray\.DataArray"):
        gs.dask.tile_gather(V, (np.array([0, 1]), xr.DataArray([0, 1], dims="i")))


def test_apply_ufunc_calls_functions_of_dask_with_dims_matched_by_name():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = data(da.from_array(V, chunks=2))
    rows = xr.DataArray(np.array([[2, 0], [0, 1], [1, 1], [2, 2]]), dims=("station", "sample"))
    result = xr.apply_ufunc(
        lambda values, index: gs.dask.take_along_axis(values, index, axis=-1),
        x,
        rows,
        input_core_dims=[["time"], ["sample"]],
        output_core_dims=[["sample"]],
        dask="allowed",
    )
    assert result.dims == ("station", "sample") and type(result.data) is da.Array
    np.testing.assert_array_equal(result.values, np.take_along_axis(V.T, rows.values, axis=1))


NAMED = {
    "gather": lambda x, i, axis: gs.gather(x, i, axis=axis),
    "gather by position": lambda x, i, axis: gs.gather(x, i, axis),
    "gather elements": lambda x, i, axis: gs.gather(x, axis, np.stack([i] * 3) % 3),
    "take": lambda x, i, axis: gs.take(x, i, axis),
    "take_along_axis": lambda x, i, axis: gs.take_along_axis(x, np.stack([i] * 3) % 3, axis=axis),
    "compress": lambda x, i, axis: gs.compress(i > 1, x, axis=axis),
    "repeat": lambda x, i, axis: gs.repeat(x, 2, axis=axis),
    "roll": lambda x, i, axis: gs.roll(x, 1, axis=axis),
    "scatter": lambda x, i, axis: gs.scatter(x, i, 5.0, axis=axis),
    "scatter by position": lambda x, i, axis: gs.scatter(x, i, 5.0, axis),
    "scatter elements": lambda x, i, axis: gs.scatter(x, axis, np.stack([i] * 3) % 3, 5.0),
    "roll several": lambda x, i, axis: gs.roll(x, (1, 2), axis=(axis, axis)),
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("seed", range(3))
def test_an_axis_by_the_name_of_its_dim(name, seed):
    rng = np.random.default_rng(seed)
    x = data(rng.random((3, 3)).repeat([1, 1, 2], axis=1)[:, :4])[:, :3]
    for axis, dim in enumerate(x.dims):
        index = rng.integers(0, 3, 3)
        by_name, by_number = NAMED[name](x, index, dim), NAMED[name](x, index, axis)
        xr.testing.assert_identical(by_name, by_number)
        np.testing.assert_array_equal(by_name.values, NAMED[name](x.values, index, axis), strict=True)
        if name in ("gather", "gather by position", "take"):
            xr.testing.assert_identical(by_name, x.isel({dim: index}))


def test_a_name_that_is_no_dim():
    with pytest.raises(ValueError, match=r"^gather: axis is 'tme'.*'time', 'station'"):
        gs.gather(data(), ROWS, axis="tme")
    with pytest.raises((TypeError, ValueError)):
        gs.gather(V, ROWS, axis="time")


def test_a_text_to_write_is_no_axis():
    x = xr.DataArray(np.array(["a", "b", "c"]), dims="k")
    assert gs.scatter(x, [1], "k").values.tolist() == ["a", "k", "c"]
    assert gs.scatter(x, 0, [1], "k").values.tolist() == ["a", "k", "c"]


def test_labels_of_rows_that_may_be_missing_are_left_out():
    for words in ({"bounds": "fill"}, {"mask": [True, True]}):
        assert "time" not in gs.gather(data(), ROWS, axis="time", **words).coords
    for bounds, want in (("clip", [30, 10]), ("wrap", [30, 20])):
        result = gs.gather(data(), [5, -5 if bounds == "clip" else 1], axis="time", bounds=bounds)
        assert result["time"].values.tolist() == want


def test_labels_of_several_dims_and_of_one_axis_are_taken():
    x = data().assign_coords(place=(("time", "station"), np.arange(12).reshape(3, 4)))
    xr.testing.assert_identical(gs.take(x, [2, 2, 0], axis="time"), x.isel(time=[2, 2, 0]))
    line = data()[:, 0]
    for result in (gs.take(line, [2, 0]), gs.gather(line, 0, [2, 0]), gs.take_along_axis(line, np.array([2, 0]))):
        assert result["time"].values.tolist() == [30, 10] and result.values.tolist() == [8.0, 0.0]


def test_a_dim_by_keyword_beside_rows_is_answered_with_the_axis():
    x = xr.DataArray(np.zeros((3, 2)), dims=("time", "station"))
    with pytest.raises(TypeError, match=r"^gather: multiple values for argument 'dim'; slices are gather\(\.\., axis="):
        gs.gather(x, [0, 2], dim="time")
    with pytest.raises(TypeError, match=r"^gather: got an unexpected keyword argument 'time'$"):
        gs.gather(x, time=[0, 2])
