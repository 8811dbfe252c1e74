"""test_torch_compile.py: the operators in graphs: torch.compile, torch.export, make_fx, torch's own checks."""

from __future__ import annotations

import numpy as np
import pytest

import child_process
import gatherscatter as gs
import torch_calls

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch._dynamo", reason="this torch cannot compile")
gs_torch = pytest.importorskip("gatherscatter.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about parts of itself

SAMPLES = [
    *torch_calls.gathers(torch),
    *(call for words in ((None, True), ("add", True), ("max", False)) for call in torch_calls.scatters(torch, *words)),
    *torch_calls.writes(torch),
]
# One call for each form of an operator and each reduction; `place` and `compress` list positions by NumPy.
COMPILED = [
    call
    for call in SAMPLES
    if call.name
    in (
        *(
            "gather dim",
            "gather slices fill",
            "gather slices with a batch",
            "gather_nd slices",
            "take flat",
            "a list as index",
            "gather one row by number",
        ),
        *("take_along_axis broadcast", "tile_gather with padding", "gather with a fill value", "mindspore dim"),
        *("scatter dim, None", "scatter slices, add", "scatter_nd, max without self", "scatter slices, one row, None"),
        *("put", "put_along_axis", "putmask", "tile_scatter"),
    )
]


def compare(function, call, **options):
    """A compiled function against the function, forward and backward. Inductor has a sine that rounds differently."""
    close = options.get("backend", "inductor") == "inductor"
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, **options)
    for _ in range(2):
        tensors = torch_calls.values(torch, call, torch.float32)
        expected, result = function(*tensors), compiled(*tensors)
        assert torch.allclose(result, expected) if close else torch.equal(result, expected)
        weights = torch.linspace(1, 2, expected.numel()).reshape(expected.shape)
        pairs = zip(
            torch.autograd.grad(result, tensors, weights), torch.autograd.grad(expected, tensors, weights), strict=True
        )
        assert all(torch.allclose(own, other) if close else torch.equal(own, other) for own, other in pairs)


@pytest.mark.parametrize("name", ["place", "repeat", "compress"])
def test_graphs_break_where_sizes_depend_on_values(name):
    functions = {
        "place": lambda x, which: (gs.place(x, which, torch.tensor([5.0, 6.0])), x + 1)[1],
        "repeat": lambda x, which: gs.repeat(x.sin(), which.to(torch.int64)) + 1,
        "compress": lambda x, which: gs.compress(which, x.sin()) + 1,
    }
    which = torch.tensor([True, False, True])
    torch._dynamo.reset()
    compiled = torch.compile(functions[name], backend="aot_eager")
    expected, result = (call(torch.arange(3.0), which) for call in (functions[name], compiled))
    assert torch.equal(result, expected)


def test_every_chosen_call_exists():
    assert len(COMPILED) == 19


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("call", COMPILED, ids=lambda call: call.name)
def test_compiled_without_a_break(call, dynamic):
    compare(call.function, call, backend="aot_eager", dynamic=dynamic)


# Every form with every rule and reduction. Those that list positions on the host break graphs, which is tested above.
REDUCTIONS = [(reduce, own) for reduce in ("add", "mul", "min", "max", "mean") for own in (True, False)]
MODES = [
    call
    for call in [
        *torch_calls.gathers(torch),
        *torch_calls.scatters(torch, None, True),
        *(call for words in REDUCTIONS for call in torch_calls.scatters(torch, *words)),
        *torch_calls.writes(torch),
        torch_calls.TorchCall("roll along two axes", lambda a: gs.roll(a, (1, -2), axis=(0, 1)), ((4, 5),)),
    ]
    if not call.name.startswith(("place", "compress", "repeat"))
]


@pytest.mark.every_sample
@pytest.mark.parametrize("call", MODES, ids=lambda call: call.name)
def test_every_mode_compiled_without_a_break(call):
    compare(call.function, call, backend="aot_eager", dynamic=False)


@pytest.mark.every_sample
@pytest.mark.parametrize("call", COMPILED, ids=lambda call: call.name)
def test_every_operator_compiled_by_inductor(call):
    compare(call.function, call)


def test_one_graph_serves_larger_tensors():
    testing = pytest.importorskip("torch._dynamo.testing")

    def function(x, i):
        return gs.scatter(gs.gather(x, i, axis=0).sin(), i % 3, x[: len(i)], reduce="add")

    torch._dynamo.reset()
    counter = testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=counter)
    for rows, columns, points in ((5, 3, 4), (9, 7, 6), (50, 40, 30)):  # equal extents would be one symbol
        x = torch.rand(rows, columns, requires_grad=True)
        i = torch.randint(0, rows, (points,))
        expected, result = function(x, i), compiled(x, i)
        assert torch.equal(result, expected)
        gradients = (torch.autograd.grad(value.sum(), x)[0] for value in (result, expected))
        assert torch.equal(*gradients)
    assert counter.frame_count == 1


