"""The terminal report: pure functions from a result to styled lines."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from grader.results import CheckResult, MilestoneResult, StageResult

Span = tuple[str, str]  # text and style
Line = list[Span]

MARKS = {
    "passed": ("✓", "green"), "failed": ("✗", "red"), "todo": ("·", "dim"), "blocked": ("·", "dim"),
    "timeout": ("✗", "red"), "crashed": ("✗", "red"), "error": ("!", "magenta"),
}  # fmt: skip
WORDS = {"todo": "to do", "error": "the grader failed", "timeout": "did not finish"}
ASCII = str.maketrans({"✓": "+", "✗": "x", "·": "-", "█": "#", "░": ".", "—": "-"})
SHOWN_IN_FULL = 3
WIDTH = 96


def stage_report(result: StageResult, invitation: str = "") -> list[Line]:
    """Return the report of one stage: a table, the first failures in full, what to do next.

    `invitation` is the name to use in commands, like "stage1"; the result's own by default.
    """
    stage = invitation or result.stage
    number = result.stage.removeprefix("stage")
    digest = result.files[0] if result.files else ("no file", "")
    heading = f"Stage {number}  {result.title}"
    place = f"{digest[0]}  {digest[1][:7]}"
    lines: list[Line] = [[(f"{heading:<44}", "bold"), (safe(place), "dim")]]
    titles = max(len(m.title) for m in result.milestones) + 2
    lines += [milestone_line(m, titles) for m in result.milestones]
    lines.append([(" " * (titles + 5) + f"{total_of(result):>9}", "bold")])
    failures = [(m, c) for m in result.milestones for c in m.checks if is_failure(c)]
    lines += failure_lines(failures)
    lines += [[], *closing_lines(result, stage, failures)]
    lines += [[(safe(note), "yellow")] for note in result.notes]
    return lines


def total_of(result: StageResult) -> str:
    top = sum(m.max_score for m in result.milestones if not m.bonus)
    bonus = f" +{number_text(result.bonus)}" if result.bonus else ""
    return f"{number_text(result.score)}/{number_text(top)}{bonus}"


def milestone_line(m: MilestoneResult, width: int) -> Line:
    mark, style = MARKS[m.status]
    score = f"{number_text(m.score)}/{number_text(m.max_score)}"
    word = WORDS.get(m.status, m.status)
    tail = f": {short_reason(m)}" if m.status in ("todo", "blocked") else ""
    bonus = "  (elective)" if m.bonus else ""
    return [
        (f"  {m.id:<5}{m.title:<{width}}{score:>7}  ", ""),
        (f"{mark} {word}", style),
        (safe(tail) + bonus, "dim"),
    ]


def short_reason(m: MilestoneResult) -> str:
    """Name the first unwritten exercise and count the others, or say what is needed first."""
    if m.status == "todo":
        names = list(m.unwritten) or [
            c.message.removeprefix("to do: ") for c in m.checks if c.status == "todo"
        ]
        return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
    return next(c.message for c in m.checks if c.status == "blocked")


def is_failure(check: CheckResult) -> bool:
    return check.status in ("failed", "timeout", "crashed", "error")


def failure_lines(failures: Sequence[tuple[MilestoneResult, CheckResult]]) -> list[Line]:
    """The first failure of each of the first few milestones in full, the others by name.

    What has the same cause, a file that does not load, say, is told once.
    """
    lines: list[Line] = []
    seen: set[str] = set()
    told: set[str] = set()
    rest: list[tuple[MilestoneResult, CheckResult]] = []
    for milestone, check in failures:
        same = check.where is not None and f"{check.message} {check.where}" in told
        if milestone.id in seen or same or len(seen) == SHOWN_IN_FULL:
            rest.append((milestone, check))
            continue
        seen.add(milestone.id)
        told.add(f"{check.message} {check.where}")
        lines += [[], *check_lines(milestone, check)]
    if rest:
        lines += [[], [("Also not passed yet:", "bold")]]
        for milestone, check in rest[:12]:
            lines.append([(f"  {milestone.id:<5}", ""), (safe(check.claim), "dim")])
        if len(rest) > 12:
            lines.append([(f"  and {len(rest) - 12} more", "dim")])
    return lines


def check_lines(milestone: MilestoneResult, check: CheckResult) -> list[Line]:
    """One failure in full: law, program, message, cause, place, what the code printed."""
    mark, style = MARKS[check.status]
    lines: list[Line] = [[(f"{mark} {milestone.id}  {check.claim}", f"bold {style}")], []]
    if check.status == "error":
        lines.append([("  The grader itself failed here; this is not your mistake:", "magenta")])
        return lines + [[(f"  {safe(line)}", "dim")] for line in check.message.splitlines()]
    if check.repro is not None:
        lines += [program_line(line) for line in check.repro.splitlines()]
        lines.append([])
    if check.message and not (check.repro and check.actual and check.expected and is_plain(check)):
        lines += paragraph(check.message, "")
    if check.blame is not None:
        lines += blame_lines(check.blame)
    if check.misconception is not None:
        lines += paragraph(f"A common cause: {check.misconception.says}", "bold yellow")
    if check.where is not None:
        lines.append([(f"  Look at {safe(check.where)}", "")])
    if check.stdout.strip():
        lines.append([("  Your code printed:", "")])
        lines += [[(f"    | {safe(line)}", "dim")] for line in clip(check.stdout).splitlines()]
    return lines


def blame_lines(blame: str) -> list[Line]:
    """Say in which earlier stage of the learner's the bug sits, and how to see it there."""
    stage, _, milestone = blame.partition(" ")
    number = stage.removeprefix("stage")
    if not milestone:
        text = f"Your stage {number} breaks this, though it passes its own checks."
        return paragraph(text, "bold yellow")
    command = f"python -m grader {stage} --only {milestone}"
    text = f"The bug is in your stage {number}: {milestone} fails there. See it: {command}"
    return paragraph(text, "bold yellow")


