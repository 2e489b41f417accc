"""The proof that no small change to the solution goes unnoticed."""

import tomllib
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from grader.course import Check, Stage
from grader.figures import PROCESSES, Figures, spread, stage_named
from grader.mutants import Mutant, control_of, mutants_of
from grader.remote import REQUEST_SECONDS, Session
from grader.runner import (
    EXAMPLES,
    Example,
    Stop,
    explore,
    marker_of,
    run_example,
)
from grader.submission import workspace
from grader.worker import Worker

FEW = 10


def prove_mutants(stage: Stage, figures: Figures, count: int | None) -> None:
    """Every mutant that changes behaviour is caught; the others are listed with a reason.

    The control, which changes nothing, must survive.
    """
    mutants = mutants_of(stage)
    chosen = spread(mutants, count)
    reasons = equivalent_mutants(stage)
    if not survives((stage.name, control_of(stage))):
        figures.complaints.append(
            "the control, an unchanged solution, is caught as if it were a mutant"
        )
    jobs = [(stage.name, mutant) for mutant in chosen]
    with ProcessPoolExecutor(PROCESSES) as pool:
        survived = [m for m, alive in zip(chosen, pool.map(survives, jobs, chunksize=4)) if alive]
    unexplained = [m for m in survived if m.name not in reasons]
    figures.add(
        "mutants",
        f"{len(chosen)} of {len(mutants)}, caught {len(chosen) - len(survived)}, "
        f"equivalent {len(survived) - len(unexplained)}, unexplained {len(unexplained)}",
    )
    figures.complaints += [f"mutant survives: {m.name} (line {m.line})" for m in unexplained]
    if count is None:
        gone = sorted(set(reasons) - {m.name for m in survived})
        figures.complaints += [f"listed as equivalent, but caught or gone: {name}" for name in gone]


def equivalent_mutants(stage: Stage) -> dict[str, str]:
    """Return the mutants known to behave like the solution, and why, from tests/mutants/."""
    path = stage.root / "tests" / "mutants" / f"{stage.name}.toml"
    if not path.exists():
        return {}
    return {
        e["mutant"]: e["why"] for e in tomllib.loads(path.read_text(encoding="utf-8"))["equivalent"]
    }


def survives(job: tuple[str, Mutant]) -> bool:
    """Say whether a mutant passes every example of every check."""
    name, mutant = job
    stage = stage_named(name)
    with workspace(stage) as space:
        worker = Worker()
        try:
            worker.load(
                stage.folder, space.variant("mutant", mutant.file, mutant.text), stage.names
            )
            session = Session(worker)
            owner = stage.exercises.get(mutant.function)
            ids = [m.id for m in stage.milestones]
            first = ids.index(owner.id) if owner else 0
            checks = [c for id in ids[first:] + ids[:first] for c in stage.checks[id]]
            # A few examples of every check tell of most mutants; all of them, of the rest.
            return all(passes(check, session, few) for few in (FEW, 0) for check in checks)
        finally:
            worker.close()


def passes(check: Check, session: Session, examples: int) -> bool:
    session.patience = marker_of(check).seconds or REQUEST_SECONDS
    outcomes: list[Any] = []

    def visit(example: Example) -> None:
        outcomes.append(run_example(check, example, session))
        if outcomes[-1].status not in ("passed", "discarded"):
            raise Stop

    explore(check, 1, min(examples or EXAMPLES, marker_of(check).examples or EXAMPLES), visit)
    return bool(outcomes) and outcomes[-1].status in ("passed", "discarded")
