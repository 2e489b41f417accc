"""The proof that right answers pass: differently built engines, over many examples."""

from concurrent.futures import ProcessPoolExecutor

from grader.course import Check, Stage
from grader.figures import PROCESSES, Figures, check_named, drawn, stage_named
from grader.remote import REQUEST_SECONDS, Session
from grader.runner import (
    marker_of,
    run_example,
)
from grader.submission import Submission, find_submission, workspace
from grader.worker import Worker

SLOW_SHARE = 20


def engines_of(stage: Stage) -> list[Submission]:
    """The solution, and the differently written right answers under tests/engines/."""
    folder = stage.root / "tests" / "engines" / stage.name
    others = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    found = [find_submission(stage, "solutions")]
    return found + [find_submission(stage, "submission", path) for path in others]


def prove_right_engines(stage: Stage, figures: Figures, examples: int) -> None:
    """No right engine fails an example of any check."""
    jobs = [
        (stage.name, check.__name__, share_of(check, examples))
        for m in stage.milestones
        for check in stage.checks[m.id]
    ]
    total, alarms = 0, []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for runs, found in pool.map(false_alarms, jobs):
            total += runs
            alarms += found
    engines = len(engines_of(stage))
    figures.add(
        "right engines", f"{engines}, {total:,} examples in all, {len(alarms)} false alarms"
    )
    figures.complaints += [f"a right engine fails: {alarm}" for alarm in alarms[:5]]


def share_of(check: Check, examples: int) -> int:
    """How many examples a check gets: those that take long, by their own word, a twentieth."""
    marker = marker_of(check)
    if not marker.seconds:
        return examples
    return min(max(examples // SLOW_SHARE, 5), 50 if marker.trains else examples)


def false_alarms(job: tuple[str, str, int]) -> tuple[int, list[str]]:
    """Run one check on every right engine; return the number of runs and the failures."""
    name, check_name, examples = job
    stage = stage_named(name)
    check = check_named(stage, check_name)
    runs, alarms = 0, []
    with workspace(stage) as space:
        sessions = []
        for number, engine in enumerate(engines_of(stage)):
            space_of_engine = type(space)(stage, space.folder / str(number))
            worker = Worker()
            worker.load(stage.folder, space_of_engine.place(engine), stage.names)
            sessions.append((engine.folder.name, Session(worker)))
        try:
            for example in drawn(check, 1, examples):
                for engine_name, session in sessions:
                    session.patience = marker_of(check).seconds or REQUEST_SECONDS
                    outcome = run_example(check, example, session)
                    runs += outcome.status != "discarded"
                    if outcome.status not in ("passed", "discarded"):
                        alarms.append(f"{engine_name} {check_name} {example} {outcome}")
        finally:
            for _, session in sessions:
                session.worker.close()
    return runs, alarms
