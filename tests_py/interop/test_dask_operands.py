"""test_dask_operands.py: which chunks Dask calls refuse, and that later writes to operands in memory change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._dask.operands import own_copy

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

X = np.arange(12)
AT = np.array([1, 5, 0, 5, 11, 7])
KEEP = np.array([True, False, True, True, False, True])
VALUES = np.array([7, 3, 5, 2, 9, 4])


class Labelled(np.ndarray):
    """An array of another library, as Dask sees it."""


class Foreign:
    """A block that is no array at all, for which Dask noted the type of NumPy."""

    def __init__(self, block):
        self.shape, self.dtype, self.ndim = block.shape, block.dtype, block.ndim
        self.size, self.nbytes = block.size, block.nbytes


def in_chunks(array, size=4):
    return da.from_array(array, chunks=size, name=False)


def wrongly_noted(array, make, size=4):
    """Chunks that `make` makes, in an array whose type of chunks says NumPy."""
    return in_chunks(array, size).map_blocks(make, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))


# The call, and the arguments of it that are chunks: their name in errors, and the array.
CALLS = {
    "gather": (
        lambda input, index, mask: gs.gather(input, 0, index, mask=mask),
        {"input": X, "index": AT, "mask": KEEP},
    ),
    "gather_slices": (
        lambda input, index, mask: gs.gather(input, indices=index, axis=0, mask=mask),
        {"input": X, "index": AT, "mask": KEEP},
    ),
    "gather_nd": (
        lambda input, index, mask: gs.gather_nd(input, index, mask=mask),
        {"input": X, "index": AT[:, None], "mask": KEEP},
    ),
    "take": (lambda input, index, mask: gs.take(input, index, mask=mask), {"input": X, "index": AT, "mask": KEEP}),
    "take_along_axis": (
        lambda input, index, mask: gs.take_along_axis(input, index, 0, mask=mask),
        {"input": X, "index": AT, "mask": KEEP},
    ),
    "tile_gather": (
        lambda input, index, mask, padding_value: gs.tile_gather(input, index, mask=mask, padding_value=padding_value),
        {"input": X, "index": AT, "mask": KEEP, "padding_value": VALUES},
    ),
    "scatter": (
        lambda input, index, mask, src: gs.scatter(input, 0, index, src, mask=mask),
        {"input": X, "index": AT, "mask": KEEP, "src": VALUES},
    ),
    "scatter_slices": (
        lambda input, index, mask, src: gs.scatter(input, indices=index, src=src, axis=0, mask=mask),
        {"input": X, "index": AT, "mask": KEEP, "src": VALUES},
    ),
    "scatter_nd": (
        lambda input, index, mask, updates: gs.scatter_nd(input, index, updates, mask=mask),
        {"input": X, "index": AT[:, None], "mask": KEEP, "updates": VALUES},
    ),
    "put_along_axis": (
        lambda input, index, mask, values: gs.put_along_axis(input, index, values, 0, mask=mask),
        {"input": X, "index": AT, "mask": KEEP, "values": VALUES},
    ),
}
EACH_ROLE = [(name, role) for name, (_, arguments) in CALLS.items() for role in arguments]


def arguments_of(name):
    call, arguments = CALLS[name]
    return call, dict(arguments)


# ---- chunks that are not NumPy arrays


@pytest.mark.parametrize(("name", "role"), EACH_ROLE)
def test_masked_chunks_are_refused_in_the_call(name, role):
    """They would lose their masks. The message names the argument, the kind of chunks and the next step."""
    call, arguments = arguments_of(name)
    hidden = np.zeros(arguments[role].shape, bool)
    hidden[3] = True
    given = {key: in_chunks(array) for key, array in arguments.items()}
    given[role] = in_chunks(np.ma.array(arguments[role], mask=hidden))
    with pytest.raises(
        TypeError, match=rf"chunks of {role} are masked arrays, .*x\.map_blocks\(numpy\.ma\.filled"
    ) as e:
        call(**given)
    assert str(e.value).startswith(name.removesuffix("_slices") + ": ")
    given[role] = given[role].map_blocks(np.ma.filled, 0)  # the step that the message names
    call(**given).compute(scheduler="sync")


@pytest.mark.parametrize("size", [4, 3])
@pytest.mark.parametrize(("name", "role"), EACH_ROLE)
def test_masked_chunks_that_dask_did_not_note_are_refused_by_the_tasks(name, role, size):
    """Also where the chunks (of size 3) must be joined to others first, which drops masks."""
    call, arguments = arguments_of(name)
    given = {key: in_chunks(array) for key, array in arguments.items()}
    given[role] = wrongly_noted(arguments[role], lambda block: np.ma.array(block, mask=block == block), size)
    made = call(**given)
    with pytest.raises(TypeError, match=rf"chunks of {role} are masked arrays"):
        made.compute(scheduler="sync")


@pytest.mark.parametrize(("name", "role"), EACH_ROLE)
def test_chunks_of_other_types_are_refused_by_name(name, role):
    call, arguments = arguments_of(name)
    given = {key: in_chunks(array) for key, array in arguments.items()}
    noted = in_chunks(arguments[role]).map_blocks(
        lambda block: block.view(Labelled),
        dtype=arguments[role].dtype,
        meta=np.empty((0,) * arguments[role].ndim, arguments[role].dtype).view(Labelled),
    )
    with pytest.raises(TypeError, match=rf"chunks of {role} are of type .*Labelled, .*x\.map_blocks"):
        call(**{**given, role: noted})
    for make, cls in ((lambda block: block.view(Labelled), "Labelled"), (Foreign, "Foreign")):
        made = call(**{**given, role: wrongly_noted(arguments[role], make)})
        with pytest.raises(TypeError, match=rf"chunks of {role} are of type .*{cls}, expected NumPy arrays"):
            made.compute(scheduler="sync")


def test_masked_empty_arrays_are_refused():
    empty = in_chunks(np.ma.masked_equal(np.zeros(0, int), 3))
    with pytest.raises(TypeError, match="masked arrays"):
        gs.take(in_chunks(X), empty)


def test_mapped_files_and_scalars_are_chunks(tmp_path):
    """A mapped file is an array, and Dask's reductions make scalars of NumPy."""
    np.save(tmp_path / "x.npy", X)
    x = da.from_delayed(dask.delayed(np.load)(tmp_path / "x.npy", mmap_mode="r"), X.shape, X.dtype)
    assert isinstance(dask.compute(*x.to_delayed(), scheduler="sync")[0], np.memmap)
    assert gs.take(x, AT).compute(scheduler="sync").tolist() == AT.tolist()
    total = in_chunks(X).sum()
    assert isinstance(dask.compute(total.to_delayed().item(), scheduler="sync")[0], np.generic)
    expected = gs.scatter(X, 0, AT, X.sum())
    np.testing.assert_array_equal(gs.scatter(x, 0, AT, total).compute(scheduler="sync"), expected)


