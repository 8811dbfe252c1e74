"""test_torch_graph_values.py: tensors of one number as arguments of functions that torch records.

Another run of the graph has other numbers, so that none may become a constant, also while make_fx computes with values.
"""

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor", reason="this torch has no make_fx").make_fx
pytest.importorskip("gatherscatter.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about parts of itself


def indices():
    return torch.tensor([0, 2])


def beyond():
    return torch.tensor([0, 9])


def written(write):
    """A function that writes to a copy and returns it."""

    def function(x, k):
        result = x.clone()
        write(result, k)
        return result

    return function


# Each takes a matrix of 3 x 4 floats and an integer of 0 to 2 as a tensor.
CALLS = {
    "fill_value": lambda x, k: gs.gather(x, beyond(), axis=0, bounds="fill", fill_value=k + 0.5),
    "fill_value of another dtype": lambda x, k: gs.take(x, beyond(), axis=0, bounds="fill", fill_value=k),
    "fill_value of gather_nd": lambda x, k: gs.gather_nd(x, beyond()[:, None], bounds="fill", fill_value=k),
    "padding_value": lambda x, k: gs.tile_gather(x, (beyond(), beyond()), padding_value=k),
    "src": lambda x, k: gs.scatter(x, indices(), k + 0.5, axis=0),
    "src, a list": lambda x, k: gs.scatter(x[:, 0], 0, indices(), [k, 2.5]),
    "values of put": written(lambda x, k: gs.put(x, [1, 2], [k, 2.5])),
    "value of tile_scatter": written(lambda x, k: gs.tile_scatter(x, (indices(), indices()), k.float())),
    "values of putmask": written(lambda x, k: gs.putmask(x, x > 4, [k, 2.5])),
    "mask of putmask": written(lambda x, k: gs.putmask(x, x > 4 + k, [1.5, 2.5])),
    "row": lambda x, k: gs.gather(x, k, axis=0),
    "index, a list": lambda x, k: gs.gather(x, [k, 1], axis=0),
    "index, a list of two types": lambda x, k: gs.gather(x, [k.to(torch.int8), k], axis=0),
    "index, a tuple": lambda x, k: gs.take(x, (k, 1)),
    "index along an axis": lambda x, k: gs.take_along_axis(x, [[k, 0, 1, 2]], 0),
    "coordinates": lambda x, k: gs.gather_nd(x, [[0, k], [k, 1]]),
    "index of put": written(lambda x, k: gs.put(x, [k, 5], [2.5, 3.5])),
    "index of a tile": lambda x, k: gs.tile_gather(x, (k, indices())),
    "index of a tile, a list": lambda x, k: gs.tile_gather(x, ([0, k], [0, 1])),
    "mask, a list": lambda x, k: gs.gather(x, [0, 1], axis=0, mask=[k > 1, True]),
    "rows, a list": lambda x, k: gs.take(x, [k + indices() // 2, [0, 2]]),
    "mask, a list of rows": lambda x, k: gs.take(x, [[0, 1], [2, 3]], mask=[indices() > k, [True, False]]),
    "index, a list with constants": lambda x, k: gs.take(x, [k, np.int64(1), True]),
    "mask of a tile, a list": lambda x, k: gs.tile_gather(x, ([0, 1], [0, 1]), mask=[k > 1, True]),
}
# How much these read depends on values, or they take no tensor.
REFUSED = {
    "roll: shift": lambda x, k: gs.roll(x, k),
    "repeat: repeats": lambda x, k: gs.repeat(x, k, axis=0),
    "compress: condition": lambda x, k: gs.compress(torch.stack([k > 0, k > 1]), x, axis=0),
    "place: mask": written(lambda x, k: gs.place(x, x > k, [2.5])),
}
MATRIX = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", CALLS)
def test_make_fx_records_numbers(name, mode):
    function = CALLS[name]
    graph = make_fx(function, tracing_mode=mode)(MATRIX.clone(), torch.tensor(1))
    for k in (2, 0):
        x = MATRIX + 20 * k
        result, expected = graph(x, torch.tensor(k)), function(x, torch.tensor(k))
        assert result.dtype == expected.dtype and torch.equal(result, expected)


@pytest.mark.parametrize("name", CALLS)
def test_compiled(name):
    torch._dynamo.reset()
    function = CALLS[name]
    call = torch.compile(function, fullgraph=True, backend="aot_eager")
    for k in (1, 2, 0):
        result, expected = call(MATRIX, torch.tensor(k)), function(MATRIX, torch.tensor(k))
        assert result.dtype == expected.dtype and torch.equal(result, expected)


# The result is an array of NumPy, which no graph records.
OF_NUMPY = {
    "tile_gather: index": lambda x, k: gs.tile_gather(np.arange(5.0), (k + indices(),)),
    "scatter: src": lambda x, k: gs.scatter(np.arange(5.0), 0, np.array([0, 1]), x[0, :2].double()),
    "gather: mask": lambda x, k: gs.gather(np.arange(5.0), [0, 1], axis=0, mask=indices() > k),
    "putmask: mask": lambda x, k: gs.putmask(np.arange(4.0), x[0] > k, 7.0),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_arrays_of_numpy_take_no_values_of_a_graph(name):
    with pytest.raises(TypeError, match=f"{name} is a tensor of a graph or transform of torch"):
        make_fx(OF_NUMPY[name], tracing_mode="real")(MATRIX.clone(), torch.tensor(1))


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", REFUSED)
def test_values_that_a_call_reads_are_refused(name, mode):
    with pytest.raises(TypeError, match=f"{name} is a tensor of a graph or transform of torch, whose values"):
        make_fx(REFUSED[name], tracing_mode=mode)(MATRIX.clone(), torch.tensor(1))


def test_vmap_refuses_what_a_call_reads():
    with pytest.raises(TypeError, match="repeat: repeats is a tensor of a graph or transform of torch"):
        torch.func.vmap(lambda k: gs.repeat(MATRIX, k, axis=0))(torch.tensor([1, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, k: gs.take(x, [k.float(), 0]), "value out of a tracing tensor"),
        (lambda x, k: gs.take(x, [k.to(torch.uint64), 0]), "value out of a tracing tensor"),
        (lambda x, k: gs.gather(x, [0, 1], axis=0, mask=[k, True]), "value out of a tracing tensor"),
        (lambda x, k: gs.take(x, [MATRIX[0] + k, 0]), None),
        (lambda x, k: gs.take(x, [k + indices(), 0]), "equal size"),
        (lambda x, k: gs.gather(x.to(torch.int8), beyond(), axis=0, bounds="fill", fill_value=k * 200), "does not fit"),
        (lambda x, k: gs.scatter(x.long(), indices(), k + 0.5, axis=0), "does not fit|dtype"),
    ],
)
def test_other_tensors_in_lists_are_errors(call, message):
    with pytest.raises(Exception, match=message):
        make_fx(call, tracing_mode="real")(MATRIX.clone(), torch.tensor(1))


def test_constants_stay_constants():
    """A tensor that the graph does not know is the same in every run, and so is a list of numbers."""
    five = torch.tensor(5.0)

    def function(x):
        filled = gs.gather(x, beyond(), axis=0, bounds="fill", fill_value=five)
        return gs.scatter(filled[:, 0], 0, torch.tensor([1, 0]), [five, 2.0])

    graph = make_fx(function, tracing_mode="real")(MATRIX.clone())
    assert torch.equal(graph(MATRIX + 1), function(MATRIX + 1))


def test_a_mode_of_the_caller_changes_nothing():
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode(display=False)
    with counter:
        assert gs.repeat(MATRIX, torch.tensor([0, 2, 1]), axis=0).shape == (3, 4)
        assert gs.take(MATRIX, [torch.tensor(1), 0]).tolist() == [1, 0]
        assert gs.roll(MATRIX, torch.tensor(1))[0, 0] == 11


# A view has an address there that is only its offset in a storage without memory.
VIEWS = {
    "input": lambda x, k: gs.take(x[1:], [0, 1]),
    "index": lambda x, k: gs.take(x, k[1:], axis=0),
    "fill_value": lambda x, k: gs.gather(x, beyond(), axis=0, bounds="fill", fill_value=k[1]),
    "src": lambda x, k: gs.scatter(x, indices()[1:], x[1:2], axis=0),
    "values, a list": lambda x, k: gs.scatter(x[:, 1], 0, indices(), [k[1], 2]),
    "index, a list": lambda x, k: gs.take(x, [k[1], 0]),
    "mask of putmask": written(lambda x, k: gs.putmask(x, x[1:].repeat(2, 1)[1:] > 5, 7.0)),
    "target": lambda x, k: written(lambda y, k: gs.put(y[1:], k[1:], 7.0))(x, k),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_inside_of_functionalize(name):
    function = VIEWS[name]
    graph = make_fx(torch.func.functionalize(function))(MATRIX.clone(), torch.tensor([0, 1, 2]))
    for k in ([0, 1, 2], [1, 2, 0]):
        x = MATRIX + k[0]
        assert torch.equal(graph(x, torch.tensor(k)), function(x, torch.tensor(k)))


@pytest.mark.parametrize("columns", [4, 5, 7])
@pytest.mark.parametrize("shift", [4, -9, 0])
def test_a_shift_of_a_size_that_changes(shift, columns):
    graph = make_fx(lambda x: gs.roll(x, (shift, 1), axis=(1, 0)), tracing_mode="symbolic")(MATRIX.clone())
    x = torch.arange(3.0 * columns).reshape(3, columns)
    assert torch.equal(graph(x), torch.roll(x, (shift, 1), (1, 0)))
