"""Wrong work is caught, named rightly or not at all, and shown by a program that runs."""

import subprocess
import sys

import pytest

from grader.course import find_stage
from grader.faults import faults_of
from grader.figures import Figures
from grader.judge import Options, grade
from grader.mutants import control_of
from grader.prove_engines import engines_of
from grader.prove_faults import run_faults, summarise_faults
from grader.prove_mutants import survives
from grader.submission import find_submission, workspace

SAMPLE = 12  # every twelfth fault; `dev prove` runs them all


def test_a_sample_of_faults_is_caught_and_named(stage1):
    """Also: with its own entry removed, hardly any fault gets the name of another."""
    figures = Figures("stage1")
    summarise_faults(stage1, figures, run_faults(("stage1", 1, 3, SAMPLE)), 1)
    assert figures.complaints == []


def test_there_are_enough_faults_and_each_speaks(stage1):
    faults = faults_of(stage1)
    assert len(faults) >= 60
    assert all(len(fault.says) > 20 for fault in faults)
    assert all(fault.caught_by for fault in faults)
    assert {id for fault in faults for id in fault.caught_by} == {m.id for m in stage1.milestones}


def test_every_line_of_an_unchanged_solution_survives_as_a_mutant(stage1):
    assert survives(("stage1", control_of(stage1)))


def test_there_are_at_least_four_other_right_engines(stage1):
    assert len(engines_of(stage1)) >= 5


@pytest.mark.parametrize("fault", faults_of(find_stage("stage1"))[::24], ids=lambda fault: fault.id)
def test_the_printed_program_runs_as_it_stands_and_shows_the_wrong_value(stage1, fault):
    """Every program of every failing check, pasted into Python beside the learner's file."""
    with workspace(stage1) as space:
        folder = space.fault(fault, 0)[stage1.folder]
        submission = find_submission(stage1, "submission", folder)
        for milestone in fault.caught_by:
            result = grade(submission, Options(seed=1, only=milestone, diagnose=False)).result
            for check in result.milestones[0].checks:
                if check.repro is None or check.status != "failed":
                    continue
                assert "keeps state" not in check.message, check.repro
                shows(check, submission.home)


def shows(check, home):
    """Run a printed program; its last line must show the `actual` value, or raise as it says."""
    *body, last = check.repro.splitlines()
    code, _, remark = last.partition("  # ")
    program = "\n".join([*body, f"print(repr({code.strip()}))" if "got" in remark else code])
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=home, capture_output=True, encoding="utf-8", check=False
    )
    if remark.startswith("raises"):
        assert run.returncode != 0
        assert remark.split()[1].rstrip(":") in run.stderr
    elif "another object" not in (check.actual or "") and "wrong" not in remark:
        assert run.returncode == 0, run.stderr
        shown = run.stdout.strip().splitlines()[-1]
        assert same_text(shown, check.actual), check.repro


def same_text(shown, actual):
    try:
        return abs(float(shown) - float(actual)) <= 1e-4 * (1 + abs(float(actual))) or shown == actual
    except ValueError:
        return shown == actual or actual.startswith(("[", "("))
