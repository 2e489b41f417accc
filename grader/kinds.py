"""Results of a wrong kind: what the judge, which knows only handles, asks for the report's sake.

The name of a class is the learner's claim: it is shown as a word, and decides nothing.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from grader.course import Check, Stage
from grader.diagnosis import cost_of, same_value
from grader.expectations import OBJECT, Judgement, Words, kind_of
from grader.remote import Remote, Session
from grader.runner import Example, Outcome, give_time, marker_of, run_example
from grader.submission import Workspace
from grader.transcript import Event, Transcript
from grader.worker import Worker, WorkerLost


class Kinds:
    """Runs a failing example again, on the learner's code or on the solution, to look at kinds."""

    def __init__(self, stage: Stage, session: Session, space: Workspace):
        self.stage, self.session, self.space = stage, session, space
        self.reference: Session | None = None

    def named(self, check: Check, example: Example, outcome: Outcome) -> Any:
        """Return the judged value; objects in it become words that name their class."""
        got = outcome.verdict.got if outcome.verdict is not None else None
        if not list(remotes_in(got)):
            return got
        verdict = again(check, example, self.session).verdict
        if verdict is None or not same_value(verdict.got, got, 0.0, 0.0):
            return got
        names = class_names(self.session, list(remotes_in(verdict.got)))
        return in_words(got, iter(names))

    def first_misfit(self, check: Check, example: Example, outcome: Outcome) -> Outcome:
        """Return the outcome as it is told: by the first result that is of a wrong kind, if any.

        The solution shows what kind is due. What goes wrong later is a consequence: where a
        function returns None, the next operation raises.
        """
        events = outcome.transcript.events
        if outcome.status != "failed" or marker_of(check).trains:
            return outcome
        if not any(is_plain_result(event) for event in events):
            return outcome
        reference = self.on_reference(check, example)
        for i, (mine, right) in enumerate(zip(events, reference.transcript.events, strict=False)):
            if mine.failure is not None or asked(mine) != asked(right):
                break
            if is_plain_result(mine) and is_misfit(mine.reply, right.reply):
                due = kind_of(right.reply)
                if isinstance(right.reply, Remote):
                    [due] = class_names(reference, [right.reply], "{a} {name}")
                return told_by(outcome, i, Words(due))
        return outcome

    def on_reference(self, check: Check, example: Example) -> Session:
        """Run an example on the solution; return the session, whose transcript tells what happened."""
        if self.reference is None:
            self.reference = Session(Worker())
            stack = self.space.reference()
            self.reference.worker.load(self.stage.folder, stack, self.stage.names)
        again(check, example, self.reference)
        return self.reference

    def close(self) -> None:
        if self.reference is not None:
            self.reference.worker.close()


def again(check: Check, example: Example, session: Session) -> Outcome:
    give_time(session, cost_of(check))
    return run_example(check, example, session)


def is_plain_result(event: Event) -> bool:
    """Say whether a call or an operation gave plain data."""
    return event.verb in ("call", "op") and not isinstance(event.reply, Remote)


def asked(event: Event) -> tuple[Any, ...]:
    """Return what two runs of one example have in common in a request: objects have other numbers."""
    return (event.verb, len(event.arguments), *[a for a in event.arguments if type(a) is str])


def is_misfit(mine: Any, right: Any) -> bool:
    """Say whether `mine` cannot stand for `right`: None for anything, plain data for an object."""
    if right is None or (mine is not None and not isinstance(right, Remote | list | tuple | dict)):
        return False
    return mine is None or isinstance(right, Remote) or not isinstance(mine, list | tuple | dict)


def told_by(outcome: Outcome, number: int, due: Words) -> Outcome:
    """Return the outcome as if the check had judged the result of event `number`."""
    events = outcome.transcript.events[: number + 1]
    origins = {h: o for h, o in outcome.transcript.origins.items() if o[0] <= number}
    got = events[-1].reply
    why = f"is {kind_of(got)}, not {due}" + (": is a `return` missing?" if got is None else "")
    judgement = Judgement("the result", got, due, why)
    return dataclasses.replace(
        outcome, judgements=(judgement,), failure=None, transcript=Transcript(events, origins)
    )


def class_names(
    session: Session, objects: list[Remote], form: str = OBJECT + " of the class {name}"
) -> list[str]:
    """Return words for objects that are alive in a worker, as far as it tells the names."""
    try:
        answered, names = session.exchange(["kinds", objects])
    except WorkerLost:
        answered, names = False, None
    if not answered or type(names) is not list or len(names) != len(objects):
        names = [None] * len(objects)
    return [
        form.format(name=name, a="an" if name[0] in "AEIOU" else "a")
        if type(name) is str and name.isidentifier() and name.isascii()
        else OBJECT
        for name in names
    ]


def remotes_in(value: Any) -> Iterator[Remote]:
    """Yield the objects in a value, however deep in lists and tuples."""
    if isinstance(value, Remote):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from remotes_in(item)


def in_words(value: Any, names: Iterator[str]) -> Any:
    """Return a value with the next of `names` in the place of each object."""
    if isinstance(value, Remote):
        return Words(next(names))
    if isinstance(value, list | tuple):
        return type(value)(in_words(item, names) for item in value)
    return value
