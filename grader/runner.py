"""Draw, run, keep, shrink: one check against one worker.

Hypothesis draws plain data; running an example is a function of that data alone, so
an example can be kept and run again on any other code.
"""

import itertools
import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import HypothesisException, UnsatisfiedAssumption

from grader.checking import Failed, Judgement, Marker, Words, recorded
from grader.course import ROOT, Check, exercise_of
from grader.remote import REQUEST_SECONDS, HandleMisuse, RemoteError, Session
from grader.strategies import parts_of
from grader.transcript import RemoteFailure, Transcript
from grader.worker import Frame, WorkerLost

# Hypothesis keeps small caches, by default in whatever folder people happen to be in.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".gradwright" / "hypothesis"))

EXAMPLES = 60
ENOUGH_FAILURES = 6
ENOUGH_PASSES = 15
ENOUGH_UNWRITTEN = 12  # examples that met an unwritten exercise: what is written had its chance
SHRINK_RUNS = 250
CHECK_SECONDS = 60.0
# What a check stumbles over where a reply is not of the kind that it goes on with: None has no
# `backward`. No right engine gets there, which `dev prove` shows for every check.
UNEXPECTED_KIND = (AttributeError, TypeError, IndexError, KeyError)

Example = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What one example showed.

    Attributes:
        status: passed, failed, todo, timeout, crashed, error, or discarded.
        judgements: the comparisons made, the failing one last.
        failure: the exception of the submitted code, if that ended the example.
        exercise: the unwritten exercise that was reached, if any.
        message: a sentence, where there is neither judgement nor failure.
        frames: where the code was when its time was up, if that is known.
        transcript: what was asked, where it did not pass.
    """

    status: str
    judgements: tuple[Judgement, ...] = ()
    failure: RemoteFailure | None = None
    exercise: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = field(default=(), compare=False)
    transcript: Transcript = field(default_factory=Transcript, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def verdict(self) -> Judgement | None:
        """The failing comparison."""
        return self.judgements[-1] if self.judgements and self.judgements[-1].why else None


class Stop(BaseException):
    """Ends a run of hypothesis from inside a visit."""


@dataclass(eq=False)
class Evidence:
    """Examples of one check, with what they showed.

    Attributes:
        failing, passing, unwritten: the last met an exercise that nobody has written.
        stopped: a timeout, a crash, an error of the grader; nothing more was run.
        shrunk: the smallest failing example that was found.
    """

    check: Check
    seed: int = 0
    failing: list[tuple[Example, Outcome]] = field(default_factory=list)
    passing: list[tuple[Example, Outcome]] = field(default_factory=list)
    unwritten: list[tuple[Example, Outcome]] = field(default_factory=list)
    stopped: tuple[Example, Outcome] | None = None
    shrunk: tuple[Example, Outcome] | None = None

    def take(self, example: Example, outcome: Outcome, known: Container[str]) -> None:
        """Add what an example showed; raises Stop once nothing more needs to be run.

        `known` are the exercises whose NotImplementedError means "to do".
        """
        if outcome.status == "todo" and outcome.exercise not in known:
            outcome = replace(outcome, status="failed", exercise="")
        if outcome.status == "passed":
            self.passing.append((example, outcome))
        elif outcome.status == "failed":
            self.failing.append((example, outcome))
        elif outcome.status == "todo":
            self.unwritten.append((example, outcome))
            if len(self.unwritten) >= ENOUGH_UNWRITTEN:
                raise Stop
        elif outcome.status != "discarded":
            self.stopped = example, outcome
            raise Stop
        tried = len(self.failing) + len(self.passing)
        if len(self.failing) >= ENOUGH_FAILURES and (
            len(self.passing) >= ENOUGH_PASSES or tried >= 2 * ENOUGH_PASSES
        ):
            raise Stop

    @property
    def status(self) -> str:
        if self.stopped is not None:
            return self.stopped[1].status
        if self.failing:
            return "failed"
        if self.unwritten:
            return "todo"
        return "passed" if self.passing else "error"

    @property
    def shown(self) -> tuple[Example, Outcome] | None:
        """The example to show: the stopping one, the shrunk one, or the first failing one."""
        if self.stopped is not None:
            return self.stopped
        first = [*self.failing, *self.unwritten][:1]
        return self.shrunk or (first[0] if first else None)


def marker_of(check: Check) -> Marker:
    return check.marker  # type: ignore[attr-defined]


def count_of(marker: Marker, examples: int) -> int:
    """How many examples to draw: as many as asked for, but where one may take long, not more than usual.

    (A check has one time for all its examples: more of them would refuse right answers.)
    """
    usual = marker.examples or EXAMPLES
    return min(examples or usual, usual) if marker.seconds else examples or usual


def strategies_of(check: Check) -> dict[str, Any] | None:
    """Return what `@given` draws for a check, or None where it draws nothing."""
    handle = getattr(check, "hypothesis", None)
    return None if handle is None else handle._given_kwargs


def inner_of(check: Check) -> Callable[..., None]:
    handle = getattr(check, "hypothesis", None)
    return check if handle is None else handle.inner_test


def explore(
    check: Check,
    seed: int,
    count: int,
    visit: Callable[[Example], None],
    shrink: bool = False,
) -> None:
    """Call `visit` with up to `count` examples of a check; it may raise `Stop`.

    The examples depend on `seed` and `count` alone, and come in turn from the parts of
    its strategies. With `shrink`, an exception from `visit` makes hypothesis look for
    smaller examples that raise as well.
    """
    plan = plan_of(check, seed, count)
    try:
        if shrink or len(plan) == 1:
            for number, (strategies, share) in enumerate(plan):
                explore_part(strategies, seed + number, share, visit, shrink)
            return
        found: list[list[Example]] = [[] for _ in plan]
        for number, (strategies, share) in enumerate(plan):
            explore_part(strategies, seed + number, share, found[number].append, shrink)
        for turn in itertools.zip_longest(*found):
            for example in turn:
                if example is not None:
                    visit(example)
    except Stop:
        pass


def plan_of(check: Check, seed: int, count: int) -> list[tuple[dict[str, Any], int]]:
    """Return what to draw from, one after the other, and how many examples each is to give.

    Where strategies have parts, each part of each gets its turn, in an order drawn anew.
    """
    strategies = strategies_of(check)
    if strategies is None:
        return [({}, 1)]
    split = {name: parts for name, s in strategies.items() if len(parts := parts_of(s)) > 1}
    generator = random.Random(seed)
    turns = []
    for parts in split.values():
        rounds = range(-(-count // len(parts)))
        orders = [generator.sample(range(len(parts)), len(parts)) for _ in rounds]
        turns.append([part for order in orders for part in order][:count])
    shares = Counter(zip(*turns, strict=True)) if turns else Counter({(): count})
    return [
        ({**strategies, **{name: split[name][k] for name, k in zip(split, chosen, strict=True)}}, n)
        for chosen, n in shares.items()
    ]


def explore_part(
    strategies: dict[str, Any],
    seed: int,
    count: int,
    visit: Callable[[Example], None],
    shrink: bool,
) -> None:
    """Let hypothesis draw from these strategies; without any, there is one example."""
    if not strategies:
        visit({})
        return

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(**strategies)
    def drawn(**example: Any) -> None:
        visit(example)

    drawn()


def run_example(check: Check, example: Example, session: Session) -> Outcome:
    """Run a check once on an example and say what it showed."""
    session.worker.printed.clear()
    with recorded() as judgements:
        try:
            session.begin()
            inner_of(check)(session.stage, **example)
        except Failed:
            return Outcome("failed", tuple(judgements), transcript=session.transcript)
        except RemoteError as error:
            return from_failure(error.failure, judgements, session)
        except WorkerLost as lost:
            return Outcome(
                lost.status,
                tuple(judgements),
                message=lost.why,
                frames=lost.frames,
                transcript=session.transcript,
            )
        except UnsatisfiedAssumption:
            return Outcome("discarded")
        except UNEXPECTED_KIND as error:
            if isinstance(error, HandleMisuse) or not session.transcript.events:
                return Outcome("error", message=traceback.format_exc(limit=-4))
            got = session.transcript.events[-1].reply
            due = Words("a result of another kind")
            judgement = Judgement("the result", got, due, f"is of the wrong kind: {error}")
            return Outcome("failed", (*judgements, judgement), transcript=session.transcript)
        except Exception:
            return Outcome("error", message=traceback.format_exc(limit=-4))
    return Outcome("passed", tuple(judgements))


def from_failure(failure: RemoteFailure, judgements: list[Judgement], session: Session) -> Outcome:
    exercise = exercise_of(failure.message) if failure.unwritten else None
    status = "todo" if exercise else "failed"
    return Outcome(
        status, tuple(judgements), failure, exercise or "", transcript=session.transcript
    )  # fmt: skip


def gather(
    check: Check,
    session: Session,
    seed: int,
    examples: int = 0,
    first: list[Example] | None = None,
    patience: float = 1.0,
    known: Container[str] = (),
) -> Evidence:
    """Run a check until its evidence suffices: `first` the stored examples, then drawn ones.

    `patience` scales the time that one request may take; `known` as in `Evidence.take`.
    """
    marker = marker_of(check)
    evidence = Evidence(check, seed)
    give_time(session, (marker.seconds or REQUEST_SECONDS) * patience)

    def visit(example: Example) -> None:
        evidence.take(example, run_example(check, example, session), known)

    try:
        for example in first or []:
            visit(example)
        explore(check, seed, count_of(marker, examples), visit)
    except Stop:
        pass
    except HypothesisException as error:
        evidence.stopped = {}, Outcome("error", message=f"{type(error).__name__}: {error}")
    return evidence


def give_time(session: Session, patience: float) -> None:
    """Start the time of a check; one request may take `patience` seconds."""
    session.patience = patience
    session.deadline = time.monotonic() + max(CHECK_SECONDS, 2 * patience)


def shrink(evidence: Evidence, session: Session, examples: int = 0) -> None:
    """Look for the smallest example that fails in the way the first failing one does."""
    check, (example, outcome) = evidence.check, evidence.failing[0]
    evidence.shrunk = example, outcome
    best = size(outcome)
    wanted = kind_of_failure(outcome)
    give_time(session, marker_of(check).seconds or REQUEST_SECONDS)
    runs = 0

    def visit(example: Example) -> None:
        nonlocal runs, best
        runs += 1
        if runs > SHRINK_RUNS:
            raise Stop
        now = run_example(check, example, session)
        if now.status in ("timeout", "crashed"):
            raise Stop
        if not now.passed and kind_of_failure(now) == wanted:
            if size(now) <= best:
                evidence.shrunk, best = (example, now), size(now)
            raise AssertionError("fails as well")

    try:
        explore(
            check,
            evidence.seed,
            count_of(marker_of(check), examples),
            visit,
            shrink=True,
        )
    except (AssertionError, HypothesisException, ExceptionGroup):
        pass


def size(outcome: Outcome) -> int:
    """How long the program of an outcome is: fewer requests are easier to read."""
    return len(outcome.transcript.events)


def kind_of_failure(outcome: Outcome) -> tuple[str, str, str]:
    """What must stay the same while an example shrinks."""
    verdict = outcome.verdict
    return (
        outcome.status,
        verdict.label if verdict else "",
        outcome.failure.type if outcome.failure else "",
    )
