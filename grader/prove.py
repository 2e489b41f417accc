"""The course proves itself: right answers pass, stubs get nothing, wrong answers are caught and named.

Examples are drawn once per seed and reused: an example is plain data, so what a variant
shows on it is a fact that any number of diagnoses can look up.
"""

import os
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import count as naturals
from pathlib import Path
from typing import Any

from grader import terminal
from grader.course import Check, Stage, find_stage
from grader.diagnosis import Suspects, Variant, alike, diagnose, variants_of
from grader.faults import Fault, faults_of
from grader.judge import Options, grade
from grader.mutants import Mutant, control_of, mutants_of
from grader.remote import REQUEST_SECONDS, Session
from grader.report import Line
from grader.runner import (
    ENOUGH_PASSES,
    EXAMPLES,
    Evidence,
    Example,
    Stop,
    explore,
    marker_of,
    run_example,
)
from grader.stubs import stub_of
from grader.submission import Submission, find_submission, workspace
from grader.worker import Worker

CHUNK = 500  # hypothesis slows down on long runs: many examples are drawn in several
FEW = 10
SLOW_SHARE = 20
PROCESSES = os.cpu_count() or 1


stage_named = cache(find_stage)  # a process reads the course once


@dataclass(frozen=True)
class FaultRun:
    """One fault under one seed.

    Attributes:
        missed: milestones that should have caught it and did not.
        named: misconceptions that the diagnosis named; named_without: the same, when the
            fault's own entry and its `same_as` are not known.
    """

    fault: str
    seed: int
    missed: tuple[str, ...]
    named: frozenset[str]
    named_without: frozenset[str]
    right: bool
    wrong: bool


@dataclass
class Figures:
    """What was found of one stage; `complaints` are the broken promises."""

    stage: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def add(self, what: str, figure: str) -> None:
        self.lines.append((what, figure))


def prove_course(
    stages: Sequence[Stage], seeds: int, examples: int, mutants: int | None, report: Path | None
) -> int:
    """Prove stages and print the figures; return 0 if every promise holds, else 1."""
    all_figures = []
    for stage in stages:
        figures = Figures(stage.name)
        for prove, *size in (
            (prove_ends,), (prove_right_engines, examples), (prove_faults, seeds), (prove_mutants, mutants)
        ):  # fmt: skip
            start, known = time.monotonic(), len(figures.lines)
            prove(stage, figures, *size)
            for what, figure in figures.lines[known:]:
                terminal.show([[(f"{stage.name}  {what:<26}", "bold"), (figure, "")]])
            terminal.show([[(f"        took {time.monotonic() - start:.0f} s", "dim")]])
        all_figures.append(figures)
    lines: list[Line] = [[(f"✗ {f.stage}: {c}", "red")] for f in all_figures for c in f.complaints]
    terminal.show(lines or [[("Every promise holds.", "bold green")]])
    if report is not None:
        report.write_text(as_markdown(all_figures), encoding="utf-8")
    return 1 if lines else 0


def as_markdown(all_figures: Iterable[Figures]) -> str:
    parts = []
    for figures in all_figures:
        rows = [f"| {what} | {figure} |" for what, figure in figures.lines]
        parts += [f"## {figures.stage}", "", "| what | figure |", "| --- | --- |", *rows, ""]
        parts += [f"* {complaint}" for complaint in figures.complaints]
    return "\n".join(parts) + "\n"


# Solution and stub.


def prove_ends(stage: Stage, figures: Figures) -> None:
    """The solution gets everything; the untouched stub nothing."""
    solution = grade(find_submission(stage, "solutions"), Options(seed=1)).result
    figures.add(
        "solution", f"{solution.score:g} of 100, bonus {solution.bonus:g}, {solution.seconds:.1f} s"
    )
    bonus = sum(m.points for m in stage.milestones if m.bonus)
    if (solution.score, solution.bonus) != (100, bonus):
        figures.complaints.append(f"the solution gets {solution.score:g} of 100")
    with workspace(stage) as space:
        folder = space.folder / "stub"
        folder.mkdir()
        for file in stage.files:
            (folder / file).write_text(stub_of(stage, file), encoding="utf-8")
        stub = grade(find_submission(stage, "submission", folder), Options(seed=1)).result
    statuses = Counter(m.status for m in stub.milestones)
    figures.add("stub", f"{stub.score:g} of 100, {dict(statuses)}, {stub.seconds:.1f} s")
    if stub.score or stub.bonus or set(statuses) - {"todo", "blocked"}:
        figures.complaints.append(f"the stub gets {stub.score:g} points: {dict(statuses)}")


# Right engines.


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


def drawn(check: Check, seed: int, examples: int) -> Iterable[Example]:
    """Yield up to `examples` examples of a check, drawn in chunks under seeds from `seed` on."""
    seen = 0
    for chunk in naturals():
        found: list[Example] = []
        explore(check, seed + 1000 * chunk, min(CHUNK, examples - seen), found.append)
        yield from found
        seen += len(found)
        if seen >= examples or chunk * CHUNK >= 2 * examples or not found:
            return