@pytest.mark.parametrize("dynamic", [None, True])
def test_one_graph_serves_every_row_by_number(dynamic):
    """A number that differs from call to call is a symbol of the graph."""
    testing = pytest.importorskip("torch._dynamo.testing")
    torch._dynamo.reset()
    counter = testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x, k: gs.gather(x, k, axis=0) * 2, fullgraph=True, dynamic=dynamic, backend=counter)
    x = torch.rand(5, 3, requires_grad=True)
    for k in (2, 3, 4):
        result = compiled(x, k)
        assert torch.equal(result, x[k] * 2)
        (gradient,) = torch.autograd.grad(result.sum(), x)
        assert gradient.sum(1).tolist() == [6 * (row == k) for row in range(5)]
    with pytest.raises(gs.OutOfBoundsError, match="index 5 is out of bounds for axis 0 with size 5"):
        compiled(x, 5)
    assert counter.frame_count == (1 if dynamic else 2)


@pytest.mark.long
@pytest.mark.parametrize("reduce", [None, "max"])
def test_compiled_by_inductor(reduce):
    index = torch.tensor([2, 0, 2])

    def function(x, s):
        return gs.gather(gs.scatter(x * 2, index, s, reduce=reduce), index, axis=1).sin()

    compare(function, torch_calls.TorchCall("", function, ((4, 3), (3, 3))), backend="inductor")


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.every_sample)])
def test_a_bad_index_raises_the_same_error(backend):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, i: gs.take(x, i) * 2, fullgraph=True, backend=backend)
    assert compiled(torch.arange(4.0), torch.tensor([3, 1])).tolist() == [6, 2]
    with pytest.raises(gs.OutOfBoundsError, match="index 9 is out of bounds for axis 0 with size 4") as caught:
        compiled(torch.arange(4.0), torch.tensor([3, 9]))
    assert caught.value.position == (1,)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_records_the_operators(mode):
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx

    def function(x, i):
        return gs.scatter(gs.take(x, i, axis=0), i, 1.5, reduce="add")

    x, i = torch.randn(3, 4), torch.tensor([2, 0, 2])
    graph = make_fx(function, tracing_mode=mode)(x, i)
    targets = {node.target for node in graph.graph.nodes if node.op == "call_function"}
    assert {torch.ops.gatherscatter.gather.default, torch.ops.gatherscatter.scatter.default} <= targets
    other = torch.randn(3, 4)
    assert torch.equal(graph(other, i.flip(0)), function(other, i.flip(0)))


def test_export():
    class Model(torch.nn.Module):
        def forward(self, x, i):
            return gs.gather(x, i, axis=0, bounds="fill", fill_value=2.5)

    x, i = torch.randn(3, 4), torch.tensor([2, 7, 2])
    program = torch.export.export(Model(), (x, i), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}, "i": None})
    larger = torch.randn(9, 4)
    assert torch.equal(program.module()(larger, i), gs.gather(larger, i, axis=0, bounds="fill", fill_value=2.5))


@pytest.mark.parametrize("reduce", [None, "add", "max"])
def test_export_of_a_scatter(reduce):
    class Model(torch.nn.Module):
        def forward(self, x, i, s):
            return gs.scatter(x, i, s, reduce=reduce, bounds="drop")

    n, points = torch.export.Dim("n", min=2), torch.export.Dim("points", min=2)
    program = torch.export.export(
        Model(),
        (torch.randn(3, 4), torch.tensor([2, 7, 2, 0, 1]), torch.randn(5, 4)),
        dynamic_shapes={"x": {0: n}, "i": {0: points}, "s": {0: points}},
    )
    x, i, s = torch.randn(9, 4), torch.tensor([8, 7, 20, 7]), torch.randn(4, 4)
    assert torch.equal(program.module()(x, i, s), gs.scatter(x, i, s, reduce=reduce, bounds="drop"))
    with pytest.raises((AssertionError, RuntimeError)):  # torch's guard: a source of other rows than the index
        program.module()(x, i, s[:3])


INDEX, MASK = torch.tensor([2, 0, 2]), torch.tensor([True, False, True])
MOVES = {
    "take_axis": ("take", "take_axis", 0, 0, "prefix", "fill", "from_end"),
    "flat": ("take", "take_axis", None, 0, "prefix", "raise", "from_end"),
    "along_axis": ("gather", "along_axis", 0, 0, "prefix", "raise", "from_end"),
    "at_points": ("tile_gather", "at_points", None, 0, "prefix", "fill", "out_of_bounds"),
    "coordinates": ("gather_nd", "coordinates", None, 0, "prefix", "raise", "from_end"),
}
INDICES = {
    "take_axis": [INDEX],
    "flat": [INDEX],
    "along_axis": [INDEX[:, None]],
    "at_points": [INDEX, INDEX],
    "coordinates": [INDEX[:, None]],
}


