"""test_onnx.py: the node tests of the ONNX standard, as its own package generates them, run on our functions."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

# The modules that generate the cases of each operator; importing one adds its cases to the list in their package.
PACKAGE = "onnx.backend.test.case.node"
MODULES = ("compress", "gather", "gatherelements", "gathernd", "scatter", "scatterelements", "scatternd")

# How many cases onnx 1.23 has; a release with fewer would make this file say less than it seems to.
FEWEST = {
    "Compress": 5,
    "Gather": 4,
    "GatherElements": 3,
    "GatherND": 3,
    "Scatter": 2,
    "ScatterElements": 7,
    "ScatterND": 7,
}


def cases() -> list[tuple[str, str, dict[str, Any], list[np.ndarray], np.ndarray]]:
    """(name, operator, attributes, inputs, output) of every case of one node."""
    for module in MODULES:
        importlib.import_module(f"{PACKAGE}.{module}")
    found = []
    for case in importlib.import_module(PACKAGE)._NodeTestCases:
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in FEWEST:
            continue
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in nodes[0].attribute}
        for inputs, outputs in case.data_sets:
            found.append((case.name, nodes[0].op_type, attributes, inputs, outputs[0]))
    return found


CASES = cases()


def reduction(attributes: dict[str, Any]) -> str | None:
    name = attributes.get("reduction", b"none").decode()
    return None if name == "none" else name


def run(operator: str, attributes: dict[str, Any], inputs: list[Any], out: Any = None) -> Any:
    """The node as one call of ours; ONNX's axis is 0 by default, and Compress without one flattens."""
    axis = attributes.get("axis", 0)
    used = {"axis", "reduction", "batch_dims"}
    assert attributes.keys() <= used, f"attributes that nothing maps: {attributes.keys() - used}"
    match operator:
        case "Gather":
            return gs.take(*inputs, axis=axis, out=out)
        case "GatherElements":
            return gs.gather(inputs[0], axis, inputs[1], out=out)
        case "GatherND":
            return gs.gather_nd(*inputs, attributes.get("batch_dims", 0), out=out)
        case "Scatter" | "ScatterElements":  # the second is the new name of the first
            return gs.scatter(inputs[0], axis, *inputs[1:], reduce=reduction(attributes), out=out)
        case "ScatterND":
            return gs.scatter_nd(*inputs, reduce=reduction(attributes), out=out)
        case "Compress":
            return gs.compress(inputs[1], inputs[0], attributes.get("axis"), out)
    raise AssertionError(f"no call for {operator}")


def assert_same(result: Any, output: np.ndarray) -> None:
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (output.dtype, output.shape)
    assert result.tobytes() == output.tobytes()


def test_there_are_enough_cases():
    counts = Counter(operator for _, operator, *_ in CASES)
    assert {operator: counts[operator] >= fewest for operator, fewest in FEWEST.items()} == dict.fromkeys(FEWEST, True)


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "output"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_node(operator, attributes, inputs, output):
    before = [array.tobytes() for array in inputs]
    assert_same(run(operator, attributes, inputs), output)
    assert [array.tobytes() for array in inputs] == before


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "output"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_node_into_out(operator, attributes, inputs, output):
    """A gather into memory of its own, a scatter in place."""
    if operator.startswith("Scatter"):
        out = inputs[0].copy()
        result = run(operator, attributes, [out, *inputs[1:]], out)
    else:
        out = np.full_like(output, 99)
        result = run(operator, attributes, inputs, out)
    assert result is out
    assert_same(out, output)
