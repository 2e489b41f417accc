"""Grades one stage: gathers evidence for every check, then shrinks, diagnoses and explains."""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from grader.blame import Blame, find_blame
from grader.course import Check, Milestone, Stage, exercises_up_to
from grader.diagnosis import Suspects, diagnose, variants_of
from grader.errors import UsageError
from grader.explain import Explainer, message_of
from grader.faults import faults_of
from grader.kinds import Kinds
from grader.remote import Session
from grader.results import MilestoneResult, StageResult
from grader.runner import Evidence, Example, Outcome, gather, shrink
from grader.stubs import unwritten_exercises
from grader.submission import Submission, Workspace, earlier_submissions, shown, workspace
from grader.worker import LocalWorker, Worker

SLOW = 2  # after so many checks that did not finish, the others get a quarter of the time
HURRY = 0.25


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes:
        seed: of the drawn examples; None draws one.
        examples: how many per check; 0 for each check's own number.
        only: one milestone's id, or None for all.
        mine: take the earlier stages from stages/, too.
        debug: run the code in this process; gives no points.
        diagnose: look for misconceptions.
    """

    seed: int | None = None
    examples: int = 0
    only: str | None = None
    mine: bool = False
    debug: bool = False
    diagnose: bool = True


@dataclass
class Grading:
    """A result, and the evidence it rests on, by the checks' names."""

    result: StageResult
    evidence: dict[str, Evidence] = field(default_factory=dict)


def grade(
    submission: Submission,
    options: Options = Options(),
    stored: Mapping[str, list[Example]] | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Grading:
    """Grade a submission. `stored` are examples, by check, to try before drawing new ones."""
    start = time.monotonic()
    stage = submission.stage
    milestones = [stage.milestone(options.only)] if options.only else list(stage.milestones)
    plan = [(m, check) for m in milestones for check in stage.checks[m.id]]
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    with workspace(stage) as space:
        worker = LocalWorker() if options.debug else Worker()
        earlier = earlier_submissions(submission) if options.mine else []
        stack = space.place(submission, earlier)
        if options.debug:
            stack[stage.folder] = submission.folder
        worker.load(stage.folder, stack, stage.names)
        session = Session(worker)
        try:
            evidence = gather_all(stage, plan, session, seed, options, stored or {}, progress)
            for e in evidence.values():
                if e.failing and not options.debug:
                    progress("looking for the shortest program", 0, 0)
                    shrink(e, session, options.examples)
            blames: dict[str, Blame] = {}
            if earlier:
                progress("looking for the stage to blame", 0, 0)
                grade_one = partial(grade_milestone, seed=seed)
                blames = find_blame(evidence.values(), stage, space, earlier, grade_one)
            names = {}
            if options.diagnose and faults_of(stage) and any(e.shown for e in evidence.values()):
                progress("looking for the cause", 0, 0)
                own = [e for name, e in evidence.items() if name not in blames]
                names = name_causes(stage, space, own)
            unwritten = unwritten_exercises(submission)
            kinds = Kinds(stage, session, space)
            mine = options.mine and submission.target != "submission"
            explainer = Explainer(stage, submission, stack, session, kinds, blames, mine)
            with closing(kinds):
                results = tuple(
                    MilestoneResult(
                        m.id,
                        m.title,
                        0 if options.debug else m.points,
                        m.bonus,
                        tuple(
                            explainer.explain(evidence[c.__name__], names.get(c.__name__), m.id)
                            for c in stage.checks[m.id]
                        ),
                        tuple(name for name in m.exercises if name in unwritten),
                    )
                    for m in milestones
                )
        finally:
            worker.close()
    result = StageResult(
        stage=stage.name,
        title=stage.title,
        target=submission.target,
        earlier="mine" if options.mine else "solutions",
        files=tuple(submission.files),
        seed=seed,
        mechanisms=tuple(worker.mechanisms),
        seconds=time.monotonic() - start,
        milestones=results,
        notes=tuple(where_programs_run(submission)),
    )
    return Grading(result, evidence)


def grade_milestone(submission: Submission, id: str, seed: int) -> StageResult:
    """Grade one milestone of an earlier stage by itself, on the solutions before it."""
    return grade(submission, Options(seed=seed, only=id)).result


def where_programs_run(submission: Submission) -> list[str]:
    """Say from which folder the printed programs import, if it is not the one people are in."""
    home = shown(submission.home)
    if submission.target != "submission" or home == ".":
        return []
    return [f"Run the printed programs in the folder {home}"]


def gather_all(
    stage: Stage,
    plan: list[tuple[Milestone, Check]],
    session: Session,
    seed: int,
    options: Options,
    stored: Mapping[str, list[Example]],
    progress: Callable[[str, int, int], None],
) -> dict[str, Evidence]:
    """Run every check of the plan; each gets its own verdict, whatever the others did."""
    names = [check.__name__ for _, check in plan]
    if len(set(names)) < len(names):
        raise UsageError(f"two checks of {stage.name} have the same name")
    found: dict[str, Evidence] = {}
    known = frozenset(exercises_up_to(stage))
    late = 0
    for number, (milestone, check) in enumerate(plan):
        progress(f"{milestone.id} {milestone.title}", number, len(plan))
        patience = HURRY if late >= SLOW else 1.0
        first = stored.get(check.__name__)
        found[check.__name__] = gather(
            check, session, seed, options.examples, first, patience, known
        )
        late += found[check.__name__].status == "timeout"
    return found


def name_causes(stage: Stage, space: Workspace, evidence: list[Evidence]) -> dict[str, Any]:
    """Return the diagnosed misconceptions by check.

    An example that the reference fails as well is a fault of the check, and becomes an error.
    """
    suspects = Suspects(stage, space)
    try:
        for e in evidence:
            if not e.failing:
                continue
            outcome = suspects.on_reference(e.check, e.failing[0][0])
            if not outcome.passed:
                message = outcome.message or message_of(outcome)
                message = f"The check fails on the solution too: {message}"
                e.stopped = {}, Outcome("error", message=message)
        return diagnose(evidence, variants_of(faults_of(stage)), suspects.outcome)
    finally:
        suspects.close()
