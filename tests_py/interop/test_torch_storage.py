"""test_torch_storage.py: tensors whose storage is too short for them are rejected in all arguments before a read."""

import json
import re

import numpy as np
import pytest

import child_process
import gatherscatter as gs
from gatherscatter._libraries import of_torch

torch = pytest.importorskip("torch", reason="torch is not installed")

# Each call runs in a fork, which a read of such a tensor would end. Prints {name: [type of the error, its text]}.
CALLS = """
import json, os, sys
import numpy as np
import torch
import gatherscatter as gs

torch.set_num_threads(1)  # torch's threads do not exist after a fork

def cut(tensor, keep=8):
    tensor.untyped_storage().resize_(keep)
    return tensor

def ints(n): return cut(torch.arange(n))
def floats(n): return cut(torch.arange(float(n)))
def truths(n): return cut(torch.ones(n, dtype=torch.bool))
def number(n, dtype=torch.float32): return cut(torch.ones(n, dtype=dtype)[n - 1])

def calls(n):
    x, i, m = torch.arange(float(n)), torch.arange(n), torch.ones(n, dtype=torch.bool)
    a, numbers = np.arange(float(n), dtype=np.float32), np.arange(n)
    far = number(1 << 22), number(1 << 22, torch.int64)
    rows, along = gs.plan(gs.take, x, i), gs.plan(gs.gather, x, 0, i)
    write = gs.plan(gs.scatter, x, 0, i, x)
    return {
        "take input": lambda: gs.take(floats(n), i),
        "take numpy index": lambda: gs.take(floats(n), numbers),
        "take index": lambda: gs.take(x, ints(n)),
        "take index of numpy": lambda: gs.take(a, ints(n)),
        "take out": lambda: gs.take(x, i, out=floats(n)),
        "take rows": lambda: gs.take(cut(torch.zeros(n, 4)), i, axis=0),
        "take mask": lambda: gs.take(a, numbers, mask=truths(n)),
        "take clip": lambda: gs.take(a, ints(n), mode="clip"),
        "take_along_axis": lambda: gs.take_along_axis(floats(n), i, 0),
        "take_along_axis index": lambda: gs.take_along_axis(a, ints(n), 0),
        "compress": lambda: gs.compress(m, floats(n)),
        "compress condition": lambda: gs.compress(truths(n), a),
        "gather": lambda: gs.gather(floats(n), 0, i),
        "gather index": lambda: gs.gather(x, 0, ints(n)),
        "gather int8 index": lambda: gs.gather(x, 0, cut(torch.zeros(n, dtype=torch.int8))),
        "gather mask": lambda: gs.gather(x, 0, i, mask=truths(n)),
        "gather fill": lambda: gs.gather(x, 0, i, bounds="fill", fill_value=far[0]),
        "gather fill of numpy": lambda: gs.gather(a, 0, numbers, bounds="fill", fill_value=far[0]),
        "gather fills": lambda: gs.gather(x, 0, i, bounds="fill", fill_value=floats(n)),
        "gather axis": lambda: gs.gather(x, i, axis=far[1]),
        "gather out": lambda: gs.gather(x, 0, i, out=floats(n)),
        "gather bfloat16": lambda: gs.gather(cut(torch.zeros(n, dtype=torch.bfloat16)), 0, i),
        "gather complex": lambda: gs.gather(cut(torch.zeros(n, dtype=torch.complex64)), 0, i),
        "gather parameter": lambda: gs.gather(torch.nn.Parameter(floats(n), requires_grad=False), 0, i),
        "gather_nd": lambda: gs.gather_nd(floats(n), i[:, None]),
        "gather_nd index": lambda: gs.gather_nd(x, cut(torch.zeros(n, 1, dtype=torch.int64))),
        "tile_gather": lambda: gs.tile_gather(floats(n), i),
        "tile_gather index": lambda: gs.tile_gather(x, ints(n)),
        "tile_gather mask": lambda: gs.tile_gather(x, i, mask=truths(n)),
        "tile_gather padding": lambda: gs.tile_gather(x, i, padding_value=floats(n)),
        "tile_gather padding cast": lambda: gs.tile_gather(x.double(), i, padding_value=floats(n)),
        "tile_gather padding of numpy": lambda: gs.tile_gather(a, numbers, padding_value=floats(n)),
        "tile_scatter": lambda: gs.tile_scatter(floats(n), i, x),
        "tile_scatter value": lambda: gs.tile_scatter(x, i, floats(n)),
        "tile_scatter value cast": lambda: gs.tile_scatter(x.double(), i, floats(n)),
        "scatter": lambda: gs.scatter(floats(n), 0, i, x),
        "scatter index": lambda: gs.scatter(x, 0, ints(n), x),
        "scatter src": lambda: gs.scatter(x, 0, i, floats(n)),
        "scatter src number": lambda: gs.scatter(x, 0, i, far[0]),
        "scatter src number of numpy": lambda: gs.scatter(a, 0, numbers, far[0]),
        "scatter src list": lambda: gs.scatter(x, 0, i[:1], [far[0]]),
        "scatter src list of numpy": lambda: gs.scatter(a, 0, numbers[:1], [far[0]]),
        "scatter mask": lambda: gs.scatter(x, 0, i, x, mask=truths(n)),
        "scatter out": lambda: gs.scatter(x, 0, i, x, out=floats(n)),
        "scatter add": lambda: gs.scatter(floats(n), 0, i, x, reduce="add"),
        "scatter_nd updates": lambda: gs.scatter_nd(x, i[:, None], floats(n)),
        "put": lambda: gs.put(floats(n), i, x),
        "put index": lambda: gs.put(a, ints(n), a),
        "put values": lambda: gs.put(a, numbers, floats(n)),
        "put mask": lambda: gs.put(a, numbers, a, mask=truths(n)),
        "put mask of masked": lambda: gs.put(np.ma.array(a, mask=a < 3, hard_mask=True), numbers, a, mask=truths(n)),
        "put_along_axis": lambda: gs.put_along_axis(floats(n), i, x, 0),
        "put_along_axis values": lambda: gs.put_along_axis(a, numbers, floats(n), 0),
        "putmask": lambda: gs.putmask(floats(n), m, x),
        "putmask mask": lambda: gs.putmask(a, truths(n), a),
        "putmask values": lambda: gs.putmask(a, a > 3, floats(n)),
        "place": lambda: gs.place(floats(n), m, x),
        "place mask": lambda: gs.place(a, truths(n), a),
        "place values": lambda: gs.place(a, a > 3, floats(n)),
        "plan input": lambda: rows(floats(n), i),
        "plan index": lambda: rows(x, ints(n)),
        "plan out": lambda: along(x, i, out=floats(n)),
        "plan of it": lambda: gs.plan(gs.take, floats(n), i),
        "plan scatter": lambda: write(floats(n), i, x),
        "plan scatter src": lambda: write(x, i, floats(n)),
        "plan.scatter": lambda: rows.scatter(floats(n), i, x),
        "plan.scatter out": lambda: rows.scatter(x, i, x, out=floats(n)),
        "pypto": lambda: gs.compat.pypto.gather(floats(n), 0, i),
        "mindspore": lambda: gs.compat.mindspore.gather(floats(n), 0, i),
    }

def attempt(call):
    try:
        return ["returned", repr(call())[:99]]
    except Exception as error:
        return [type(error).__name__, str(error)]

answers = {}
for n in (16, 1 << 21):
    for name, call in calls(n).items():
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, json.dumps(attempt(call)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        status = os.waitpid(child, 0)[1]
        answers[f"{name}, {n}"] = json.loads(text) if status == 0 else ["crashed", f"wait status {status}"]
print(json.dumps(answers))
"""


