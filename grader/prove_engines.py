"""The proof that right answers pass: differently built engines, over many examples."""

import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grader.course import Check, Stage, read_text
from grader.errors import UsageError
from grader.figures import PROCESSES, Figures, check_named, drawn, stage_named
from grader.remote import REQUEST_SECONDS, Session
from grader.runner import (
    Evidence,
    gather,
    marker_of,
    run_example,
)
from grader.submission import Submission, Workspace, find_submission, shown, workspace
from grader.worker import MEMORY_BYTES, START_SECONDS, Worker

SLOW_SHARE = 20
EXCEPTIONS = "exceptions.toml"
MAX_EXCEPTIONS = 5
GIBIBYTE = 2**30


@dataclass(frozen=True)
class Engine:
    """A right answer to a stage.

    Attributes:
        submission: its files.
        exceptions: the checks that it cannot pass, with the reason why it is right all the same.
        needs: the package that it is built on, or "".
        memory: the bytes that its worker may address.
        earlier: what it takes instead of the solutions of earlier stages.
    """

    submission: Submission
    exceptions: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    memory: int = MEMORY_BYTES
    earlier: tuple[Submission, ...] = ()

    @property
    def name(self) -> str:
        return self.submission.folder.name

    @property
    def missing(self) -> str:
        """Say why it cannot run here, or ""."""
        installed = not self.needs or find_spec(self.needs) is not None
        return "" if installed else f"{self.name} is skipped: {self.needs} is not installed"

    def checks(self) -> list[Check]:
        """Return the checks that it must pass."""
        return [c for c in all_checks(self.submission.stage) if c.__name__ not in self.exceptions]


def all_checks(stage: Stage) -> list[Check]:
    return [check for m in stage.milestones for check in stage.checks[m.id]]


def engines_of(stage: Stage) -> list[Engine]:
    """The solution, and the differently written right answers under tests/engines/."""
    folder = engines_folder(stage)
    others = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    return [Engine(find_submission(stage, "solutions"))] + [read_engine(stage, p) for p in others]


def engines_folder(stage: Stage) -> Path:
    return stage.root / "tests" / "engines" / stage.name


def read_engine(stage: Stage, folder: Path) -> Engine:
    """Read an engine and its exceptions; UsageError where these are too many, or of no check."""
    path = folder / EXCEPTIONS
    facts: dict[str, Any] = tomllib.loads(read_text(path)) if path.is_file() else {}
    listed = [(e["check"], e["reason"]) for e in facts.pop("exception", [])]
    wrong = sorted({name for name, _ in listed} - {c.__name__ for c in all_checks(stage)})
    if wrong:
        raise UsageError(f"{shown(path)}: {stage.name} has no check {', '.join(wrong)}.")
    if len(listed) > MAX_EXCEPTIONS:
        raise UsageError(f"{shown(path)} lists more than {MAX_EXCEPTIONS} exceptions.")
    earlier = []
    for name, engine in facts.pop("earlier", {}).items():
        before = stage_named(name)
        earlier.append(find_submission(before, "submission", engines_folder(before) / engine))
    memory = facts.pop("memory", 0) * GIBIBYTE or MEMORY_BYTES
    needs = facts.pop("needs", "")
    if facts:
        raise UsageError(f"{shown(path)}: what is {', '.join(facts)}?")
    submission = find_submission(stage, "submission", folder)
    return Engine(submission, dict(listed), needs, memory, tuple(earlier))


@contextmanager
def opened(engine: Engine, folder: Path) -> Iterator[Session]:
    """Provide a worker with an engine, which is copied into `folder`."""
    stage = engine.submission.stage
    worker = Worker(engine.memory)
    stack = Workspace(stage, folder).place(engine.submission, engine.earlier)
    worker.load(stage.folder, stack, stage.names)
    session = Session(worker)
    try:
        if engine.needs:  # to load a large package is not the engine's time
            session.patience = START_SECONDS
            getattr(session.stage, next(iter(stage.names)))
            session.patience = REQUEST_SECONDS
        yield session
    finally:
        worker.close()


def graded(engine: Engine, seed: int, examples: int = 0) -> list[Evidence]:
    """Run an engine's checks as a grading does."""
    with workspace(engine.submission.stage) as space, opened(engine, space.folder) as session:
        return [gather(check, session, seed, examples) for check in engine.checks()]


def prove_right_engines(stage: Stage, figures: Figures, examples: int) -> None:
    """No right engine fails an example of any check."""
    jobs = [(stage.name, check.__name__, share_of(check, examples)) for check in all_checks(stage)]
    total, alarms = 0, []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for runs, found in pool.map(false_alarms, jobs):
            total += runs
            alarms += found
    engines = engines_of(stage)
    missing = [e.missing for e in engines if e.missing]
    count = f"{len(engines) - len(missing)}, {total:,} examples in all, {len(alarms)} false alarms"
    figures.add("right engines", "; ".join([count, *missing]))
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
    engines = [e for e in engines_of(stage) if not e.missing and check_name not in e.exceptions]
    runs, alarms = 0, []
    with workspace(stage) as space, ExitStack() as stack:
        sessions = [
            (engine.name, stack.enter_context(opened(engine, space.folder / str(number))))
            for number, engine in enumerate(engines)
        ]
        for example in drawn(check, 1, examples):
            for engine_name, session in sessions:
                session.patience = marker_of(check).seconds or REQUEST_SECONDS
                outcome = run_example(check, example, session)
                runs += outcome.status != "discarded"
                if outcome.status not in ("passed", "discarded"):
                    alarms.append(f"{engine_name} {check_name} {example} {outcome}")
    return runs, alarms
