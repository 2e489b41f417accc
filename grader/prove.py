"""The course proves itself: right answers pass, stubs get nothing, wrong answers are caught and named.

Examples are drawn once per seed and reused: an example is plain data, so what a variant
shows on it is a fact that any number of diagnoses can look up.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader import terminal
from grader.course import Stage
from grader.figures import Figures
from grader.judge import Options, grade
from grader.prove_blame import prove_blame
from grader.prove_engines import prove_right_engines
from grader.prove_faults import prove_faults
from grader.prove_mutants import prove_mutants
from grader.report import Line
from grader.stubs import stub_of
from grader.submission import find_submission, workspace

BLAME_SHARE = 8  # to find the stage to blame takes so much longer than to name a fault


def prove_course(
    stages: Sequence[Stage],
    seeds: int,
    examples: int,
    faults: int | None,
    mutants: int | None,
    report: Path | None,
) -> int:
    """Prove stages and print the figures; return 0 if every promise holds, else 1."""
    all_figures = []
    for stage in stages:
        figures = Figures(stage.name)
        planted = None if faults is None else faults // BLAME_SHARE
        for prove, *size in (
            (prove_ends,),
            (prove_right_engines, examples),
            (prove_faults, seeds, faults),
            (prove_blame, planted),
            (prove_mutants, mutants),
        ):
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