def test_no_operator_reads_beyond_a_storage():
    answers = json.loads(child_process.run(CALLS).splitlines()[-1])
    assert len(answers) > 100
    wrong = {name: said for name, said in answers.items() if said[0] != "BufferError" or "storage" not in said[1]}
    assert not wrong


def cut(tensor, keep):
    tensor.untyped_storage().resize_(keep)
    return tensor


def held(tensor, keep, view):
    """A view of a storage that is then cut to `keep` bytes."""
    seen = view(tensor)
    cut(tensor, keep)
    return seen


FITS = {
    "whole": (lambda t: t, 96),
    "head": (lambda t: t[:2], 16),
    "middle": (lambda t: t[3:5], 40),
    "strided": (lambda t: t[1::5], 96),
    "strided to its last item": (lambda t: t.as_strided((3,), (4,), 1), 80),
    "repeated": (lambda t: t[4].expand(5), 40),
    "transposed": (lambda t: t.view(3, 4)[:2].T, 64),
    "backwards": (lambda t: t.flip(0)[:12], 96),
    "nothing of it": (lambda t: t[8:8], 8),
    "no rows": (lambda t: t.as_strided((0, 5), (1000, 1)), 8),
}


@pytest.mark.parametrize("case", FITS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_elements_that_lie_in_the_storage_are_read(case, dtype):
    view, keep = FITS[case]
    expected = view(torch.arange(12, dtype=dtype)).clone()
    x = held(torch.arange(12, dtype=dtype), keep, view)
    index = torch.arange(x.shape[0])
    assert torch.equal(gs.take(x, index, axis=0), expected)
    assert torch.equal(gs.gather(x, index, axis=0, bounds="fill"), expected)
    if case in ("nothing of it", "no rows", "backwards"):
        return
    with pytest.raises(BufferError, match=f"storage of {keep - 1} bytes"):
        gs.take(held(torch.arange(12, dtype=dtype), keep - 1, view), index, axis=0)


def test_an_error_says_which_argument_and_how_far():
    x, short = torch.arange(16.0), cut(torch.arange(16), 8)
    with pytest.raises(BufferError, match=r"gather: index is a tensor that reaches byte 128 of a storage of 8 bytes"):
        gs.gather(x, 0, short)
    with pytest.raises(BufferError, match=r"gather: out is a tensor that reaches byte 64 of a storage of 4 bytes"):
        gs.gather(x, 0, torch.arange(16), out=cut(torch.zeros(16), 4))


def test_the_other_arguments_are_unchanged_after_the_error():
    out = torch.full((4,), 5.0)
    with pytest.raises(BufferError):
        gs.gather(torch.arange(4.0), 0, cut(torch.arange(4), 8), out=out)
    assert out.tolist() == [5] * 4
    target = np.zeros(4, np.float32)
    with pytest.raises(BufferError):
        gs.put(target, np.arange(4), cut(torch.arange(4.0), 8))
    assert not target.any()


# ---- torch modes, whose Python code runs inside of a query of a tensor

# Each attempt runs in a fork: a mode resizes a tensor to 0 bytes at one query; `slow` hides the C interface of tensors.
MODES = """
import json, os, sys
import torch
from torch.overrides import TorchFunctionMode
if {slow}:
    torch.Tensor._cdata = None
import gatherscatter as gs

torch.set_num_threads(1)

class Empties(TorchFunctionMode):
    def __init__(self, at, victim):
        super().__init__()
        self.at, self.victim, self.asked = at, victim, 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        answer = 0 if "_cdata" in str(getattr(function, "__self__", "")) else function(*args, **(kwargs or {{}}))
        self.asked += 1
        if self.asked == self.at:
            with torch._C.DisableTorchFunction():
                self.victim.untyped_storage().resize_(0)
        return answer

n = 1 << 20
def integers():
    return [torch.arange(n) for _ in range(3)], lambda x, i, out: gs.gather(x, 0, i, out=out)
def floats():
    return [torch.zeros(n), torch.arange(n), torch.ones(n)], lambda x, i, o: gs.scatter(x, 0, i, o)
def complexes():
    return [torch.zeros(n, dtype=torch.complex64), torch.arange(n)], lambda x, i: gs.take(x, i)
def put():
    return [torch.zeros(n), torch.arange(n), torch.ones(n)], lambda x, i, v: gs.put(x, i, v)

def some(count, dtype=torch.float32):  # of more memory, which the system takes back when it is freed
    return torch.zeros(n, dtype=dtype)[:count]

def points():
    i = some(64, torch.int64)[:, None]
    return [some(64).requires_grad_(), i], lambda x, i: gs.gather_nd(x, i)
def elements():
    return [some(64).requires_grad_(), some(1, torch.int64), some(1)], lambda x, i, s: gs.scatter(x, 0, i, s)
def rows():
    s = some(64).view(1, 64).requires_grad_()
    return [some(64).view(1, 64), some(1, torch.int64), s], lambda x, i, s: gs.scatter(x, i, s)
def taken():
    return [some(64).requires_grad_(), some(64, torch.int64)], lambda x, i: gs.take(x, i)

def attempt(make, place, at):
    given, call = make()
    mode = Empties(at, given[place])
    try:
        with mode:
            call(*given)
        return ["returned", mode.asked]
    except Exception as error:
        return [type(error).__name__, mode.asked]

answers = []
for make in (integers, floats, complexes, put, points, elements, rows, taken):
    for place in range(len(make()[0])):
        for at in range(1, 40):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(writer, json.dumps(attempt(make, place, at)).encode())
                os._exit(0)
            os.close(writer)
            with os.fdopen(reader, "rb") as pipe:
                text = pipe.read()
            status = os.waitpid(child, 0)[1]
            said = json.loads(text) if status == 0 else ["crashed", 0]
            answers.append([make.__name__, place, at, *said])
            if status == 0 and said[1] < at:  # the call has fewer queries
                break
print(json.dumps(answers))
"""


@pytest.mark.parametrize("slow", [False, True])
def test_no_torch_mode_runs_between_the_check_of_memory_and_its_use(slow):
    answers = json.loads(child_process.run(MODES.format(slow=slow)).splitlines()[-1])
    assert {answer[0] for answer in answers} == {
        *("integers", "floats", "complexes", "put"),
        *("points", "elements", "rows", "taken"),
    }
    assert not [answer for answer in answers if answer[3] not in ("returned", "BufferError", "TypeError")]


def test_results_of_a_torch_mode_are_not_cached():
    code = """
import torch
from torch.overrides import TorchFunctionMode
import gatherscatter as gs
import gatherscatter._libraries.of_torch as questions

class Lies(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if "_cdata" in str(getattr(function, "__self__", "")):
            return 0
        return function(*args, **(kwargs or {}))

with Lies():
    gs.take(torch.arange(3), torch.arange(3))
asked = []
for name in ("problem_of", "unnamed_dtype", "short_storage"):
    setattr(questions, name, lambda *_, name=name: asked.append(name))
gs.take(torch.arange(3), torch.arange(3))
gs.gather(torch.arange(9999), 0, torch.arange(9999))
print(asked)
"""
    assert child_process.run(code).strip() == "[]"


# ---- dtypes that DLPack cannot express


@pytest.mark.parametrize("name", [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)])
@pytest.mark.parametrize("count", [4, 100_000])
def test_integers_of_fewer_bits_are_refused_by_name(name, count):
    if not hasattr(torch, name):
        pytest.skip(f"this torch has no {name}")
    x = torch.zeros(count, dtype=torch.uint8).view(getattr(torch, name))
    index = torch.zeros(count, dtype=torch.int64)
    plain = torch.zeros(count, dtype=torch.uint8)
    for call in (
        lambda: gs.take(x, index),
        lambda: gs.gather(x, 0, index),
        lambda: gs.gather(plain, 0, x),
        lambda: gs.gather(plain, 0, index, out=x),
        lambda: gs.scatter(plain, 0, index, x),
        lambda: gs.take(np.zeros(count), x),
        lambda: gs.gather(x, 0, index, bounds="fill", fill_value=0),
        lambda: gs.plan(gs.take, x, index),
    ):
        with pytest.raises(TypeError, match=rf"torch\.{name}\b"):
            call()


