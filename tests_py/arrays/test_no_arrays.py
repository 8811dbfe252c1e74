"""test_no_arrays.py: the errors for objects that are no arrays, in every argument of every operator."""

import io
from unittest import mock

import numpy as np
import pytest

import child_process
import gatherscatter as gs

A, INDEX = np.arange(6.0), np.arange(6)
TRUTH = A > 2

ARGUMENTS = {
    "take a": lambda z: gs.take(z, INDEX),
    "take a axis": lambda z: gs.take(z, INDEX, axis=0),
    "take a clip": lambda z: gs.take(z, INDEX, mode="clip"),
    "take a fill": lambda z: gs.take(z, INDEX, bounds="fill", fill_value=3),
    "take indices": lambda z: gs.take(A, z),
    "take mask": lambda z: gs.take(A, INDEX, mask=z),
    "take_along_axis arr": lambda z: gs.take_along_axis(z, INDEX, 0),
    "take_along_axis indices": lambda z: gs.take_along_axis(A, z, 0),
    "take_along_axis out": lambda z: gs.take_along_axis(A, INDEX, 0, out=z),
    "repeat a": lambda z: gs.repeat(z, 2),
    "repeat a axis": lambda z: gs.repeat(z, 2, 0),
    "roll a": lambda z: gs.roll(z, 1),
    "roll a axes": lambda z: gs.roll(z, 1, 0),
    "compress condition": lambda z: gs.compress(z, A),
    "compress a": lambda z: gs.compress(TRUTH, z),
    "gather input": lambda z: gs.gather(z, 0, INDEX),
    "gather input fill": lambda z: gs.gather(z, 0, INDEX, bounds="fill", fill_value=4),
    "gather index": lambda z: gs.gather(A, 0, z),
    "gather indices": lambda z: gs.gather(A, z, axis=0),
    "gather mask": lambda z: gs.gather(A, 0, INDEX, mask=z),
    "gather out": lambda z: gs.gather(A, 0, INDEX, out=z),
    "gather_nd input": lambda z: gs.gather_nd(z, INDEX[:, None]),
    "gather_nd indices": lambda z: gs.gather_nd(A, z),
    "scatter input": lambda z: gs.scatter(z, 0, INDEX, A),
    "scatter input rows": lambda z: gs.scatter(z, INDEX, A),
    "scatter input number": lambda z: gs.scatter(z, 0, INDEX, 3),
    "scatter input list": lambda z: gs.scatter(z, 0, INDEX, [3] * 6),
    "scatter index": lambda z: gs.scatter(A, 0, z, A),
    "scatter indices": lambda z: gs.scatter(A, z, A),
    "scatter mask": lambda z: gs.scatter(A, 0, INDEX, A, mask=z),
    "scatter out": lambda z: gs.scatter(A, 0, INDEX, A, out=z),
    "scatter_nd input": lambda z: gs.scatter_nd(z, INDEX[:, None], A),
    "scatter_nd indices": lambda z: gs.scatter_nd(A, z, A),
    "put a": lambda z: gs.put(z, INDEX, A),
    "put ind": lambda z: gs.put(A, z, A),
    "put_along_axis arr": lambda z: gs.put_along_axis(z, INDEX, A, 0),
    "put_along_axis indices": lambda z: gs.put_along_axis(A, z, A, 0),
    "putmask a": lambda z: gs.putmask(z, TRUTH, A),
    "putmask mask": lambda z: gs.putmask(A, z, A),
    "place arr": lambda z: gs.place(z, TRUTH, A),
    "place mask": lambda z: gs.place(A, z, A),
    "plan": lambda z: gs.plan(gs.take, z, INDEX),
    "plan input": lambda z: gs.plan(gs.take, A, INDEX)(z, INDEX),
    "plan index": lambda z: gs.plan(gs.take, A, INDEX)(A, z),
}
VALUES = {
    "gather fill": lambda z: gs.gather(A, 0, INDEX, bounds="fill", fill_value=z),
    "scatter src": lambda z: gs.scatter(A, 0, INDEX, z),
    "scatter src rows": lambda z: gs.scatter(A, INDEX, z),
    "scatter src list": lambda z: gs.scatter(A, 0, INDEX, [z] * 6),
    "scatter_nd updates": lambda z: gs.scatter_nd(A, INDEX[:, None], z),
    "put v": lambda z: gs.put(A, INDEX, z),
    "put_along_axis values": lambda z: gs.put_along_axis(A, INDEX, z, 0),
    "putmask values": lambda z: gs.putmask(A, TRUTH, z),
    "place vals": lambda z: gs.place(A, TRUTH, z),
    "plan.scatter src": lambda z: gs.plan(gs.take, A, INDEX).scatter(A, INDEX, z),
}
TILES = {
    "tile_gather array": lambda z: gs.tile_gather(z, INDEX),
    "tile_gather index": lambda z: gs.tile_gather(A, z),
    "tile_gather mask": lambda z: gs.tile_gather(A, INDEX, mask=z),
    "tile_gather padding": lambda z: gs.tile_gather(A, INDEX, padding_value=z),
    "tile_scatter array": lambda z: gs.tile_scatter(z, INDEX, A),
    "tile_scatter index": lambda z: gs.tile_scatter(A, z, A),
    "tile_scatter value": lambda z: gs.tile_scatter(A, INDEX, z),
    "pypto input": lambda z: gs.compat.pypto.gather(z, 0, INDEX),
    "pypto index": lambda z: gs.compat.pypto.gather(A, 0, z),
    "mindspore self": lambda z: gs.compat.mindspore.gather(z, 0, INDEX),
    "mindspore index": lambda z: gs.compat.mindspore.gather(A, 0, z),
    "cutile array": lambda z: gs.compat.cutile.gather(z, INDEX),
}
EVERYWHERE = ARGUMENTS | VALUES | TILES

