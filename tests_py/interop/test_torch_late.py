"""test_torch_late.py: what needs torch is there without an import, whichever package was imported first."""

from __future__ import annotations

import pytest

import child_process
import gatherscatter as gs

COMPILED = """
function = torch.compile(lambda x, i: gs.take(x, i, axis=0), fullgraph=True, backend="aot_eager")
print(function(torch.arange(4.0), torch.tensor([2, 0])).tolist())
"""
ORDERS = {
    "torch first": "import torch\nimport gatherscatter as gs",
    "gatherscatter first": "import gatherscatter as gs\nimport torch",
    "Dynamo first": "import torch._dynamo\nimport gatherscatter as gs\nimport torch",
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_compiled_function_needs_no_import(order):
    pytest.importorskip("torch._dynamo", reason="this torch cannot compile")
    assert child_process.run(ORDERS[order] + COMPILED).strip() == "[2.0, 0.0]"


def test_a_saved_program_needs_no_import_but_that_of_the_package(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Model(torch.nn.Module):
        def forward(self, x, i):
            return gs.take(x, i, axis=0)

    program = torch.export.export(Model(), (torch.arange(4.0), torch.tensor([2, 0])))
    torch.export.save(program, tmp_path / "program.pt2")
    load = f"torch.export.load({str(tmp_path / 'program.pt2')!r})"
    code = f"""
import torch, gatherscatter
print({load}.module()(torch.arange(4.0), torch.tensor([2, 0])).tolist())
"""
    assert child_process.run(code).strip() == "[2.0, 0.0]"


def test_the_modules_are_attributes():
    assert gs.jax.gather is gs.gather
    assert "torch" in dir(gs)
    torch = pytest.importorskip("gatherscatter.torch", reason="torch is not installed")
    assert gs.torch is torch
    code = """
import inspect, sys, gatherscatter as gs
late = gs.torch
print(inspect.ismodule(late), hasattr(late, "__path__"), "torch" in sys.modules)
print("Embedding" in dir(late), late.gather is gs.gather, gs.torch is sys.modules["gatherscatter.torch"])
from gatherscatter import torch
print(torch is gs.torch)
"""
    assert child_process.run(code).split() == ["True", "False", "False", "True", "True", "True", "True"]


def test_without_torch_the_attribute_says_what_to_install():
    code = """
import sys
sys.modules["torch"] = None
import gatherscatter as gs
for _ in range(2):
    try:
        gs.torch.Embedding
    except ModuleNotFoundError as error:
        print(error)
"""
    assert child_process.run(code).splitlines() == ["gatherscatter.torch needs torch: pip install torch"] * 2


def test_a_failed_import_is_waited_for_again(tmp_path):
    (tmp_path / "waited_for.py").write_text("import sys\nif not sys.argv: raise ImportError\n", encoding="utf-8")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from gatherscatter._settings.late_modules import when_imported
count = len(sys.meta_path)
when_imported("waited_for", lambda: print("imported", sys.modules["waited_for"].__spec__.loader.name))
kept, sys.argv = sys.argv, []
try:
    import waited_for
except ImportError:
    print("failed")
sys.argv = kept
import waited_for
print(len(sys.meta_path) == count, "exec_module" in vars(waited_for.__spec__.loader))
when_imported("waited_for", lambda: print("at once"))
when_imported("waited_for", lambda: 1 / 0)
"""
    lines = ["failed", "imported waited_for", "True False", "at once"]
    assert child_process.run(code).splitlines() == lines