@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_torchs_own_checks_of_the_operators(kind, requires_grad):
    ops, move, indices = torch.ops.gatherscatter, MOVES[kind], INDICES[kind]
    x = torch.randn(4, 3, requires_grad=requires_grad)
    mask = MASK[:, None] if kind == "along_axis" else MASK
    fill = torch.tensor(2.0, requires_grad=requires_grad)
    torch.library.opcheck(ops.gather.default, (x, indices, mask, fill, *move))
    values = ops.gather(x, indices, None, None, *move).detach().requires_grad_(requires_grad)
    torch.library.opcheck(ops.accumulate.default, (values, indices, mask, [4, 3], *move))
    for combine in ((None, True, "last"), ("add", True, "last"), ("mean", False, "last"), ("max", True, "last")):
        torch.library.opcheck(ops.scatter.default, (x, indices, values, mask, *move, *combine))


def test_the_module_has_the_operators_by_name():
    for name in {*gs_torch.__all__} - {"Embedding"}:
        assert getattr(gs_torch, name) is getattr(gs, name)


def test_gatherscatter_alone_does_not_import_torch():
    assert child_process.run("import sys, gatherscatter; print('torch' in sys.modules)").strip() == "False"


def test_vmap_of_a_graph():
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx

    function = torch.func.vmap(torch.func.grad(lambda x, i: (gs.take(x, i) ** 2).sum()))
    x, i = torch.randn(2, 5), torch.from_numpy(np.array([[0, 0, 4], [1, 2, -1]]))
    assert torch.equal(make_fx(function)(x, i)(x, i), function(x, i))


def test_a_graph_of_gradients_leaves_no_trace():
    """Later calls once met the zero of the graph, which has no value."""
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    moves = pytest.importorskip("gatherscatter._torch.moves")
    moves._zero.cache_clear()
    x, i = torch.randn(5), torch.tensor([0, 0, 4])
    make_fx(torch.func.grad(lambda x, i: gs.take(x, i).sum()), tracing_mode="fake")(x, i)
    leaf = x.clone().requires_grad_()
    gs.take(leaf, i).sum().backward()
    assert leaf.grad.tolist() == [2, 0, 0, 0, 1]


TRANSFORMED = {
    "grad": lambda x, i: torch.func.grad(lambda x: (gs.take(x, i, axis=0) ** 2).sum())(x),
    "grad of a maximum": lambda x, i: torch.func.grad(lambda x: gs.scatter(x * x, i, x[:3], reduce="max").sum())(x),
    "vjp": lambda x, i: torch.func.vjp(lambda x: gs.gather(x, 0, i[:, None]), x)[1](x[:3, :1])[0],
    "jvp": lambda x, i: torch.func.jvp(lambda x: gs.scatter(x, i, x[:3] * 2, reduce="add"), (x,), (x,))[1],
    "vmap of grad": lambda x, i: torch.func.vmap(torch.func.grad(lambda x: (gs.take(x, i % 3) ** 2).sum()))(x),
    "hessian": lambda x, i: torch.func.hessian(lambda x: (gs.take(x, i, axis=0) ** 3).sum())(x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_inside_a_compiled_function(name):
    torch._dynamo.reset()
    function = TRANSFORMED[name]
    x, i = torch.randn(5, 3), torch.tensor([2, 0, -1])
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, i), function(x, i))


LINE, PAIR = torch.zeros(4), torch.tensor([0, 1])
WRONG = {
    "axis": lambda x, i: gs.gather(x, -2, i),
    "axis of slices": lambda x, i: gs.take(x, i, axis=3),
    "rank": lambda x, i: gs.gather(x, 0, i[None]),
    "dtype of the index": lambda x, i: gs.gather(x, 0, i.to(x.dtype)),
    "mask": lambda x, i: gs.gather(x, 0, i, mask=x > 0),
    "coordinates": lambda x, i: gs.gather_nd(x, i),
    "axis of a scatter": lambda x, i: gs.scatter(x, 1, i, x),
    "source": lambda x, i: gs.scatter(x, i, x[:3]),
    "fill value": lambda x, i: gs.gather(x, i, axis=0, bounds="fill", fill_value=x),
    "reduction": lambda x, i: gs.scatter(x.to(torch.complex64), 0, i, x.to(torch.complex64), reduce="max"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_without_values_get_the_errors_of_shapes(name):
    modes = pytest.importorskip("torch._subclasses.fake_tensor")
    function = WRONG[name]
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        function(LINE, PAIR)
    with pytest.raises(expected.type):
        function(LINE.to("meta"), PAIR.to("meta"))
    mode = modes.FakeTensorMode()
    with pytest.raises(expected.type), mode:
        function(mode.from_tensor(LINE), mode.from_tensor(PAIR))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.complex32, torch.bool, torch.float8_e5m2])
def test_tensors_without_values_of_every_kind_have_a_shape(dtype):
    x = torch.zeros(4, 3, dtype=dtype, device="meta")
    assert gs.take(x, PAIR.to("meta"), axis=0).shape == (2, 3)
    assert gs.scatter(x, PAIR.to("meta"), x[:2]).shape == (4, 3)
