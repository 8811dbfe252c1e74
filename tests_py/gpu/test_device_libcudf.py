"""test_device_libcudf.py: gs.compat.libcudf for tables on the emulated GPU; the host does not read their rows."""

import numpy as np
import pyarrow as pa
import pytest

from fake_cuda import played_gpu
from fake_cudf import OnGpu, on_host
from gatherscatter import _core, errors
from gatherscatter.compat import libcudf


@pytest.fixture(autouse=True, scope="module")
def gpu():
    with played_gpu():
        yield


def batch(rows, seed):
    random = np.random.default_rng(seed)
    text = ["", "a", "é", "a text of some more characters than that"]
    mask = random.random(rows) < 0.3
    return pa.record_batch(
        {
            "number": pa.array(random.integers(0, 99, rows), mask=mask),
            "text": pa.array([text[i] for i in random.integers(0, 4, rows)]),
            "list": pa.array([[int(v)] * int(v) for v in random.integers(0, 4, rows)], pa.list_(pa.int16())),
        }
    )


TARGET, SOURCE = batch(70, 0), batch(70, 1)
MAP = np.array([3, -1, 69, 3], np.int32)
MASK = pa.array([None, True, False, True, False] * 14)
NULLIFY = libcudf.out_of_bounds_policy.NULLIFY
CALLS = {
    "gather": lambda to: libcudf.gather(to(TARGET), MAP),
    "gather_nullify": lambda to: libcudf.gather(to(TARGET), [0, 70, -71], NULLIFY),
    "gather_nothing": lambda to: libcudf.gather(to(TARGET), MAP[:0]),
    "scatter": lambda to: libcudf.scatter(to(SOURCE), MAP, to(TARGET)),
    "scatter_from_host": lambda to: libcudf.scatter(SOURCE, MAP, to(TARGET)),
    "scatter_nothing": lambda to: libcudf.scatter(to(SOURCE), [], to(TARGET)),
    "scatter_scalars": lambda to: libcudf.scatter([7, None, [1]], indices=MAP, target=to(TARGET)),
    "mask_scatter": lambda to: libcudf.boolean_mask_scatter(to(SOURCE), to(TARGET), MASK),
    "mask_scatter_scalars": lambda to: libcudf.boolean_mask_scatter([None, "x", []], to(TARGET), MASK),
    "copy_if_else": lambda to: libcudf.copy_if_else(to(TARGET), to(SOURCE), MASK),
    "copy_if_else_scalars": lambda to: libcudf.copy_if_else(to(TARGET), [7, None, [1]], MASK),
    "copy_if_else_of_scalars": lambda to: libcudf.copy_if_else([None, "x", []], to(TARGET), MASK),
    "gather_no_negatives": lambda to: libcudf.gather(to(TARGET), [0, -1, 69, -70], NULLIFY, 1),
    "apply_deletion_mask": lambda to: libcudf.apply_deletion_mask(to(TARGET), MASK),
    "delete_from_a_cut": lambda to: libcudf.apply_deletion_mask(to(TARGET.slice(3, 63)), MASK.slice(5, 63)),
    "apply_boolean_mask": lambda to: libcudf.apply_boolean_mask(to(TARGET), MASK),
    "apply_to_nothing": lambda to: libcudf.apply_boolean_mask(to(TARGET.slice(0, 0)), [True]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_rows_of_the_host(call):
    before = _core.kernel_takes()
    result = call(OnGpu)
    assert _core.kernel_takes() > before
    assert result.device == 0
    assert on_host(result).to_pylist() == call(lambda table: table).to_pylist()


BAD_CALLS = [
    lambda to: libcudf.gather(to(TARGET), [0, 70]),
    lambda to: libcudf.gather(to(TARGET), [0.5]),
    lambda to: libcudf.scatter(to(SOURCE), [0, -71], to(TARGET)),
    lambda to: libcudf.apply_boolean_mask(to(TARGET), [True]),
    lambda to: libcudf.copy_if_else(to(TARGET), to(SOURCE), [1] * 70),
    lambda to: libcudf.apply_deletion_mask(to(TARGET), [True]),
    lambda to: libcudf.copy_if_else(to(TARGET), ["x", 1, []], [True] * 70),
]


@pytest.mark.parametrize("call", BAD_CALLS)
def test_the_errors_of_the_host(call):
    with pytest.raises(Exception) as on_cpu:
        call(lambda table: table)
    with pytest.raises(type(on_cpu.value)) as there:
        call(OnGpu)
    assert str(there.value) == str(on_cpu.value)


def selections(device):
    """A selection of each kind for a table of two rows, with the number of tables that it takes rows from."""
    of = _core.Selection
    two = np.array([0, 1])
    yield of.gather("op", two, None, (2,), "raise", "from_end", device), 1
    yield of.scatter("op", two, None, (2,), (2,), False, "raise", "from_end", device), 2
    yield of.mask_scatter("op", two == 0, None, (2,), (2,), False, device), 2
    yield of.filter("op", two == 0, None, (2,), device), 1
    yield of.choose("op", two == 0, None, (2,), (2,), device), 2


@pytest.mark.parametrize("made_for", [-1, 0, 1])
def test_a_selection_is_for_tables_of_one_place(made_for):
    host = pa.record_batch({"a": [1, 2]})
    tables = {-1: host, 0: OnGpu(host), 1: OnGpu(host, number=1)}
    names = {-1: "in host memory", 0: "on GPU 0", 1: "on GPU 1"}
    for device, source in tables.items():
        for selection, count in selections(made_for):
            table = _core.ArrowTable(source)
            other = table if count == 2 else None
            if device == made_for:
                assert table.take(selection, other).device == device
                continue
            problem = f"op: the selection was made for a table {names[made_for]}, this one lies {names[device]}"
            with pytest.raises(errors.InvalidArgument, match=problem):
                table.take(selection, other)


def test_a_selection_needs_a_device():
    with pytest.raises(TypeError):
        _core.Selection.gather("op", np.array([0]), None, (1,), "raise", "from_end")
    with pytest.raises(TypeError):
        _core.Selection.filter("op", np.array([True]), None, (1,))
