"""test_notebooks.py: the notebooks in docs/notebooks run to their last cell, and are kept without outputs.

`.ci/run` leaves out that they run: the site runs them too.
"""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 120  # for each cell


def _is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is not installed
        return False


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="tests run outside the repository: no docs/ here")
def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_kept(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


@pytest.mark.filterwarnings("ignore")  # those of Jupyter; a cell that warns shows it
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path, tmp_path):
    """The metadata of a notebook list the modules that it needs: ``"gatherscatter": {"needs": [...]}``."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    book = nbformat.read(path, as_version=4)
    missing = [name for name in book.metadata["gatherscatter"]["needs"] if not _is_installed(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in book.cells if cell.cell_type == "code")
