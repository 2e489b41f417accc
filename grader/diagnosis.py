"""Which misconception explains what failed: examples, run again on faulty variants.

A fault is named for a check if its variant shows, on every failing example, the judged
value that the learner's code showed, and passes wherever that passed. Where two faults
fit equally well, or something in this or an earlier milestone stays unexplained, nothing
is said.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.checking import number_matches
from grader.codec import decode, encode
from grader.course import Stage
from grader.faults import Fault, functions_of_fault
from grader.remote import REQUEST_SECONDS, Remote, Session
from grader.runner import Evidence, Example, Outcome, marker_of, run_example
from grader.submission import Workspace
from grader.transcript import RemoteFailure, handle_of
from grader.worker import Worker

WITNESSES = 6  # failing examples to explain, at most
ALIBIS = 6  # passing examples of each check that may contradict, at most
AGREEMENT = 0.9  # where learner and variant both fail, they show the same this often at least
PATIENCE = 0.2  # a variant that needs more than this share of the learner's time is late, too


@dataclass(frozen=True)
class Variant:
    """One form of a fault."""

    fault: Fault
    form: int


def variants_of(faults: Iterable[Fault]) -> list[Variant]:
    return [Variant(fault, form) for fault in faults for form in range(len(fault.new))]


class Suspects:
    """Runs examples on faulty variants and remembers what they showed.

    A fault in a function that the reference does not run on an example changes nothing
    there, so the variant is not run on it either.
    """

    def __init__(self, stage: Stage, space: Workspace):
        self.stage, self.space = stage, space
        self.session, self.reference = Session(Worker()), Session(Worker())
        self.reference.worker.load(stage.folder, space.reference(), stage.names)
        self.loaded: Variant | None = None
        self.known: dict[tuple[Any, ...], Outcome] = {}
        self.ran: dict[tuple[str, int], frozenset[str]] = {}
        self.kept: list[Example] = []  # so that ids stay their own

    def outcome(self, variant: Variant, check: Any, example: Example) -> Outcome:
        """Return what `variant` shows on an example of a check."""
        place = (check.__name__, id(example))
        key = (variant.fault.id, variant.form, *place)
        if key not in self.known:
            self.kept.append(example)
            needed = functions_of_fault(variant.fault, self.stage)
            cheap = not marker_of(check).trains
            if cheap and needed is not None and not needed & self.functions_run(check, example):
                self.known[key] = Outcome("passed")
            else:
                self.known[key] = self.run(variant, check, example)
        return self.known[key]

    def functions_run(self, check: Any, example: Example) -> frozenset[str]:
        """Return the functions that the reference runs on an example."""
        place = (check.__name__, id(example))
        if place not in self.ran:
            ask, patience = self.reference.worker.ask, cost_of(check)
            self.reference.patience = 10 * patience
            ask(encode(["profile", True]), time.monotonic() + patience)
            run_example(check, example, self.reference)
            reply = ask(encode(["profile", False]), time.monotonic() + patience)
            self.ran[place] = frozenset(decode(reply)[1])
        return self.ran[place]

    def on_reference(self, check: Any, example: Example) -> Outcome:
        """Return what the reference shows on an example."""
        self.reference.patience = cost_of(check)
        return run_example(check, example, self.reference)

    def run(self, variant: Variant, check: Any, example: Example) -> Outcome:
        if variant != self.loaded:
            stack = self.space.fault(variant.fault, variant.form)
            self.session.worker.load(self.stage.folder, stack, self.stage.names)
            self.loaded = variant
        self.session.patience = cost_of(check) * PATIENCE
        return run_example(check, example, self.session)

    def close(self) -> None:
        self.session.worker.close()
        self.reference.worker.close()


ShowOutcome = Callable[[Variant, Any, Example], Outcome]


def diagnose(
    evidences: Sequence[Evidence], variants: Sequence[Variant], show: ShowOutcome
) -> dict[str, Fault]:
    """Return the misconception behind each failing check that has exactly one, by the check's name.

    `show` tells what a variant shows on an example.
    """
    failing = sorted((e for e in evidences if witnesses(e)), key=lambda e: cost_of(e.check))
    culprits: list[Variant] = []
    cleared: set[Variant] = set()
    for evidence in failing:
        # One cause for two failures is likelier than two: what explains an earlier one goes first.
        if any(explains(v, evidence, show) for v in culprits):
            continue
        for variant in suspected(evidence, variants, failing):
            if variant in culprits or variant in cleared or not explains(variant, evidence, show):
                continue
            if contradicted(variant, evidences, failing, show):
                cleared.add(variant)
            else:
                culprits.append(variant)
    fits = {e: [v for v in culprits if explains(v, e, show)] for e in failing}
    reach = Counter(v for found in fits.values() for v in found)
    # What comes after something unexplained may be a consequence of it.
    order = list(dict.fromkeys(marker_of(e.check).id for e in evidences))
    open_ones = [order.index(marker_of(e.check).id) for e, found in fits.items() if not found]
    explained = set(order[: min(open_ones, default=len(order))])
    named = {
        e.check.__name__: singled_out(found, reach)
        for e, found in fits.items()
        if marker_of(e.check).id in explained
    }
    return {name: fault for name, fault in named.items() if fault is not None}


def suspected(
    evidence: Evidence, variants: Sequence[Variant], failing: Sequence[Evidence]
) -> list[Variant]:
    """Return the variants to try on a failing check: those that its milestone is said to catch.

    A cause that is at home in another milestone is found there. Where only one milestone was
    graded, there is no other place, so every variant is tried on its first check.
    """
    marker = marker_of(evidence.check)
    alone = all(marker_of(e.check).id == marker.id for e in failing)
    if marker.trains:
        return []
    if alone and evidence is failing[0] and cost_of(evidence.check) <= REQUEST_SECONDS:
        return list(variants)
    return [v for v in variants if marker.id in v.fault.caught_by]


def cost_of(check: Any) -> float:
    """How long a check may take: the cheap ones are explained first."""
    return marker_of(check).seconds or REQUEST_SECONDS


def witnesses(evidence: Evidence) -> list[tuple[Example, Outcome]]:
    """Return the failing examples of a check that a fault must explain."""
    found = evidence.failing[:WITNESSES]
    if evidence.shrunk is not None and not any(evidence.shrunk[0] is e for e, _ in found):
        found = [*found, evidence.shrunk]
    if evidence.stopped is not None and evidence.status in ("timeout", "crashed"):
        found = [evidence.stopped]
    return [(example, outcome) for example, outcome in found if not failed_to_load(outcome)]


def failed_to_load(outcome: Outcome) -> bool:
    """Say whether a name of the stage was not to be had: a file is broken, not an idea."""
    events = outcome.transcript.events
    return bool(events) and events[-1].verb == "get" and handle_of(events[-1].arguments[0]) == 0


def explains(variant: Variant, evidence: Evidence, show: ShowOutcome) -> bool:
    """Say whether the variant shows, on every witness of a check, what the learner's code showed."""
    return all(
        agrees(outcome, show(variant, evidence.check, example))
        for example, outcome in witnesses(evidence)
    )


