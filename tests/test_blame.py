"""With --mine, the learner's earlier stages are in place, and a bug in one of them is found there."""

import json
import shutil

import pytest
from conftest import replace

from grader.course import ROOT, read_stages

FOLDERS = [stage.folder for stage in read_stages()][:3]
NO_ACCUMULATION = ("stage2_tensor/tensor.py", "part if known is None else known + part", "part")


@pytest.fixture
def mine(tmp_path):
    """A learner's stages 1 to 3, all right."""
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / "solutions" / folder, tmp_path / "work" / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path / "work"


def graded(command, mine, *arguments):
    run = command("stage3", "--submission", mine, "--mine", "--seed", 3, "--json", "-", *arguments)
    return json.loads(run.stdout)


def failing(result):
    return [c for m in result["milestones"] for c in m["checks"] if c["status"] != "passed"]


def test_right_work_of_ones_own_gets_full_marks(command, mine):
    result = graded(command, mine, "--only", "3.6")
    assert failing(result) == []
    assert result["earlier"] == "mine"


def test_a_bug_in_stage_2_is_blamed_on_its_milestone(command, mine):
    replace(mine / NO_ACCUMULATION[0], *NO_ACCUMULATION[1:])
    checks = failing(graded(command, mine, "--only", "3.9"))
    assert {c["name"] for c in checks} >= {"test_residual"}
    assert {c["blame"] for c in checks} == {"stage2 2.2"}


def test_a_bug_in_this_stage_is_blamed_on_nobody_else(command, mine):
    replace(mine / "stage3_nn" / "module.py", "return x + self.module(x)", "return self.module(x)")
    checks = failing(graded(command, mine, "--only", "3.9"))
    assert {c["name"] for c in checks} == {"test_residual"}
    assert {c["blame"] for c in checks} == {None}


def test_without_the_option_earlier_stages_are_the_solutions(command, mine):
    replace(mine / NO_ACCUMULATION[0], *NO_ACCUMULATION[1:])
    run = command("stage3", "--submission", mine, "--only", "3.9", "--seed", 3)
    assert run.returncode == 0


def test_the_report_says_where_to_look(command, mine):
    replace(mine / NO_ACCUMULATION[0], *NO_ACCUMULATION[1:])
    run = command("stage3", "--submission", mine, "--mine", "--only", "3.9", "--seed", 3)
    text = " ".join(run.stdout.split())
    assert "The bug is in your stage 2: 2.2 fails there. See it: python -m grader stage2 --only 2.2" in text
    assert f"python -m grader stage3 --submission {mine} --mine --only 3.9 --seed 3" in text


def test_an_unwritten_exercise_of_an_earlier_stage_blocks(command, mine):
    source = (mine / "stage2_tensor" / "tensor.py").read_text(encoding="utf-8")
    start = source.index("        a, b = operands(self, other)\n        return record(a.data + b.data")
    end = source.index("    def __sub__")
    stub = '        raise NotImplementedError("2.2 Tensor.__add__")\n\n'
    (mine / "stage2_tensor" / "tensor.py").write_text(source[:start] + stub + source[end:], encoding="utf-8")
    result = graded(command, mine, "--only", "3.9")
    blocked = [c for c in failing(result) if c["status"] == "blocked"]
    assert blocked
    assert {c["message"] for c in blocked} == {"needs Tensor.__add__ of 2.2"}


def test_a_missing_earlier_stage_is_a_sentence(command, mine):
    shutil.rmtree(mine / "stage1_autodiff")
    run = command("stage3", "--submission", mine, "--mine")
    assert run.returncode == 2
    assert "--mine needs" in run.stderr
    assert "stage1_autodiff" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
