"""Misconceptions as data: small replacements on the solution, read from TOML and checked.

They are the tests of the grader and its diagnosis table at once.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.course import Stage, Table, read_text, read_toml
from grader.errors import CourseError


@dataclass(frozen=True)
class Fault:
    """A misconception: each of `new` is a form it may take, in place of `old` in `file`."""

    id: str
    file: str
    old: str
    new: tuple[str, ...]
    caught_by: tuple[str, ...]
    says: str
    same_as: tuple[str, ...] = ()


@cache
def faults_of(stage: Stage) -> list[Fault]:
    """Return the stage's misconceptions; none where they do not ship."""
    path = stage.root / "solutions" / "faults" / f"{stage.name}.toml"
    if not path.exists() or not stage.source("solutions").exists():
        return []
    return read_faults(path, stage)


def read_faults(path: Path, stage: Stage) -> list[Fault]:
    """Read the faults of a stage; `old` must occur exactly once in the solution's file."""
    top = Table(path, read_toml(path), "")
    faults = []
    for table in top.tables("fault"):
        new = table.take("new", (str, list))
        forms = (new,) if isinstance(new, str) else tuple(map(str, new))
        fault = Fault(
            id=table.take("id", str),
            file=table.take("file", str),
            old=table.take("old", str),
            new=forms,
            caught_by=table.words("caught_by"),
            says=table.take("says", str),
            same_as=table.words("same_as", []),
        )
        table.done()
        faults.append(fault)
        place = f"{path}: fault {fault.id}"
        if fault.file not in stage.files:
            raise CourseError(f"{place}: file: {stage.name} has no {fault.file!r}")
        count = read_text(stage.source("solutions") / fault.file).count(fault.old)
        if count != 1:
            raise CourseError(f"{place}: old: occurs {count} times in {fault.file}, not once")
        for id in fault.caught_by:
            if id not in {m.id for m in stage.milestones}:
                raise CourseError(f"{place}: caught_by: there is no milestone {id!r}")
    top.done()
    ids = [fault.id for fault in faults]
    for fault in faults:
        if ids.count(fault.id) > 1:
            raise CourseError(f"{path}: fault {fault.id}: id: used twice")
        for other in fault.same_as:
            if other not in ids:
                raise CourseError(f"{path}: fault {fault.id}: same_as: there is no {other!r}")
    return faults


@cache
def functions_of_fault(fault: Fault, stage: Stage) -> frozenset[str] | None:
    """Return the functions, as "file:qualified.name", that must run for a fault to matter.

    None where that cannot be told: it lies outside of functions, or in several.
    """
    text, spans = spans_of(stage.source("solutions") / fault.file)
    start = text.index(fault.old)
    first, last = (
        text[:place].count("\n") + 1 for place in (start, start + len(fault.old.rstrip()))
    )
    around = [name for name, (a, b) in spans.items() if a <= first and last <= b]
    touched = [name for name, (a, b) in spans.items() if a <= last and first <= b]
    if not around:
        return None
    inner = [name for name in touched if name not in around]
    return frozenset(f"{fault.file}:{name}" for name in [around[-1], *inner])


@cache
def spans_of(path: Path) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return a file's text, and the first and last line of each of its functions."""
    text = read_text(path)
    return text, dict(function_spans(ast.parse(text), ""))


def function_spans(node: ast.AST, prefix: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield every function's qualified name with its first and last line, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from function_spans(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            name = prefix + child.name
            yield name, (child.lineno, child.end_lineno or child.lineno)
            yield from function_spans(child, f"{name}.<locals>.")
        else:
            yield from function_spans(child, prefix)
