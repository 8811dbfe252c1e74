"""test_torch_no_table.py: torch without an exchange table of DLPack that we know: the same results, by `__dlpack__`."""

import json

import numpy as np
import pytest

import child_process

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.skipif(
    not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"),
    reason="this torch has no exchange table, so that every test runs without one",
)

# The table is looked for when a call first meets a tensor, so each answer comes from a fork that changes it before.
CALLS = """
import ctypes, json, os
import torch

torch.set_num_threads(1)  # torch's threads do not exist after a fork

class Header(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p)]

def capsule_of(header):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(header), b"dlpack_exchange_api", None)

def address_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"dlpack_exchange_api")

def answers():
    import gatherscatter as gs
    from gatherscatter._libraries import of_torch

    asked = []
    by_dlpack = of_torch.import_dlpack
    of_torch.import_dlpack = lambda tensor: asked.append(tensor) or by_dlpack(tensor)

    x, i, m = torch.arange(12.0).reshape(3, 4), torch.tensor([2, 0, -1]), torch.tensor([True, False, True])
    table, n = torch.nn.Parameter(x.clone()), torch.arange(1 << 18)

    def gradient():
        gs.take(table, i, axis=0).square().sum().backward()
        return table.grad

    def written(write, target):
        write(target)
        return target

    def same(target):
        assert gs.gather(x, i, axis=0, out=target) is target
        return target

    calls = {
        "take": lambda: gs.take(x, i, axis=0),
        "gather": lambda: gs.gather(x, 1, torch.tensor([[3], [0], [1]])),
        "gather_nd": lambda: gs.gather_nd(x, torch.tensor([[0, 1], [2, 3]])),
        "fill": lambda: gs.gather(x, torch.tensor([1, 9]), axis=0, bounds="fill", fill_value=torch.tensor(2.5)),
        "mask": lambda: gs.gather(x, i, axis=0, mask=m),
        "scatter": lambda: gs.scatter(x, i, x * 2, reduce="add"),
        "put": lambda: written(lambda target: gs.put(target, [1, 5], -1.0), x.clone()),
        "out": lambda: same(torch.zeros(3, 4)),
        "plan": lambda: gs.plan(gs.take, x, i, axis=0)(x, i),
        "gradient": gradient,
        "transposed": lambda: gs.take(x.T, i, axis=1),
        "bfloat16": lambda: gs.take(x.bfloat16(), i, axis=0).float(),
        "conjugate": lambda: torch.view_as_real(gs.take((x * 1j).conj(), i, axis=0)),
        "large": lambda: gs.take(n, n.flip(0))[:3],
        "empty": lambda: gs.take(x, n[:0], axis=0),
        "bad index": lambda: gs.take(x, torch.tensor([7]), axis=0),
        "other dtype": lambda: gs.scatter(x, i, x.int()),
        "out with a gradient": lambda: gs.take(table, i, axis=0, out=torch.zeros(3, 4)),
        "short storage": lambda: gs.take(written(lambda t: t.untyped_storage().resize_(8), x.clone()), i, axis=0),
    }
    found = {}
    for name, call in calls.items():
        try:
            result = call()
            found[name] = [str(result.dtype), type(result).__name__, result.tolist()]
        except Exception as error:
            # Behind a semicolon stands the next step, in the words of the library, which is unknown without the table.
            found[name] = ["error", type(error).__name__, str(error).partition(";")[0]]
    return found, len(asked)

known = torch.Tensor.__dlpack_c_exchange_api__
newer, unknown = Header(2, 0, address_of(known)), Header(2, 0, None)
for table in (known, capsule_of(newer), capsule_of(unknown), None):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if table is None:
            del torch.Tensor.__dlpack_c_exchange_api__
        else:
            torch.Tensor.__dlpack_c_exchange_api__ = table
        os.write(writer, json.dumps(answers()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        print(pipe.read().decode() or '"crashed"')
    os.waitpid(child, 0)
"""


def test_results_and_errors_do_not_depend_on_the_table():
    printed = child_process.run(CALLS).splitlines()
    (expected, asked), *others = map(json.loads, printed)
    assert asked == 0
    x, i = np.arange(12.0).reshape(3, 4), np.array([2, 0, -1])
    slopes = np.zeros((3, 4))
    np.add.at(slopes, i, 2 * x[i])
    assert expected["take"] == ["torch.float32", "Tensor", x[i].tolist()]
    assert expected["gradient"] == ["torch.float32", "Tensor", slopes.tolist()]
    assert expected["large"] == ["torch.int64", "Tensor", [(1 << 18) - 1 - k for k in range(3)]]
    errors = {name: said[1] for name, said in expected.items() if said[0] == "error"}
    assert errors == {
        "bad index": "OutOfBoundsError",
        "other dtype": "TypeError",
        "out with a gradient": "RuntimeError",
        "short storage": "BufferError",
    }
    assert [found for found, _ in others] == [expected] * 3
    (_, of_newer), (_, of_unknown), (_, of_none) = others
    assert of_newer == 0, "a newer table leads to the one that we know"
    assert of_unknown > 20 and of_none == of_unknown, "without one, tensors are asked by `__dlpack__`"