def test_padding_of_an_array_of_rank_0_is_a_part_of_the_graph():
    padding = wrongly_noted(np.array(8), lambda block: np.ma.array(block, mask=True), ())
    with pytest.raises(TypeError, match="chunks of padding_value are masked arrays"):
        gs.tile_gather(da.zeros((), int), (), mask=np.array(False), padding_value=padding).compute(scheduler="sync")
    made = gs.tile_gather(da.zeros((), int), (), mask=np.array(False), padding_value=in_chunks(np.array(8), ()))
    assert made.compute(scheduler="sync") == 8


# ---- operands in memory


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize(("name", "role"), [each for each in EACH_ROLE if each[1] != "input"])
def test_later_writes_to_an_operand_do_not_change_the_result(name, role, is_lazy):
    """The other operands are in memory, and the call divides the index, or they are Dask arrays, and tasks do."""
    call, arguments = arguments_of(name)
    expected = call(**{**arguments, "input": X.copy()}) if name != "put_along_axis" else put(arguments)
    mine = arguments[role].copy()
    given = {key: in_chunks(array) if is_lazy or key == "input" else array for key, array in arguments.items()}
    made = call(**{**given, role: mine})
    mine[...] = 0
    np.testing.assert_array_equal(made.compute(scheduler="sync"), expected)


def put(arguments):
    result = X.copy()
    gs.put_along_axis(result, arguments["index"], arguments["values"], 0, mask=arguments["mask"])
    return result


def test_later_writes_to_one_value_do_not_change_the_result():
    fill, value = np.array(7), np.array(8)
    gathered = gs.gather(in_chunks(X), 0, [1, 99], bounds="fill", fill_value=fill)
    tile = gs.tile_gather(in_chunks(X), [1, 99], padding_value=value)
    scattered = [gs.scatter(in_chunks(X), 0, at, value) for at in ([1, 2], in_chunks(np.array([1, 2])))]
    fill[...] = value[...] = 0
    assert gathered.compute(scheduler="sync").tolist() == [1, 7]
    assert tile.compute(scheduler="sync").tolist() == [1, 8]
    for made in scattered:
        assert made.compute(scheduler="sync").tolist() == [0, 8, 8, *range(3, 12)]


