"""The lesson runs from top to bottom: on the solutions, and kindly on the stubs."""

import os
import shutil

import nbformat
import pytest
from nbclient import NotebookClient

from grader.course import ROOT

pytestmark = [
    pytest.mark.notebooks,
    pytest.mark.filterwarnings("default"),  # of Jupyter's own
]


def run_lesson(root, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.fspath(root))
    path = root / "stages" / "stage1_autodiff" / "stage1.ipynb"
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(root)}})
    client.execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return outputs, "".join(o.get("text", "") for o in outputs)


def copied(tmp_path):
    root = tmp_path / "course"
    for name in ("grader", "stages", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_lesson_runs_on_the_solutions(tmp_path, monkeypatch):
    root = copied(tmp_path)
    for file in (root / "solutions" / "stage1_autodiff").glob("*.py"):
        shutil.copy(file, root / "stages" / "stage1_autodiff" / file.name)
    outputs, text = run_lesson(root, monkeypatch)
    assert [o for o in outputs if o.output_type == "error"] == []
    assert "Not written yet" not in text
    assert sum("image/png" in o.get("data", {}) for o in outputs) >= 10


def test_on_stubs_the_lesson_says_what_to_write_instead_of_a_traceback(tmp_path, monkeypatch):
    outputs, text = run_lesson(copied(tmp_path), monkeypatch)
    assert [o for o in outputs if o.output_type == "error"] == []
    assert "Not written yet: 1.1 Value.__init__" in text


def test_the_lesson_is_stored_without_outputs():
    path = ROOT / "stages" / "stage1_autodiff" / "stage1.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