# ---- mocks that claim to be of a class


@pytest.mark.parametrize("make", [mock.Mock, mock.MagicMock, mock.NonCallableMock])
@pytest.mark.parametrize("cls", [np.ndarray, np.ma.MaskedArray, np.matrix])
@pytest.mark.parametrize("argument", EVERYWHERE)
def test_a_mock_of_an_array_is_refused_by_its_own_name(argument, cls, make):
    with pytest.raises((TypeError, ValueError), match="Mock"):
        EVERYWHERE[argument](make(spec=cls))
    assert A.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("argument", EVERYWHERE)
def test_a_mock_of_a_tensor_is_refused_by_its_own_name(argument):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises((TypeError, ValueError), match="Mock"):
        EVERYWHERE[argument](mock.Mock(spec=torch.Tensor))


def test_a_subclass_is_no_mock():
    class Own(np.ndarray):
        pass

    assert type(gs.take(A.view(Own), INDEX)) is Own


# ---- tensors without plain memory

STRANGE = {
    "nested": (lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]), r"nested.*unbind"),
    "jagged": (
        lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged),
        r"nested.*unbind|NestedTensor",
    ),
    "mkldnn": (lambda t: t.ones(6).to_mkldnn(), r"layout mkldnn.*to_dense"),
    "sparse": (lambda t: t.ones(6).to_sparse(), r"layout sparse_coo.*to_dense"),
    "quantised": (lambda t: t.quantize_per_tensor(t.ones(6), 0.1, 0, t.quint8), r"quantised.*dequantize"),
}


@pytest.mark.filterwarnings("ignore")  # torch warns that some of them are experimental or deprecated
@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("argument", EVERYWHERE)
def test_a_tensor_without_plain_memory_says_which_and_what_to_do(kind, argument):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    make, words = STRANGE[kind]
    with pytest.raises((TypeError, ValueError)) as caught:
        EVERYWHERE[argument](make(torch))
    caught.match(words)


def test_a_dtype_of_torch_is_named_as_torch_names_it():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not hasattr(torch, "float8_e8m0fnu"):
        pytest.skip("this torch has no float8_e8m0fnu")
    x = torch.ones(6, dtype=torch.uint8).view(torch.float8_e8m0fnu)
    with pytest.raises(TypeError, match=r"float8_e8m0fnu.*with a sign"):
        gs.scatter(x, 0, torch.arange(6), x, reduce="add")
    with pytest.raises(TypeError, match="index has dtype float8_e8m0fnu"):
        gs.take(A, x)
    with pytest.raises(TypeError, match="src has dtype float8_e8m0fnu"):
        gs.scatter(torch.ones(6), 0, torch.arange(6), x)


# ---- objects of other libraries that are no arrays, and the call that converts them to an array


def of_dask():
    return pytest.importorskip("dask.array", reason="dask is not installed").from_array(A)


def of_dask_frames():
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return frames.from_pandas(pandas.Series(A), npartitions=1)


def of_zarr():
    return pytest.importorskip("zarr", reason="zarr is not installed").array(A)


def of_h5py():
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    return h5py.File(io.BytesIO(), "w").create_dataset("x", data=A)


def of_scipy():
    return pytest.importorskip("scipy.sparse", reason="scipy is not installed").csr_array(A[None])


