"""What people see: the whole report of a few submissions, word for word.

A new case is a new file under golden/: what to replace in the solution, and which files
are still stubs. Run with GRADWRIGHT_GOLDEN=write to write the expected reports, and read
them before you commit.
"""

import os
import shutil
import tomllib
from pathlib import Path

import pytest
from conftest import replace

from grader.course import find_stage
from grader.judge import Options, grade
from grader.report import plain, stage_report
from grader.stubs import stub_of
from grader.submission import find_submission

FOLDER = Path(__file__).parent / "golden"
CASES = sorted(p.stem for p in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("case", CASES)
def test_the_report_reads_as_expected(case, tmp_path, monkeypatch):
    change = tomllib.loads((FOLDER / f"{case}.toml").read_text(encoding="utf-8"))
    stage = find_stage(change.get("stage", "stage1"))
    work = tmp_path / "work"
    shutil.copytree(stage.source("solutions"), work, ignore=shutil.ignore_patterns("__pycache__"))
    for file in change.get("stubs", []):
        (work / file).write_text(stub_of(stage, file), encoding="utf-8")
    for entry in change["replace"]:
        replace(work / entry["file"], entry["old"], entry["new"])
    monkeypatch.chdir(tmp_path)
    submission = find_submission(stage, "submission", work)
    text = plain(stage_report(grade(submission, Options(seed=8123)).result)) + "\n"
    expected = FOLDER / f"{case}.txt"
    if os.environ.get("GRADWRIGHT_GOLDEN") == "write":
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_the_readme_shows_a_real_report():
    """The picture in the README is the head of a golden report."""
    readme = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("```text\n")[1].split("```")[0]
    golden = (FOLDER / "overwrites.txt").read_text(encoding="utf-8")
    assert golden.startswith(shown.rstrip("\n"))