def check_named(stage: Stage, name: str) -> Check:
    return next(c for m in stage.milestones for c in stage.checks[m.id] if c.__name__ == name)


# Faults.


def prove_faults(stage: Stage, figures: Figures, seeds: int) -> None:
    """Every fault is caught by the milestones that it names; the diagnosis names it, and no other."""
    if not faults_of(stage):
        return
    parts = PROCESSES
    jobs = [
        (stage.name, seed, part, parts) for seed in range(1, seeds + 1) for part in range(parts)
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        runs = [run for found in pool.map(run_faults, jobs) for run in found]
    summarise_faults(stage, figures, runs, seeds)


def summarise_faults(stage: Stage, figures: Figures, runs: Sequence[FaultRun], seeds: int) -> None:
    caught = sum(not run.missed for run in runs)
    named = sum(run.right for run in runs)
    wrong = sum(run.wrong for run in runs)
    invented = sum(bool(run.named_without) for run in runs)
    total = len(runs)
    figures.add(
        "faults", f"{len(faults_of(stage))} over {seeds} seeds, caught {caught} of {total} runs"
    )
    figures.add("diagnosed by name", f"{named} of {total} ({named / total:.1%}), wrongly {wrong}")
    figures.add("unknown, yet named", f"{invented} of {total} ({invented / total:.1%})")
    for run in runs:
        if run.missed:
            figures.complaints.append(
                f"{run.fault} is not caught by {', '.join(run.missed)} (seed {run.seed})"
            )
        if run.wrong:
            figures.complaints.append(
                f"{run.fault} is taken for {sorted(run.named)} (seed {run.seed})"
            )
    unnamed = Counter(run.fault for run in runs if not run.right)
    invented_names = Counter(
        (run.fault, *sorted(run.named_without)) for run in runs if run.named_without
    )
    if unnamed:
        figures.add("not named", ", ".join(f"{id} x{n}" for id, n in unnamed.most_common()))
    if invented_names:
        figures.add(
            "without its entry",
            ", ".join(f"{ids[0]} as {ids[1:]} x{n}" for ids, n in invented_names.most_common()),
        )
    if named < 0.95 * total:
        figures.complaints.append(f"only {named / total:.1%} of faults are diagnosed by name")
    if invented > 0.02 * total:
        figures.complaints.append(f"{invented / total:.1%} of unknown faults get a name")


def run_faults(job: tuple[str, int, int, int]) -> list[FaultRun]:
    """Run every n-th fault of a stage under one seed."""
    name, seed, part, parts = job
    stage = stage_named(name)
    variants = variants_of(faults_of(stage))
    examples = {
        check.__name__: list(drawn(check, seed, marker_of(check).examples or EXAMPLES))
        for m in stage.milestones
        for check in stage.checks[m.id]
    }
    with workspace(stage) as space:
        suspects = Suspects(stage, space)
        try:
            return [
                run_fault(stage, variant, seed, examples, variants, suspects)
                for variant in variants[part::parts]
            ]
        finally:
            suspects.close()


def run_fault(
    stage: Stage,
    variant: Variant,
    seed: int,
    examples: dict[str, list[Example]],
    variants: Sequence[Variant],
    suspects: Suspects,
) -> FaultRun:
    """Grade one fault as if it were a submission, and diagnose it with and without its own entry."""
    fault = variant.fault
    evidences, missed = [], []
    for milestone in stage.milestones:
        due = milestone.id in fault.caught_by
        found = []
        for check in stage.checks[milestone.id]:
            if marker_of(check).trains and not due:
                continue
            evidence = Evidence(check, seed)
            try:
                for example in examples[check.__name__][: None if due else ENOUGH_PASSES]:
                    evidence.take(
                        example, suspects.outcome(variant, check, example), stage.exercises
                    )
            except Stop:
                pass
            found.append(evidence)
        if due and all(e.status == "passed" for e in found):
            missed.append(milestone.id)
        evidences += found
    named = names_in(diagnose(evidences, variants, suspects.outcome))
    own = {f.id for f in faults_of(stage) if f.id == fault.id or alike(f, fault)}
    others = [v for v in variants if v.fault.id not in own]
    without = names_in(diagnose(evidences, others, suspects.outcome))
    return FaultRun(
        fault.id, seed, tuple(missed), named, without, bool(named & own), bool(named - own)
    )


def names_in(found: dict[str, Fault]) -> frozenset[str]:
    return frozenset(fault.id for fault in found.values())


# Mutants.


def prove_mutants(stage: Stage, figures: Figures, count: int | None) -> None:
    """Every mutant that changes behaviour is caught; the others are listed with a reason.

    The control, which changes nothing, must survive.
    """
    mutants = mutants_of(stage)
    chosen = mutants if count is None else spread(mutants, count)
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


def spread(mutants: Sequence[Mutant], count: int) -> list[Mutant]:
    """Return `count` mutants spread evenly over the solution."""
    step = max(len(mutants) / max(count, 1), 1)
    return [mutants[int(i * step)] for i in range(min(count, len(mutants)))]


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