def of_awkward():
    return pytest.importorskip("awkward", reason="awkward is not installed").Array([[1], [2, 3]])


def of_xarray():
    return pytest.importorskip("xarray", reason="xarray is not installed").DataArray(A)


def of_xarray_sets():
    return pytest.importorskip("xarray", reason="xarray is not installed").Dataset({"a": ("x", A)})


def of_narwhals():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return narwhals.from_native(pandas.DataFrame({"a": A}))


def stand_in(module, name, **members):
    """An object of a class with the name of one in a library that is not installed."""
    return type(name, (), {"__module__": module, **members})()


def of_tensorflow():
    return stand_in("tensorflow.python.framework.ops", "EagerTensor", __array__=lambda self, *_: A, shape=(6,))


def of_cudf():
    return stand_in("cudf.core.dataframe", "DataFrame", shape=(6, 1))


STEPS = {
    of_dask: r"x\.compute\(\)",
    of_dask_frames: r"x\.compute\(\).*gs\.table",
    of_zarr: r"x\[\.\.\.\]",
    of_h5py: r"x\[\.\.\.\]",
    of_scipy: r"x\.toarray\(\)",
    of_awkward: r"awkward\.to_numpy\(x\)",
    of_xarray_sets: r"x\[name\]\.values",
    of_narwhals: r"narwhals\.to_native\(x\).*gs\.table",
    of_tensorflow: r"x\.numpy\(\)",
    of_cudf: r"gs\.table.*\.values",
}


# Operators that serve Dask arrays, in test_dask_*.py; also as `out`, which has a message of its own.
SERVED_BY_DASK = ("take", "take_along_axis", "gather", "gather_nd", "scatter", "scatter_nd", "tile_gather")
STEP_CASES = [
    (make, argument)
    for make in STEPS
    for argument in ARGUMENTS
    if make is not of_dask or argument.split()[0] not in (*SERVED_BY_DASK, "put_along_axis")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "argument"), STEP_CASES)
def test_the_next_step_is_named(make, argument):
    with pytest.raises(TypeError) as caught:
        ARGUMENTS[argument](make())
    caught.match(STEPS[make])
    assert "unexpected keyword" not in str(caught.value) and len(str(caught.value)) < 300


def test_the_next_step_gives_an_array():
    assert gs.take(of_zarr()[...], [1]) == gs.take(of_h5py()[...], [1]) == gs.take(of_dask().compute(), [1]) == 1
    assert gs.take(of_scipy().toarray(), [1]) == gs.take(of_xarray().values, [1]) == 1


@pytest.mark.parametrize("call", [ARGUMENTS[name] for name in ("gather out", "scatter out", "put a", "putmask a")])
def test_a_list_in_the_place_of_an_array(call):
    with pytest.raises(TypeError, match=r"numpy\.asarray\(x\)"):
        call([1.0] * 6)


def test_a_subclass_of_theirs_has_the_same_next_step():
    base = type(of_tensorflow())
    with pytest.raises(TypeError, match=r"x\.numpy\(\)"):
        gs.gather(type("Own", (base,), {"__module__": "mine"})(), 0, INDEX)


def test_a_name_that_only_begins_alike_is_another_library():
    with pytest.raises(TypeError) as caught:
        gs.gather(stand_in("zarrow.core", "Array"), 0, INDEX)
    assert "x[...]" not in str(caught.value)


def test_no_library_is_imported_for_its_name():
    code = """
import sys, numpy as np, gatherscatter as gs
try:
    gs.roll(type("Array", (), {"__module__": "dask.array.core"})(), 1)
except TypeError as error:
    print("compute" in str(error), "dask" in sys.modules)
"""
    assert child_process.run(code).strip() == "True False"


# ---- in place of an integer, and of the values to write

NUMBERS = {
    "axis": lambda z: gs.gather(A, INDEX, axis=z),
    "batch_dims": lambda z: gs.gather(A, INDEX, axis=0, batch_dims=z),
    "batch_dims of gather_nd": lambda z: gs.gather_nd(A, INDEX[:, None], z),
    "axis of scatter": lambda z: gs.scatter(A, INDEX, A, z),
    "batch_dims of scatter": lambda z: gs.scatter(A, INDEX, A, batch_dims=z),
    "axis of a plan": lambda z: gs.plan(gs.gather, A, INDEX, axis=z),
    "axis of mindspore": lambda z: gs.compat.mindspore.gather(A, INDEX, z),
    "dim of pypto": lambda z: gs.compat.pypto.gather(A, z, INDEX),
}


