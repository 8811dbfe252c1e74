"""test_torch_numbers.py: a number that a dtype cannot hold is an error in a graph, as it is in a plain call.

NumPy's scalars become tensors of the graph, so their values are checked when it runs.
"""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch._dynamo", reason="this torch cannot compile")
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about parts of itself

INDEX, BEYOND = torch.tensor([1, 2]), torch.tensor([1, 9])


def written(write):
    def call(x, value):
        x = x.clone()
        write(x, value)
        return x

    return call


CALLS = {
    "scatter": lambda x, v: gs.scatter(x, INDEX, v, axis=0),
    "scatter of a list": lambda x, v: gs.scatter(x, INDEX, [v, 0], axis=0),
    "scatter add": lambda x, v: gs.scatter(x, INDEX, v, axis=0, reduce="add"),
    "scatter_nd": lambda x, v: gs.scatter_nd(x, INDEX[:, None], v),
    "fill value": lambda x, v: gs.gather(x, BEYOND, axis=0, bounds="fill", fill_value=v),
    "fill value of take": lambda x, v: gs.take(x, BEYOND, bounds="fill", fill_value=v),
    "padding of a tile": lambda x, v: gs.tile_gather(x, (BEYOND,), padding_value=v),
    "put": written(lambda x, v: gs.put(x, INDEX, v)),
    "put_along_axis": written(lambda x, v: gs.put_along_axis(x, INDEX, v, 0)),
    "putmask": written(lambda x, v: gs.putmask(x, x > 0, v)),
}
NUMBERS = (
    *(300, -129, 2**40, 0.5, 3.0, True, float("nan"), 70_000.0, 1e300, 1, -1),
    *(np.int64(300), np.uint8(200), np.int64(-1), np.int32(7), np.int8(-5)),
    *(np.float64(0.5), np.float32(3), np.float64(1e300), np.float64("nan"), np.float16(2), np.bool_(True)),
    *(np.complex128(1j), np.complex64(2)),
)
DTYPES = ("int8", "uint8", "int64", "bool", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn")


def outcome(function, *arguments):
    """The result, or the class of the error; torch wraps an error that it finds while it compiles."""
    try:
        return function(*arguments)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", range(3))
def test_a_compiled_call_takes_what_a_plain_one_takes(name, seed):
    rng = np.random.default_rng([seed, len(name)])
    for number in rng.choice(len(NUMBERS), 4, replace=False):
        dtype, value = getattr(torch, DTYPES[rng.integers(0, len(DTYPES))]), NUMBERS[number]
        x = torch.arange(6).to(dtype)
        torch._dynamo.reset()
        compiled = torch.compile(CALLS[name], fullgraph=True, backend="aot_eager")
        expected, result = (outcome(function, x, value) for function in (CALLS[name], compiled))
        where = (dtype, value, type(value), result)
        if isinstance(expected, Exception):
            assert isinstance(result, Exception), where
            _, separator, dtype_text = str(expected).partition(" does not fit")  # before it, the number
            assert separator + dtype_text in str(result), where
        else:
            assert not isinstance(result, Exception), where
            assert bytes_of(result) == bytes_of(expected), where


def bytes_of(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_later_run_of_a_graph_checks_its_own_number(backend):
    torch._dynamo.reset()
    call = torch.compile(CALLS["scatter"], fullgraph=True, backend=backend)
    x = torch.arange(6, dtype=torch.int8)
    assert call(x, np.int64(100))[1] == 100
    with pytest.raises(ValueError, match="scatter: src 300 does not fit dtype"):
        call(x, np.int64(300))
    assert call(x, np.int64(-7))[2] == -7


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_records_the_check(mode):
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    x = torch.arange(6, dtype=torch.int8)
    graph = make_fx(lambda x, i, v: gs.scatter(x, i, v, axis=0), tracing_mode=mode)(x, INDEX, torch.tensor(5))
    assert graph(x, INDEX, torch.tensor(-3))[1] == -3
    with pytest.raises(ValueError, match="src 300 does not fit"):
        graph(x, INDEX, torch.tensor(300))


def test_a_program_keeps_the_check():
    class Model(torch.nn.Module):
        def forward(self, x, value):
            return CALLS["fill value"](x, value)

    x = torch.arange(6, dtype=torch.int8)
    program = torch.export.export(Model(), (x, torch.tensor(5)))
    assert program.module()(x, torch.tensor(-3)).tolist() == [1, -3]
    with pytest.raises(ValueError, match="fill_value 300 does not fit"):
        program.module()(x, torch.tensor(300))


def test_gradients_pass_the_check():
    def loss(x, value):
        return (gs.gather(x, BEYOND, axis=0, bounds="fill", fill_value=value) * torch.arange(2, 4)).sum()

    x, value = torch.zeros(6), torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for function in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        (gradient,) = torch.autograd.grad(function(x, value), value)
        assert gradient == 3 and gradient.dtype == torch.float64
    assert torch.func.grad(loss, 1)(x, value.detach()) == 3
    batch = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert torch.func.vmap(loss, (None, 0))(x, batch).tolist() == [3, 6]
    primal, tangent = torch.func.jvp(
        lambda value: loss(x, value), (value.detach(),), (torch.ones_like(value.detach()),)
    )
    assert (primal, tangent) == (6, 3)
    with pytest.raises(ValueError, match=r"fill_value .*e\+300.* does not fit dtype torch.float32"):
        loss(x, torch.tensor(1e300, dtype=torch.float64, requires_grad=True))


def test_torchs_own_checks_of_the_operator():
    pytest.importorskip("gatherscatter.torch")
    value = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.gatherscatter.fit.default, (value, torch.float32, "gather", "fill_value"))