def test_repeated_operands_stay_repeated():
    """What NumPy repeats without memory is not written out, which could need more than there is."""
    repeated = np.broadcast_to(np.array([3, 1]), (1 << 40, 2))
    copied = own_copy(repeated)
    assert copied.shape == repeated.shape and copied.strides[0] == 0 and not np.shares_memory(copied, repeated)
    assert copied[1 << 39].tolist() == [3, 1]


# ---- empty data


@pytest.mark.parametrize("shape", [(0,), (4, 0), (4, 5, 0), (0, 3), (2, 0, 3)])
def test_flat_take_of_empty_data_gives_fills(shape):
    x = da.zeros(shape, chunks=2)
    for index in (np.array([0, -1, 9]), in_chunks(np.array([0, -1, 9]), 2)):
        made = gs.take(x, index, bounds="fill", fill_value=7)
        assert made.compute(scheduler="sync").tolist() == [7.0, 7.0, 7.0]
        masked = gs.take(x, index, mask=np.zeros(3, bool), fill_value=7)
        assert masked.compute(scheduler="sync").tolist() == [7.0, 7.0, 7.0]
        written = gs.put_along_axis(x, index, 1.0, None, bounds="drop")
        assert written.compute(scheduler="sync").shape == shape
    with pytest.raises(IndexError):
        gs.take(x, in_chunks(np.array([0]))).compute(scheduler="sync")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)])
def test_errors_of_empty_axes_are_those_of_memory(shape):
    x = np.zeros(shape)
    for axis in range(len(shape)):
        for index, mode in ((np.array([], int), "raise"), (np.array([0]), "raise"), (np.array([-1, 0]), "clip")):
            outcomes = []
            for data in (x, da.from_array(x, chunks=2)):
                try:
                    result = np.asarray(gs.take(data, index, axis=axis, mode=mode))
                    outcomes.append((result.shape, result.dtype))
                except gs.OutOfBoundsError as error:
                    outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1]


TENSORS = {
    "gather": lambda x, t: gs.gather(x, t([1, 5, 0]), axis=0, mask=t([True, False, True])),
    "elements": lambda x, t: gs.gather(x, 0, t([1, 5, 0])),
    "gather_nd": lambda x, t: gs.gather_nd(x, t([[1], [5]])),
    "arrays": lambda x, t: gs.gather_nd(x, (t([[1], [5]]),)),
    "fill": lambda x, t: gs.gather(x, t([1, 99]), axis=0, bounds="fill", fill_value=t(3)),
    "take": lambda x, t: gs.take(x, t([[1, 5]])),
    "take_along_axis": lambda x, t: gs.take_along_axis(x, t([1, 5]), 0),
    "scatter": lambda x, t: gs.scatter(x, t([1, 5, 1]), t([7, 8, 9]), reduce="add"),
    "scatter_elements": lambda x, t: gs.scatter(x, 0, t([1, 5]), t([7, 8])),
    "scatter_nd": lambda x, t: gs.scatter_nd(x, t([[1], [5]]), t([7, 8])),
    "one_value": lambda x, t: gs.scatter(x, t([1, 5]), t(7)),
}


@pytest.mark.parametrize("name", TENSORS)
def test_operands_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    wanted = TENSORS[name](X, np.array)
    assert TENSORS[name](in_chunks(X), torch.tensor).compute().tolist() == wanted.tolist()


def test_an_input_of_torch_with_an_index_of_dask():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert gs.dask.gather(torch.tensor(X), 0, in_chunks(AT, 2)).compute().tolist() == AT.tolist()
    with pytest.raises(TypeError, match="bfloat16, which NumPy does not have"):
        gs.dask.gather(torch.tensor(X).bfloat16(), 0, in_chunks(AT, 2))


@pytest.mark.parametrize("index", [(1, 2), (np.int64(1), 2), ([1, 0], [2, 2]), (np.array(1), 2)])
def test_a_tuple_of_numbers_is_a_nested_list(index):
    matrix = X.reshape(4, 3)
    assert gs.gather(in_chunks(matrix, 2), index, axis=0).compute().tolist() == matrix[np.array(index)].tolist()