def of_broken():
    def fail(self, *_):
        raise RuntimeError("raw words")

    return stand_in("mine", "Broken", __array__=fail)


def of_mocks():
    return mock.Mock(spec=pytest.importorskip("pandas", reason="pandas is not installed").Series)


@pytest.mark.parametrize("make", [of_mocks, of_awkward, of_xarray_sets, of_broken])
@pytest.mark.parametrize("argument", NUMBERS)
def test_what_is_no_integer_is_said(argument, make):
    with pytest.raises(TypeError, match=r"^\w+: .* is .*, expected an integer(; .*)?$"):
        NUMBERS[argument](make())


def of_zarr_groups():
    return pytest.importorskip("zarr", reason="zarr is not installed").group()


def of_h5py_groups():
    return pytest.importorskip("h5py", reason="h5py is not installed").File(io.BytesIO(), "w").create_group("g")


def of_h5py_files():
    return pytest.importorskip("h5py", reason="h5py is not installed").File(io.BytesIO(), "w")


def of_arrow():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").table({"a": A})


def of_lazy():
    return pytest.importorskip("polars", reason="polars is not installed").LazyFrame({"a": A})


STEPS_OF_VALUES = STEPS | {
    of_zarr_groups: r"x\[name\]\[\.\.\.\]",
    of_h5py_groups: r"x\[name\]\[\.\.\.\]",
    of_h5py_files: r"x\[name\]\[\.\.\.\]",
    of_arrow: r"gs\.table",
    of_lazy: r"gs\.table",
}
WRITTEN = {
    "fill": lambda z: gs.gather(A, 0, INDEX, bounds="fill", fill_value=z),
    "fill of take": lambda z: gs.take(A, INDEX, bounds="fill", fill_value=z),
    "fill of gather_nd": lambda z: gs.gather_nd(A, INDEX[:, None], bounds="fill", fill_value=z),
    "src": lambda z: gs.scatter(A, 0, INDEX, z),
    "src in a list": lambda z: gs.scatter(A, 0, INDEX[:1], [z]),
    "updates": lambda z: gs.scatter_nd(A, INDEX[:, None], z),
    "src of a plan": lambda z: gs.plan(gs.take, A, INDEX).scatter(A, INDEX, z),
    "padding": lambda z: gs.tile_gather(A, INDEX, padding_value=z),
    "value": lambda z: gs.tile_scatter(A, INDEX, z),
}


def refusals(arguments, served):
    """Pairs of a maker and an argument, without the arguments that operators on Dask arrays serve."""
    return [(make, name) for make in STEPS_OF_VALUES for name in arguments if make is not of_dask or name not in served]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "argument"), refusals(WRITTEN, ("src", "updates", "padding")))
def test_the_next_step_is_named_where_values_belong(make, argument):
    with pytest.raises(TypeError) as caught:
        WRITTEN[argument](make())
    caught.match(STEPS_OF_VALUES[make])
    assert len(str(caught.value)) < 300 and A.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "argument"),
    refusals(
        [name for name in TILES if name not in ("tile_gather padding", "tile_scatter value")],
        ("tile_gather array", "tile_gather index", "tile_gather mask"),
    ),
)
def test_the_next_step_is_named_before_ranks_are_looked_at(make, argument):
    with pytest.raises(TypeError) as caught:
        TILES[argument](make())
    caught.match(STEPS_OF_VALUES[make])


def test_a_series_of_narwhals_is_written_as_it_is_read():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    series = narwhals.from_native(pandas.Series(A[::-1]), series_only=True)
    assert gs.gather(A, 0, narwhals.from_native(pandas.Series(INDEX[::-1]), series_only=True)).tolist() == [*A[::-1]]
    assert gs.scatter(A, 0, INDEX, series).tolist() == [*A[::-1]]


# ---- classes that implement the functions themselves


def test_a_class_that_answers_for_itself_is_given_only_what_was_said():
    said = []

    class Quantity:
        def __array_function__(self, function, types, arguments, keywords):
            said.append((function.__name__, keywords))
            return "its own"

    x = Quantity()
    assert gs.take(x, INDEX) == gs.take(x, INDEX, axis=1) == gs.compress(TRUTH, x) == "its own"
    gs.put(x, INDEX, A)
    gs.take(x, INDEX, mode="clip")
    assert said == [
        ("take", {"axis": None}),
        ("take", {"axis": 1}),
        ("compress", {"axis": None}),
        ("put", {}),
        ("take", {"axis": None, "mode": "clip"}),
    ]
