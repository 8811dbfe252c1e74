"""test_torch_graph_values.py: tensors of one number as arguments of functions that torch records.

Another run of the graph has other numbers, so that none may become a constant, also while make_fx computes with values.
"""

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
