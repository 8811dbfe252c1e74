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


# call of a function of data and index array, the same call on NumPy, and the axes whose labels are kept
GATHERS = {
    "rows": (lambda x, i: gs.gather(x, i, axis=0), {"station"}),
    "rows by position": (lambda x, i: gs.gather(x, i, 0), {"station"}),
    "rows by keyword": (lambda x, i: gs.gather(x, input_indices=i, axis=-2), {"station"}),
    "columns": (lambda x, i: gs.gather(x, indices=i, axis=1), {"time"}),
    "filled": (lambda x, i: gs.gather(x, i + 2, axis=0, bounds="fill", fill_value=-1), {"station"}),
    "take": (lambda x, i: gs.take(x, i, axis=1), {"time"}),
    "compress": (lambda x, i: gs.compress(i > 0, x, axis=0), {"station"}),
    "repeat": (lambda x, i: gs.repeat(x, 2, axis=0), {"station"}),
    "roll": (lambda x, i: gs.roll(x, 1, axis=1), {"time"}),
    "roll both": (lambda x, i: gs.roll(x, (1, 1), axis=(0, 1)), set()),
    "elements": (lambda x, i: gs.gather(x, 0, i[:, None] + np.zeros(4, int)), {"station"}),
    "elements along": (lambda x, i: gs.take_along_axis(x, i[:1, None] + np.zeros((3, 2), int), axis=1), {"time"}),
    "elements along the last": (lambda x, i: gs.take_along_axis(x, i[:1, None] + np.zeros((3, 1), int)), {"time"}),
    "scatter": (lambda x, i: gs.scatter(x, i, 5.0), {"time", "station"}),
    "scatter by dim": (lambda x, i: gs.scatter(x, 0, i[:, None], 5.0, reduce="add"), {"time", "station"}),
    "scatter_nd": (lambda x, i: gs.scatter_nd(x, i[:, None], 5.0), {"time", "station"}),
}


@pytest.mark.parametrize("name", GATHERS)
def test_values_are_those_of_numpy_and_labels_of_untouched_axes_are_kept(name):
    call, kept = GATHERS[name]
    expected, x = call(V, ROWS), data()
    result = call(x, ROWS)
    assert type(result) is xr.DataArray and result.dims == x.dims and result.name == "t" and result.attrs == x.attrs
    np.testing.assert_array_equal(result.values, expected, strict=True)
    assert set(result.coords) == kept | {"run"} | ({"lat"} if "station" in kept else set())
    for dim in kept:
        assert result[dim].values.tolist() == x[dim].values.tolist()


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
    assert not set(gs.gather(x, ROWS, axis=1).coords)


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
    plan = gs.plan(gs.gather, data(), xr.DataArray(ROWS), axis=0)
    np.testing.assert_array_equal(plan(data(), xr.DataArray([1, 1])), V[[1, 1]])
    np.testing.assert_array_equal(plan.scatter(data(), xr.DataArray([1, 1]), 0.0), gs.scatter(V, [1, 1], 0.0))
    assert "rows" in repr(gs.explain(gs.gather, data(), ROWS, axis=0))


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
