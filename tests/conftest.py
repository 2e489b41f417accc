"""What the tests share: stage 1, and gradings of folders."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course import ROOT, find_stage
from grader.judge import Options, grade
from grader.submission import find_submission


@pytest.fixture(scope="session")
def stage1():
    return find_stage("stage1")


@pytest.fixture
def solved(tmp_path, stage1):
    """A folder with the solution's files, to be spoilt."""
    folder = tmp_path / "work"
    shutil.copytree(stage1.source("solutions"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def graded(stage1):
    """Grade a folder; options as in `Options`. The seed is fixed unless given."""

    def run(folder, **options):
        options.setdefault("seed", 7)
        return grade(find_submission(stage1, "submission", Path(folder)), Options(**options)).result

    return run


@pytest.fixture
def command():
    """Run `python -m grader ...` in the course's folder, or another, as a person would."""

    def run(*arguments, cwd=ROOT, **options):
        return subprocess.run(
            [sys.executable, "-m", "grader", *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def course(tmp_path):
    """A copy of the course, in which a test may write. Its own grader runs there."""
    root = tmp_path / "course"
    for name in ("grader", "stages", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def replace(path, old, new):
    """Replace text in a file, which must hold it once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")
