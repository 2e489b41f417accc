"""What the documents say is so: commands exist, numbers agree, links lead somewhere."""

import re
import shlex
import subprocess
import sys

import pytest

from grader.cli import cli
from grader.course import ROOT, read_stages

DOCUMENTS = ["README.md", "COURSE.md", "CONTRIBUTING.md"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_in_the_documents_exists(name):
    words = re.findall(r"python -m grader(?: ([a-z]\w*))?", text_of(name))
    known = {*cli.commands, *(stage.name for stage in read_stages()), "all", ""}
    assert set(words) <= known


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_in_the_documents_exists(name):
    paths = re.findall(r"`((?:stages|solutions|grader|tests|benchmarks|\.ci)/[\w./-]*|[A-Z]+\.md)`", text_of(name))
    paths = [p.replace("stageN.", "stage1.") for p in paths]
    assert [p for p in paths if not (ROOT / p).exists()] == []


def test_the_syllabus_lists_every_milestone_with_its_points_and_hours():
    course = text_of("COURSE.md")
    for stage in read_stages():
        for m in stage.milestones:
            kind = " (elective)" if m.bonus else ""
            assert f"| {m.id} | {m.title}{kind} | {m.points} | {m.hours:g} |" in course
        hours = sum(m.hours for m in stage.milestones)
        assert f"| {hours:g} |" in course.split(f"{stage.title} |")[1].split("\n")[0]


def test_options_in_the_documents_exist():
    options = {o for command in cli.commands.values() for p in command.params for o in p.opts}
    shown = set(re.findall(r"python -m grader [^\n`|]*?(--[a-z]+)", text_of("README.md")))
    assert shown <= options


def test_the_authors_pytest_command_runs_every_check():
    command = "-m pytest -q -p grader.pytest_plugin stages/stage1_autodiff/checks_dual.py stages/stage1_autodiff/checks.py -k 'chain or zeroth'"
    run = subprocess.run([sys.executable, *shlex.split(command)], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_placeholder_is_left_in_the_documents(name):
    assert re.findall(r"^[A-Z]+_[A-Z_]+$", text_of(name), re.MULTILINE) == []
