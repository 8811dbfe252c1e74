"""test_torch_symbols.py: Python numbers and sizes that differ from call to call of a compiled function.

torch makes a number a constant of the first graph, and an argument of the second one, which then serves all numbers.
"""

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
testing = pytest.importorskip("torch._dynamo.testing", reason="this torch cannot compile")
pytest.importorskip("gatherscatter.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about parts of itself

INDEX = torch.tensor([0, 9])
INSIDE = torch.tensor([0, 3])


def written(write):
    """A function that writes to a copy and returns it."""

    def function(x, k):
        result = x.clone()
        write(result, k)
        return result

    return function


# Each takes a tensor of 6 floats and a number.
CALLS = {
    "fill_value": lambda x, k: gs.gather(x, INDEX, axis=0, bounds="fill", fill_value=k),
    "fill_value of take_along_axis": lambda x, k: gs.take_along_axis(x, INDEX, 0, bounds="fill", fill_value=k),
    "fill_value of float16": lambda x, k: gs.gather(x.half(), INDEX, axis=0, bounds="fill", fill_value=k),
    "fill_value of integers": lambda x, k: gs.gather(x.to(torch.int8), INDEX, axis=0, bounds="fill", fill_value=k),
    "padding_value": lambda x, k: gs.tile_gather(x, (INDEX,), padding_value=k),
    "src": lambda x, k: gs.scatter(x, INSIDE, k, axis=0),
    "src of integers": lambda x, k: gs.scatter(x.long(), INSIDE, k, axis=0),
    "src, a list": lambda x, k: gs.scatter(x, INSIDE, [k, 2 * k], axis=0),
    "value of tile_scatter": written(lambda x, k: gs.tile_scatter(x, (INSIDE,), k)),
    "values of putmask": written(lambda x, k: gs.putmask(x, x > 2, k)),
    "row": lambda x, k: gs.gather(x, k, axis=0),
    "index, a list": lambda x, k: gs.take(x, [k, 0], axis=0),
    "coordinates, a list": lambda x, k: gs.gather_nd(x.reshape(2, 3), [[0, k - 2], [1, 0]]),
    "fill_value that is a float": lambda x, k: gs.gather(x, INDEX, axis=0, bounds="fill", fill_value=k / 2),
    "padding_value that is a float": lambda x, k: gs.tile_gather(x, (INDEX,), padding_value=k / 2),
    "src, a list with tensors": lambda x, k: gs.scatter(x, INSIDE, [x[1] + 7, k], axis=0),
    "index of put": written(lambda x, k: gs.put(x, k, 7.0)),
    "index of a tile": lambda x, k: gs.tile_gather(x.reshape(2, 3), (INSIDE.clamp(max=1), k - 2)),
    "index of a tile, a list": lambda x, k: gs.tile_gather(x, ([0, k],)),
}
# torch compiles these again for each number.
CONSTANTS = {
    "axis": lambda x, k: gs.take(x.reshape(1, 6), torch.tensor([0]), axis=k % 2),
    "fill_value of complex numbers": lambda x, k: gs.gather(x + 0j, INDEX, axis=0, bounds="fill", fill_value=k),
    "fill_value of complex32": lambda x, k: gs.gather(
        (x + 0j).to(torch.complex32), INDEX, axis=0, bounds="fill", fill_value=k
    ).to(torch.complex64),  # torch cannot compare complex32
    "fill_value of bool": lambda x, k: gs.gather(x > 2, INDEX, axis=0, bounds="fill", fill_value=k % 2),
    "fill_value that is a bool": lambda x, k: gs.gather(x, INDEX, axis=0, bounds="fill", fill_value=k > 3),
    "mask that is a bool": lambda x, k: gs.tile_gather(x, (INDEX,), mask=k > 3),
    "integral float for integers": lambda x, k: gs.gather(x.long(), INDEX, axis=0, bounds="fill", fill_value=float(k)),
    "index and values of put": written(lambda x, k: gs.put(x, [0, k], [k, 2 * k])),
}


def compiled(function):
    torch._dynamo.reset()
    counter = testing.CompileCounterWithBackend("aot_eager")
    return torch.compile(function, fullgraph=True, backend=counter), counter


@pytest.mark.parametrize("name", [*CALLS, *CONSTANTS])
def test_numbers_that_change(name):
    function = CALLS.get(name) or CONSTANTS[name]
    call, counter = compiled(function)
    x = torch.arange(6.0)
    for k in (2, 3, 4):
        result, expected = call(x, k), function(x, k)
        assert result.dtype == expected.dtype and torch.equal(result, expected)
    if name in CALLS:
        assert counter.frame_count == 2


@pytest.mark.parametrize("k", [0.5, float("inf")])
def test_floats(k):
    function = CALLS["src"]
    call, _ = compiled(lambda x, k: function(x, k / 2))
    for number in (2, 3, k):
        assert torch.equal(call(torch.arange(6.0), number), function(torch.arange(6.0), number / 2))


@pytest.mark.parametrize(
    ("name", "k", "message"),
    [
        ("fill_value of integers", 300, "fill_value 300 does not fit dtype torch.int8"),
        ("fill_value of float16", 70_000, "fill_value 70000 does not fit dtype torch.float16"),
        ("fill_value of complex32", 70_000, "fill_value 70000 does not fit dtype torch.complex32"),
        ("index, a list", 9, "index 9 is out of bounds for axis 0 with size 6"),
    ],
)
def test_a_number_that_does_not_fit(name, k, message):
    function = {**CALLS, **CONSTANTS}[name]
    call, _ = compiled(function)
    x = torch.arange(6.0)
    for number in (2, 3):
        call(x, number)
    with pytest.raises(Exception, match=message):  # torch wraps errors of its compilation
        call(x, k)
    assert torch.equal(call(x, 5), function(x, 5))


@pytest.mark.parametrize("wrong", [None, "a", 0.5, 2**70])
def test_an_index_that_is_wrong_beside_a_number(wrong):
    call, _ = compiled(lambda x, k: gs.gather(x, [k, wrong], axis=0))
    for number in (1, 2):
        with pytest.raises(Exception, match="gather: index has "):
            call(torch.arange(6.0), number)


def test_an_array_of_numpy_refuses_a_number_of_a_graph():
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    with pytest.raises(TypeError, match=r"index is of type torch\.SymInt, expected an array"):
        make_fx(lambda x: gs.gather(np.arange(9), x.shape[0] - 1, axis=0), tracing_mode="symbolic")(torch.arange(6.0))


@pytest.mark.parametrize("call", [lambda x, i: gs.tile_gather(x, (i,)), lambda x, i: gs.put(x, i, 1.0)])
def test_an_index_that_contains_itself(call):
    index = [0]
    index.append(index)
    with pytest.raises(ValueError, match="inhomogeneous"):
        call(torch.arange(6.0), index)


def test_a_list_of_constants():
    function = CALLS["src, a list"]
    call, _ = compiled(lambda x: function(x, 1.5))
    assert torch.equal(call(torch.arange(6.0)), function(torch.arange(6.0), 1.5))


@pytest.mark.parametrize("k", [2, 3])
def test_tiles_keep_their_rules(k):
    call, _ = compiled(lambda x, k: gs.tile_gather(x.to(torch.int8), (INDEX,), padding_value=k * 100))
    call(torch.arange(6.0), 1)
    with pytest.raises(Exception, match="is out of range of int8"):
        call(torch.arange(6.0), k)
    call, _ = compiled(lambda x, k: gs.tile_gather(x > 2, (INDEX,), padding_value=k))
    call(torch.arange(6.0), 1)
    with pytest.raises(Exception, match=f"cannot implicitly cast padding_value {k} to bool"):
        call(torch.arange(6.0), k)


# Each takes a matrix of at least 3 rows and 3 columns.
OF_ANY_SIZE = {
    "roll": lambda x: gs.roll(x, 1),
    "roll of rows": lambda x: gs.roll(x, -1, axis=0),
    "roll of two axes": lambda x: gs.roll(x, (1, 2), axis=(0, 1)),
    "put of repeated values": lambda x: written(lambda x, k: gs.put(x, k, [1.0, 2.0]))(x, torch.arange(x.shape[1])),
    "putmask of repeated values": lambda x: written(lambda x, k: gs.putmask(x, x > k, [1.0, 2.0]))(x, 4),
    "take_along_axis": lambda x: gs.take_along_axis(x, torch.tensor([[2], [0]]), 0),
    "tile_gather": lambda x: gs.tile_gather(x, (INDEX, INDEX)),
    "scatter": lambda x: gs.scatter(x, torch.tensor([2, 0, 2]), x[:3], reduce="mean"),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_sizes_that_change(name, requires_grad):
    function = OF_ANY_SIZE[name]
    call, counter = compiled(function)
    for shape in ((3, 4), (5, 7), (9, 3)):
        x = torch.arange(float(np.prod(shape))).reshape(shape).requires_grad_(requires_grad)
        result, expected = call(x), function(x)
        assert torch.equal(result, expected)
        if requires_grad:
            gradients = [torch.autograd.grad((each * expected.detach()).sum(), x)[0] for each in (result, expected)]
            assert torch.equal(*gradients)
    assert counter.frame_count == 2