def contradicted(
    variant: Variant, evidences: Iterable[Evidence], failing: Iterable[Evidence], show: ShowOutcome
) -> bool:
    """Say whether the variant cannot be the cause.

    It is not if it fails where the learner's code passes, on an example of any check, or
    if it often shows something else where both fail.
    """
    if any(
        not show(variant, e.check, example).passed
        for e in evidences
        for example, _ in e.passing[:ALIBIS]
    ):
        return True
    both = [
        agrees(outcome, theirs)
        for e in failing
        if cost_of(e.check) <= REQUEST_SECONDS
        for example, outcome in witnesses(e)
        if not (theirs := show(variant, e.check, example)).passed
    ]
    return sum(both) < AGREEMENT * len(both)


def singled_out(found: Sequence[Variant], reach: Mapping[Variant, int]) -> Fault | None:
    """Return the fault that explains most checks, if it alone does (or only with its `same_as`)."""
    if not found:
        return None
    most = max(reach[v] for v in found)
    first, *others = {v.fault.id: v.fault for v in found if reach[v] == most}.values()
    return first if all(alike(first, other) for other in others) else None


def alike(a: Fault, b: Fault) -> bool:
    """Say whether two faults are declared to be indistinguishable."""
    return b.id in a.same_as or a.id in b.same_as


def agrees(mine: Outcome, theirs: Outcome) -> bool:
    """Say whether two failing outcomes show the same: the same judged value, or the same end."""
    if mine.status != theirs.status or len(mine.judgements) != len(theirs.judgements):
        return False
    if mine.verdict is not None and theirs.verdict is not None:
        a, b = mine.verdict, theirs.verdict
        return a.label == b.label and same_value(a.got, b.got, a.rtol, a.atol)
    if mine.failure is not None and theirs.failure is not None:
        same_end = ending(mine.failure) == ending(theirs.failure)
        return same_end and last_request(mine) == last_request(theirs)
    return mine.verdict is theirs.verdict and mine.failure is theirs.failure


def ending(failure: RemoteFailure) -> tuple[str, bool]:
    """Return an exception's type, and whether it complains of a None: mostly a missing return."""
    return failure.type, "NoneType" in failure.message


def last_request(outcome: Outcome) -> tuple[Any, ...]:
    """Return what was asked last: the verb, and the name of the operator or attribute."""
    event = outcome.transcript.events[-1]
    names = [a for a in event.arguments if type(a) is str]
    return (event.verb, *names)


def same_value(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Say whether two judged values are equal within a judgement's tolerance."""
    if isinstance(a, Remote) or isinstance(b, Remote):
        return isinstance(a, Remote) and isinstance(b, Remote)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(
            same_value(x, y, rtol, atol) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same_value(a[k], b[k], rtol, atol) for k in a)
    if hasattr(a, "shape") and hasattr(b, "shape"):
        same_shape = a.shape == b.shape and a.dtype == b.dtype
        return same_shape and same_value(a.ravel().tolist(), b.ravel().tolist(), rtol, atol)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return (type(a) is bool) == (type(b) is bool) and number_matches(a, b, rtol, atol)
    return type(a) is type(b) and a == b
