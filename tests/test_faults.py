"""Wrong work is caught, named rightly or not at all, and shown by a program that runs."""

import ast
import os
import re
import subprocess
import sys

import pytest

from grader.course import ROOT, find_stage
from grader.diagnosis import variants_of
from grader.faults import faults_of
from grader.judge import Options, grade
from grader.mutants import control_of
from grader.prove_engines import engines_of
from grader.prove_faults import run_faults
from grader.prove_mutants import survives
from grader.submission import find_submission, workspace

NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")
SAMPLE = 48  # every so manieth fault; `dev prove --faults all` runs them all
PROGRAMS = int(os.environ.get("GRADWRIGHT_PROGRAMS", "100"))  # likewise; 1 runs all
STAGES = ["stage1", "stage2", "stage3"]
ENOUGH = {"stage1": 60, "stage2": 70, "stage3": 70}
every_stage = pytest.mark.parametrize("name", STAGES)


def sampled(step):
    return [
        pytest.param(find_stage(name), fault, id=f"{name}-{fault.id}")
        for name in STAGES
        for fault in faults_of(find_stage(name))[::step]
    ]


@every_stage
def test_a_sample_of_faults_is_caught_and_named(name):
    """Also: with its own entry removed, hardly any fault gets the name of another.

    Of a dozen, one may stay without a name; `dev prove` holds the rates over many.
    """
    sample = range(3, len(variants_of(faults_of(find_stage(name)))), SAMPLE)
    runs = run_faults((name, 1, sample))
    assert [run.fault for run in runs if run.missed] == []
    assert [run.fault for run in runs if run.wrong] == []
    assert len([run.fault for run in runs if not run.right]) <= 1
    assert len([run.fault for run in runs if run.named_without]) <= 1


@every_stage
def test_there_are_enough_faults_and_each_speaks(name):
    stage = find_stage(name)
    faults = faults_of(stage)
    assert len(faults) >= ENOUGH[name]
    assert all(len(fault.says) > 20 for fault in faults)
    assert all(fault.caught_by for fault in faults)
    assert {id for fault in faults for id in fault.caught_by} == {m.id for m in stage.milestones}


@every_stage
def test_every_line_of_an_unchanged_solution_survives_as_a_mutant(name):
    assert survives((name, control_of(find_stage(name))))


@every_stage
def test_there_are_other_right_engines(name):
    assert len(engines_of(find_stage(name))) >= {"stage1": 5}.get(name, 4)


@pytest.mark.parametrize(("stage", "fault"), sampled(PROGRAMS))
def test_the_printed_program_runs_as_it_stands_and_shows_the_wrong_value(stage, fault):
    """Every program of every failing check, pasted into Python beside the learner's file."""
    with workspace(stage) as space:
        folder = space.fault(fault, 0)[stage.folder]
        submission = find_submission(stage, "submission", folder)
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
    if last.startswith("# "):
        code, remark = body.pop(), last[2:]
    is_value = isinstance(ast.parse(code).body[0], ast.Expr)
    program = "\n".join([*body, f"print(repr({code.strip()}))" if is_value else code])
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # the solutions of earlier stages
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if remark.startswith("raises"):
        assert run.returncode != 0
        assert remark.split()[1].rstrip(":") in run.stderr
    elif is_value and "an object" not in (check.actual or "") and "wrong" not in remark and ": got " not in remark:
        assert run.returncode == 0, run.stderr
        shown = " ".join(run.stdout.split())
        assert same_text(shown, check.actual), f"{check.repro}\n{shown}"


def same_text(shown, actual):
    """Say whether two texts show the same numbers, or else are equal (reports cut long ones)."""
    if actual.startswith("{"):
        return shown.startswith(actual[:150])
    shown = re.sub(r"np\.(float|int|bool_?)\d*\((.*)\)$", r"\2", shown.partition(", dtype=")[0])
    ours, theirs = (NUMBER.findall(text.partition(" of shape")[0]) for text in (shown, actual))
    if not ours or "..." in actual:
        return shown == actual or "..." in actual
    close = [abs(float(a) - float(b)) <= 1e-4 * (1 + abs(float(b))) or a == b for a, b in zip(ours, theirs)]
    return len(ours) == len(theirs) and all(close)