def test_every_other_dtype_comes_back_as_it_is():
    kept, refused = set(), set()
    for dtype in {value for value in vars(torch).values() if isinstance(value, torch.dtype)}:
        try:
            x = torch.zeros(4 * dtype.itemsize, dtype=torch.uint8).view(dtype)
        except (RuntimeError, ValueError):  # quantised dtypes are not created in this way
            continue
        try:
            assert gs.take(x, torch.arange(4)).dtype is dtype
            kept.add(str(dtype))
        except TypeError:
            refused.add(str(dtype))
    assert {"torch.bool", "torch.uint8", "torch.int8", "torch.bfloat16", "torch.complex32"} < kept
    assert all(re.search(r"\.(u?int[1-7]|bits.*|qu?int.*|float4.*)$", name) for name in refused), refused


# ---- the fast check


@pytest.mark.filterwarnings("ignore")  # torch warns that some of them are deprecated
def test_the_fast_check_accepts_only_what_the_full_check_accepts():
    assert of_torch._core.is_plain(torch.arange(4.0)) and of_torch._core.is_plain(torch.zeros(2, 3).T)
    strange = [
        cut(torch.arange(4.0), 8),
        torch.ones(6).to_sparse(),
        torch.ones(6).to_mkldnn(),
        torch.ones(6, device="meta"),
        torch.quantize_per_tensor(torch.ones(6), 0.1, 0, torch.quint8),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        np.arange(3),
        3,
    ]
    seen = []
    torch.func.vmap(lambda x: seen.append(of_torch._core.is_plain(x)) or x)(torch.ones(3, 2))
    torch.func.grad(lambda x: seen.append(of_torch._core.is_plain(x)) or x.sum())(torch.ones(3))
    assert seen == [False, False]
    assert [of_torch._core.is_plain(x) for x in strange] == [False] * 6 + [True, False]


def test_a_plain_tensor_is_checked_without_python_calls(monkeypatch):
    def fail(*_):
        raise AssertionError("asked")

    x, i = torch.arange(100.0), torch.arange(100)
    for name in ("_has_storage", "short_storage"):
        monkeypatch.setattr(of_torch, name, fail)
    gs.put(x, i, 1.0)
    gs.gather(x, 0, i, bounds="fill", fill_value=2.5)
    gs.tile_gather(x, i, padding_value=2.5)
    assert gs.scatter(x, 0, i, 1.0).tolist() == [1] * 100
