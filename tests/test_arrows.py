"""Who may import whom, and that nothing beside a submission's declared files ever runs."""

import ast
import re
import shutil
import subprocess
import sys

import pytest

from grader.course import ROOT, read_stages
from grader.judge import Options, grade
from grader.submission import find_submission

STAGES = read_stages(ROOT)
NUMBERS = {stage.folder: number for number, stage in enumerate(STAGES)}
STANDARD = set(sys.stdlib_module_names)


def imports(path):
    """What a file imports, wherever in it, as (dots, module): ("", "numpy"), (".", "autodiff")."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [("", alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(("." * node.level, node.module))
        elif isinstance(node, ast.ImportFrom):
            found += [("." * node.level, alias.name) for alias in node.names]
    return found


def by_name(paths):
    paths = sorted(paths)
    assert paths
    return pytest.mark.parametrize(
        "path", paths, ids=[p.relative_to(ROOT).as_posix() for p in paths]
    )


def of_course(tree):
    return [stage.source(tree) / file for stage in STAGES for file in stage.files]


@by_name(of_course("solutions") + of_course("stages"))
def test_course_code_imports_numpy_the_standard_library_and_what_comes_before(path):
    here = NUMBERS[path.parent.name]
    for dots, module in imports(path):
        top, *inner = module.split(".")
        if dots:
            assert dots == ".", f"{module}: files of the same stage only"
            assert (path.parent / f"{top}.py").exists()
            assert top != path.stem
        elif top == "solutions":
            assert len(inner) == 2, f"{module}: a file of a stage"
            assert NUMBERS[inner[0]] < here, f"{module}: earlier stages only"
            assert (ROOT / "solutions" / inner[0] / f"{inner[1]}.py").exists()
        else:
            assert top in STANDARD | {"numpy"}, module


@by_name(of_course("solutions") + of_course("stages"))
def test_the_files_of_a_stage_do_not_import_each_other_in_a_circle(path):
    seen, waiting = set(), [path]
    while waiting:
        for dots, module in imports(waiting.pop()):
            other = path.parent / f"{module.split('.')[0]}.py"
            if dots and other not in seen:
                seen.add(other)
                waiting.append(other)
    assert path not in seen


@by_name((ROOT / "stages").glob("*/checks*.py"))
def test_checks_import_the_checking_module_hypothesis_and_numpy_only(path):
    for dots, module in imports(path):
        assert not dots, module
        assert module == "grader.checking" or module.split(".")[0] in {
            "hypothesis", "numpy", "math", "itertools", *beside_imports(path),
        }, module  # fmt: skip


def beside_imports(path):
    """The standard modules that functions marked `@beside` import for themselves, in the worker."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and "beside" in map(ast.unparse, node.decorator_list):
            inner = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
            found |= {alias.name for n in inner for alias in n.names}
    return found & STANDARD


@by_name((ROOT / "grader").rglob("*.py"))
def test_the_grader_imports_no_course_code(path):
    for _, module in imports(path):
        assert module.split(".")[0] not in {"solutions", "stages", "tests", "benchmarks"}, module


def test_importing_the_whole_grader_loads_no_course_code():
    modules = sorted(
        f"grader.{path.stem}" for path in (ROOT / "grader").glob("*.py") if path.stem != "__main__"
    )
    source = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
print([m for m in sys.modules if m.split(".")[0] in ("solutions", "stages", "checks", "autodiff")])
"""
    run = subprocess.run(
        [sys.executable, "-B", "-c", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_no_folder_of_the_course_is_a_package():
    """A package runs its `__init__.py` when anything in it is imported: a learner's file by accident."""
    found = [
        path for tree in ("stages", "solutions") for path in (ROOT / tree).rglob("__init__.py")
    ]
    assert found == []


# What else lies in a submission.

PLANTED = (
    "__init__.py", "numpy.py", "conftest.py", "json.py", "sitecustomize.py", "usercustomize.py",
    "hypothesis.py", "grader.py", "msgpack.py", "math.py", "checks.py", "solutions/__init__.py",
    "grader/__init__.py", "numpy/__init__.py", "stages/__init__.py",
)  # fmt: skip


@pytest.fixture
def planted(solved, tmp_path):
    """A right submission among files that each leave a mark if they run; returns it and the marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    for number, name in enumerate(PLANTED):
        path = solved / name
        path.parent.mkdir(exist_ok=True)
        mark = str(marks / f"{number} {name.replace('/', ' ')}")
        path.write_text(f"open({mark!r}, 'w').close()\n", encoding="utf-8")
    (solved / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n", encoding="utf-8")
    (solved / "evil.pth").write_text("import conftest\n", encoding="utf-8")
    return solved, marks


def marks_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_marks_are_left_where_the_files_do_run(planted):
    """The test below would notice."""
    folder, marks = planted
    subprocess.run([sys.executable, "-c", "import numpy, conftest"], cwd=folder, check=False)
    assert len(marks_in(marks)) >= 1


@pytest.mark.parametrize("inside", [False, True], ids=["from elsewhere", "from inside it"])
def test_nothing_beside_the_declared_files_of_a_submission_runs(
    planted, stage1, monkeypatch, inside
):
    folder, marks = planted
    monkeypatch.setenv("PYTHONPATH", str(folder))
    if inside:
        monkeypatch.chdir(folder)
    submission = find_submission(stage1, "submission", folder)
    grading = grade(submission, Options(seed=1, examples=5, only="1.1"))
    assert grading.result.milestones[0].status == "passed"
    assert marks_in(marks) == []


@pytest.mark.parametrize("layout", ["stage1_autodiff", "stages/stage1_autodiff"])
def test_nor_in_a_copy_of_a_whole_tree(planted, stage1, tmp_path, layout):
    folder, marks = planted
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole / layout)
    for path in folder.glob("*.py"):
        if path.name not in stage1.files:
            shutil.copy(path, whole / path.name)
    submission = find_submission(stage1, "submission", whole)
    assert submission.folder == whole / layout
    grading = grade(submission, Options(seed=1, examples=5, only="1.1"))
    assert grading.result.milestones[0].status == "passed"
    assert marks_in(marks) == []


def test_the_command_run_inside_a_submission_runs_none_of_its_files(planted):
    folder, marks = planted
    command = [sys.executable, "-P", "-m", "grader", "stage1"]
    run = subprocess.run(
        [*command, "--submission", ".", "--only", "1.1", "--examples", "5", "--seed", "1"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert re.search(r"1\.1 .* 10/10", run.stdout), run.stdout + run.stderr
    assert marks_in(marks) == []
