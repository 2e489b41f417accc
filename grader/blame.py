"""Whose bug it is: the first of the learner's earlier stages that breaks an example by itself.

An example that failed with all of the learner's work is run again on the reference with
the learner's first stage in it, then with the first two, and so on. The stage that
breaks it is graded on its own, and its failing milestone is named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.course import Stage
from grader.remote import Session
from grader.results import Misconception, StageResult
from grader.runner import Evidence, run_example
from grader.submission import Submission, Workspace
from grader.worker import Worker

GradeOne = Callable[[Submission, str], StageResult]  # of a submission, one milestone


@dataclass(frozen=True)
class Blame:
    """An earlier stage, its first failing milestone ("" where it passes its own), and why it fails."""

    stage: str
    milestone: str
    misconception: Misconception | None = None

    def __str__(self) -> str:
        return f"{self.stage} {self.milestone}".strip()


def find_blame(
    evidence: Iterable[Evidence],
    stage: Stage,
    space: Workspace,
    earlier: list[Submission],
    grade_one: GradeOne,
) -> dict[str, Blame]:
    """Return whom to blame, by the names of the checks that an earlier stage breaks.

    `earlier` is the learner's work in the earlier stages, in order.
    """
    failing = {e.check.__name__: e for e in evidence if e.failing or e.stopped}
    found: dict[str, Blame] = {}
    known: dict[str, Blame] = {}
    worker = Worker()
    session = Session(worker)
    try:
        for count, submission in enumerate(earlier, 1):
            if not failing:
                break
            worker.load(stage.folder, space.with_earlier(earlier[:count]), stage.names)
            for name, e in list(failing.items()):
                if breaks(e, session):
                    owner = submission.stage.name
                    if owner not in known:
                        known[owner] = blame_on(submission, grade_one)
                    found[name] = known[owner]
                    del failing[name]
    finally:
        worker.close()
    return found


def breaks(evidence: Evidence, session: Session) -> bool:
    """Say whether the example that is shown fails in this session as well."""
    shown = evidence.shown
    if shown is None:
        return False
    outcome = run_example(evidence.check, shown[0], session)
    return outcome.status not in ("passed", "discarded")


def blame_on(submission: Submission, grade_one: GradeOne) -> Blame:
    """Grade an earlier stage up to its first milestone that fails."""
    stage = submission.stage
    for milestone in stage.milestones:
        if milestone.bonus:
            continue
        result = grade_one(submission, milestone.id)
        if not result.done:
            checks = [c for m in result.milestones for c in m.checks]
            named = [c.misconception for c in checks if c.misconception is not None]
            return Blame(stage.name, milestone.id, named[0] if named else None)
    return Blame(stage.name, "")
