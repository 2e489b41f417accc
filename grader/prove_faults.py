"""The proof that misconceptions are caught, and named rightly or not at all."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from grader.course import Stage
from grader.diagnosis import Suspects, Variant, alike, diagnose, variants_of
from grader.faults import Fault, faults_of
from grader.figures import PROCESSES, Figures, drawn, spread, stage_named
from grader.runner import (
    ENOUGH_PASSES,
    EXAMPLES,
    Evidence,
    Example,
    Stop,
    marker_of,
)
from grader.submission import workspace


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


def prove_faults(stage: Stage, figures: Figures, seeds: int, count: int | None) -> None:
    """Every fault is caught by the milestones that it names; the diagnosis names it, and no other.

    `count` faults, evenly spread, are put into the solution; None for all. All are suspects.
    """
    if not faults_of(stage):
        return
    variants = variants_of(faults_of(stage))
    chosen = spread(range(len(variants)), count)
    parts = [tuple(chosen[part::PROCESSES]) for part in range(PROCESSES)]
    jobs = [(stage.name, seed, part) for seed in range(1, seeds + 1) for part in parts if part]
    with ProcessPoolExecutor(PROCESSES) as pool:
        runs = [run for found in pool.map(run_faults, jobs) for run in found]
    summarise_faults(stage, figures, runs, seeds)


def summarise_faults(stage: Stage, figures: Figures, runs: Sequence[FaultRun], seeds: int) -> None:
    """Write the figures down. The rates of a spread are estimates, known to one form."""
    caught = sum(not run.missed for run in runs)
    named = sum(run.right for run in runs)
    wrong = sum(run.wrong for run in runs)
    invented = sum(bool(run.named_without) for run in runs)
    total = len(runs)
    known = len(variants_of(faults_of(stage)))
    figures.add(
        "faults",
        f"{total // seeds} of {known} forms over {seeds} seeds, caught {caught} of {total} runs",
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
    unsure = seeds if total < known * seeds else 0
    if named + unsure < 0.95 * total:
        figures.complaints.append(f"only {named / total:.1%} of faults are diagnosed by name")
    if invented - unsure > 0.02 * total:
        figures.complaints.append(f"{invented / total:.1%} of unknown faults get a name")


def run_faults(job: tuple[str, int, Sequence[int]]) -> list[FaultRun]:
    """Run some faults of a stage, by the numbers of their variants, under one seed."""
    name, seed, chosen = job
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
                run_fault(stage, variants[number], seed, examples, variants, suspects)
                for number in chosen
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
