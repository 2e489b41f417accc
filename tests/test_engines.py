"""Right answers that were written differently pass every check, PyTorch in an adapter among them."""

import sys

import pytest

from grader import prove_engines
from grader.checking import Marker
from grader.course import ROOT, find_stage
from grader.errors import UsageError
from grader.judge import Options, grade
from grader.prove_engines import engines_of, false_alarms, graded, read_engine
from grader.runner import count_of
from grader.submission import find_submission

ENGINES = ROOT / "tests" / "engines"
ADAPTED = ["stage2", "stage3"]
ADAPTER_LINES = 150


@pytest.fixture(scope="module")
def stage2():
    return find_stage("stage2")


def adapter(name):
    return read_engine(find_stage(name), ENGINES / name / "pytorch")


@pytest.mark.parametrize(
    ("name", "engine", "bonus"),
    [
        ("stage2", "operation_classes", 5),
        ("stage2", "gradients_as_graph", 5),
        ("stage3", "composed", 10),
        ("stage3", "fused", 10),
    ],
)
def test_a_right_engine_gets_full_marks(name, engine, bonus):
    submission = find_submission(find_stage(name), "submission", ENGINES / name / engine)
    result = grade(submission, Options(seed=7, examples=10)).result
    assert [c for m in result.milestones for c in m.checks if c.status != "passed"] == []
    assert (result.score, result.bonus) == (100, bonus)


@pytest.mark.parametrize("name", ADAPTED)
def test_pytorch_in_an_adapter_passes_every_check_but_its_exceptions(name):
    engine = adapter(name)
    if engine.missing:
        pytest.skip(engine.missing)
    evidence = graded(engine, seed=7, examples=10)
    assert {e.check.__name__: e.status for e in evidence if e.status != "passed"} == {}
    assert "torch" not in sys.modules, "only the worker may load it"


@pytest.mark.parametrize("name", ADAPTED)
def test_the_adapter_is_thin_and_says_what_it_cannot_have(name):
    engine = adapter(name)
    files = engine.submission.folder.glob("*.py")
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= ADAPTER_LINES
    assert all(len(reason) > 20 for reason in engine.exceptions.values())


@pytest.mark.parametrize("name", ADAPTED)
def test_excepted_checks_are_not_run_for_that_engine(name, monkeypatch):
    engine = adapter(name)
    monkeypatch.setattr(prove_engines, "engines_of", lambda stage: [engine])
    assert engine.exceptions
    for check in engine.exceptions:
        assert false_alarms((name, check, 3)) == (0, [])


def test_an_engine_whose_package_is_missing_is_skipped_with_a_word(stage2, monkeypatch):
    monkeypatch.setattr(prove_engines, "find_spec", lambda name: None)
    words = [engine.missing for engine in engines_of(stage2) if engine.missing]
    assert words == ["pytorch is skipped: torch is not installed"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[exception]]\ncheck = "test_nothing"\nreason = "none"', "no check test_nothing"),
        ('[[exception]]\ncheck = "test_sum"\nreason = "none"\n' * 6, "more than 5"),
        ('package = "torch"', "what is package"),
    ],
)
def test_wrong_exceptions_are_refused(stage2, tmp_path, text, complaint):
    (tmp_path / "tensor.py").touch()
    (tmp_path / "exceptions.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=complaint):
        read_engine(stage2, tmp_path)


def test_more_examples_leave_long_checks_their_time():
    assert count_of(Marker("2.9", examples=3, seconds=20.0), 300) == 3
    assert count_of(Marker("2.9", examples=3, seconds=20.0), 2) == 2
    assert count_of(Marker("2.2", examples=40), 300) == 300
    assert count_of(Marker("2.2", examples=40), 0) == 40
