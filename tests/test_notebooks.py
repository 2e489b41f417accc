"""The lessons run from top to bottom: on the solutions, and kindly on the stubs."""

import itertools
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
LESSONS = {  # how many pictures at least, and what stubs ask for first
    "stage1_autodiff": (10, "1.1 Value.__init__"),
    "stage2_tensor": (14, "2.1 Tensor.__init__"),
    "stage3_nn": (16, "3.1 Module.__setattr__"),
}
lessons = pytest.mark.parametrize("stage", LESSONS)


def lesson_of(stage, root=ROOT):
    path = root / "stages" / stage / f"{stage.partition('_')[0]}.ipynb"
    return nbformat.read(path, as_version=4)


def run(notebook, root, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.fspath(root))
    client = NotebookClient(
        notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(root)}}
    )
    client.execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return outputs, "".join(o.get("text", "") for o in outputs)


def copied(tmp_path):
    root = tmp_path / "course"
    for name in ("grader", "stages", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def solve(root):
    for folder in (root / "solutions").glob("stage*"):
        for file in folder.glob("*.py"):
            shutil.copy(file, root / "stages" / folder.name / file.name)


@lessons
def test_a_lesson_runs_on_the_solutions(stage, tmp_path, monkeypatch):
    root = copied(tmp_path)
    solve(root)
    outputs, text = run(lesson_of(stage, root), root, monkeypatch)
    assert [o for o in outputs if o.output_type == "error"] == []
    assert "Not written yet" not in text
    assert sum("image/png" in o.get("data", {}) for o in outputs) >= LESSONS[stage][0]


@lessons
def test_on_stubs_a_lesson_says_what_to_write_instead_of_a_traceback(stage, tmp_path, monkeypatch):
    root = copied(tmp_path)
    outputs, text = run(lesson_of(stage, root), root, monkeypatch)
    assert [o for o in outputs if o.output_type == "error"] == []
    assert f"Not written yet: {LESSONS[stage][1]}" in text


@lessons
def test_a_lesson_is_stored_without_outputs(stage):
    assert all(not c.outputs for c in lesson_of(stage).cells if c.cell_type == "code")


@lessons
def test_every_picture_of_a_lesson_is_described(stage):
    cells = lesson_of(stage).cells
    for cell, after in itertools.pairwise(cells):
        shows = cell.cell_type == "code" and "    plt.show()" not in cell.source
        if shows and ("plt.show()" in cell.source or "\nfinish(" in cell.source):
            assert after.source.startswith("*Picture: "), cell.source


EDITING = """
from grader import lesson, use_mine
lesson()
use_mine()
---
from solutions.stage2_tensor.tensor import Tensor
x = Tensor([3.0])
---
import pathlib, shutil
for file in pathlib.Path("solutions").glob("stage[12]*/*.py"):
    shutil.copy(file, "stages" / file.relative_to("solutions"))
---
class Own(Tensor):
    pass

x, own = Tensor([3.0]), Own([3.0])
print("squared:", (x**2).item())
---
path = pathlib.Path("stages/stage2_tensor/tensor.py")
source = path.read_text()
path.write_text("def unfinished(:\\n" + source)
---
print("the last version:", (x**2).item())
---
path.write_text(source.replace("out = x**n", "out = x**n + 1"))
---
print("edited:", (x**2).item(), isinstance(x, Tensor), type(x**2) is Tensor)
print("subclass:", (own**2).item(), isinstance(own, Tensor), isinstance(Own([1.0]), Tensor))
---
lesson()
use_mine()
"""


def test_a_notebook_follows_the_files_without_a_restart(tmp_path, monkeypatch):
    root = copied(tmp_path)
    cells = [nbformat.v4.new_code_cell(source) for source in EDITING.split("---")]
    outputs, text = run(nbformat.v4.new_notebook(cells=cells), root, monkeypatch)
    assert [o for o in outputs if o.output_type == "error"] == []
    assert "Not written yet: 2.1 Tensor.__init__" in text
    assert "squared: 9.0" in text
    assert "tensor.py, line 1: SyntaxError" in text
    assert "the last version: 9.0" in text
    assert "edited: 10.0 True True" in text
    assert "subclass: 10.0 True True" in text