def is_plain(check: CheckResult) -> bool:
    """Say whether got and expected, which the program shows, tell all that the message does."""
    return check.message.endswith(" is wrong")


def program_line(line: str) -> Line:
    line = safe(line)
    if line.startswith("# "):
        return [(line, "bold")]
    code, mark, remark = line.partition("  # ")
    return [(code, "cyan"), (mark + remark, "bold")] if mark else [(code, "cyan")]


def paragraph(text: str, style: str) -> list[Line]:
    return [[(f"  {line}", style)] for line in textwrap.wrap(safe(text), WIDTH - 4)]


def closing_lines(
    result: StageResult, stage: str, failures: Sequence[tuple[MilestoneResult, CheckResult]]
) -> list[Line]:
    """What to do next: the commands for a hint and for the same run again."""
    if result.broken:
        return [
            [
                (
                    "Part of the grader failed, so this is no verdict. Please report the lines above.",
                    "magenta",
                )
            ]
        ]
    if result.done:
        graded = " and ".join(m.id for m in result.milestones)
        what = f"{graded} is passed." if len(result.milestones) == 1 else "All milestones passed."
        return [[(what, "bold green"), ("  next:  python -m grader", "")]]
    unfinished = [m for m in result.milestones if m.status != "passed"]
    first = failures[0][0] if failures else unfinished[0]
    again = f"python -m grader {stage} --only {first.id} --seed {result.seed}"
    if failures:
        hint = f"python -m grader hint {result.stage}"
        lines: list[Line] = [[("hint:        ", "bold"), (hint, "")]]
        lines = lines if result.target == "stages" else []  # hints go with one's own progress
        return [*lines, [("same again:  ", "bold"), (again, "")]]
    todo = next((m for m in unfinished if m.status == "todo"), None)
    what = f"write {short_reason(todo).split(' and ')[0]}" if todo else safe(short_reason(first))
    command = f"python -m grader {stage} --only {(todo or first).id}"
    return [[("next:        ", "bold"), (f"{what}, then: {command}", "")]]


def overview(rows: Iterable[tuple[str, str, float, int, int]]) -> list[Line]:
    """Where you are: a bar per stage. Rows: name, title, score, milestones passed, milestones."""
    lines: list[Line] = []
    for name, title, score, passed, count in rows:
        full = round(score / 5)
        lines.append([
            (f"{name}  ", "bold"), ("█" * full, "green"), ("░" * (20 - full), "dim"),
            (f" {number_text(score):>5}/100  ", ""), (f"{title}, {passed} of {count} milestones", ""),
        ])  # fmt: skip
    return lines


def number_text(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def clip(text: str, lines: int = 20) -> str:
    parts = text.strip("\n").splitlines()
    if len(parts) <= lines:
        return "\n".join(parts)
    return "\n".join([*parts[:lines], f"... {len(parts) - lines} more lines"])


def safe(text: str) -> str:
    """Return text that a submission may have written, without control characters."""
    text = re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?", "", text)
    text = re.sub(r"[\u202a-\u202e\u2066-\u2069\u200e\u200f]", "", text)
    return "".join(c if c.isprintable() else " " for c in text)


def plain(lines: Iterable[Line], ascii_only: bool = False) -> str:
    """Return styled lines as text."""
    text = "\n".join("".join(span for span, _ in line).rstrip() for line in lines)
    return text.translate(ASCII).encode("ascii", "replace").decode() if ascii_only else text
