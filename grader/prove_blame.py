"""The proof that `--mine` blames the right stage: misconceptions planted in earlier stages.

Each is put into the learner's earlier stage, all else being right. Where it shows in the
stage that is graded, the blame must fall on its stage, and on a milestone that is said to
catch it.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.blame import find_blame
from grader.course import Stage, read_stages
from grader.faults import Fault, faults_of
from grader.figures import PROCESSES, Figures, drawn, spread, stage_named
from grader.judge import Options, grade
from grader.remote import Session
from grader.results import StageResult
from grader.runner import Evidence, Example, Stop, give_time, marker_of, run_example
from grader.submission import Submission, Workspace, find_submission, workspace
from grader.worker import Worker

EXAMPLES = 12  # of each check, to see whether a fault shows at all
SHOWING = 3  # checks to ask for their blame
GOAL = 0.9


@dataclass(frozen=True)
class Planted:
    """One fault in an earlier stage: whether it shows, and on whom the blame fell."""

    fault: str
    shows: bool
    right: bool
    blamed: str


def prove_blame(stage: Stage, figures: Figures, count: int | None) -> None:
    """Plant `count` faults of the earlier stages, evenly spread; count where the blame falls."""
    earlier = [s for s in read_stages(stage.root) if s.name < stage.name]
    known = [(stage.name, owner.name, fault.id) for owner in earlier for fault in faults_of(owner)]
    jobs = spread(known, count)
    if not jobs:
        return
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = list(pool.map(plant, jobs))
    showing = [planted for planted in found if planted.shows]
    right = sum(planted.right for planted in showing)
    figures.add(
        "--mine",
        f"{len(found)} faults in earlier stages, {len(showing)} show, {right} blamed rightly",
    )
    wrong = [f"{p.fault} on {p.blamed or 'nobody'}" for p in showing if not p.right]
    if wrong:
        figures.add("blamed wrongly", ", ".join(wrong))
    if right < GOAL * len(showing):
        figures.complaints.append(
            f"only {right} of {len(showing)} earlier faults are blamed rightly"
        )


def plant(job: tuple[str, str, str]) -> Planted:
    """Plant one fault in an earlier stage and ask whom the grader blames."""
    name, owner_name, id = job
    stage, owner = stage_named(name), stage_named(owner_name)
    fault = next(f for f in faults_of(owner) if f.id == id)
    with workspace(stage) as space, workspace(owner) as theirs:
        folder = theirs.fault(fault, 0)[owner.folder]
        earlier = [
            submitted(s, folder if s is owner or s.name == owner.name else s.source("solutions"))
            for s in read_stages(stage.root)
            if s.name < stage.name
        ]
        evidence = showing(stage, space, earlier, fault)
        if not evidence:
            return Planted(id, False, True, "")
        blames = find_blame(evidence, stage, space, earlier, grade_quickly)
        said = {str(blame) for blame in blames.values()}
        right = bool(said) and said <= {f"{owner.name} {m}" for m in fault.caught_by}
        return Planted(id, True, right, ", ".join(sorted(said)))


def submitted(stage: Stage, folder: Path) -> Submission:
    return find_submission(stage, "submission", folder)


def showing(
    stage: Stage, space: Workspace, earlier: list[Submission], fault: Fault
) -> list[Evidence]:
    """Return the first few checks of the stage that fail with the learner's earlier stages."""
    worker = Worker()
    worker.load(stage.folder, space.with_earlier(earlier), stage.names)
    session = Session(worker)
    found: list[Evidence] = []
    try:
        for check in (c for m in stage.milestones for c in stage.checks[m.id]):
            if marker_of(check).trains or len(found) == SHOWING:
                continue
            evidence = Evidence(check, 1)
            give_time(session, marker_of(check).seconds or 5.0)
            for example in drawn(check, 1, EXAMPLES):
                if taken(evidence, example, session):
                    found.append(evidence)
                    break
    finally:
        worker.close()
    return found


def taken(evidence: Evidence, example: Example, session: Session) -> bool:
    """Run an example; say whether it fails."""
    try:
        evidence.take(example, run_example(evidence.check, example, session), ())
    except Stop:
        pass
    return bool(evidence.failing or evidence.stopped)


def grade_quickly(submission: Submission, id: str) -> StageResult:
    return grade(submission, Options(seed=1, only=id, diagnose=False)).result
