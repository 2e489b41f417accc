"""Stubs are the solutions with the bodies of the exercises taken out.

What remains of an exercise is its signature, its docstring, and an error that names it.
"""

import ast
from pathlib import Path

from grader.course import Stage, functions_of, parse, read_text
from grader.errors import CourseError, UsageError
from grader.submission import Submission


def stub_of(stage: Stage, file: str) -> str:
    """Return the stub of one of the stage's files."""
    path = stage.source("solutions") / file
    lines = read_text(path).splitlines()
    functions = functions_of(parse(path))
    owners = stage.exercises
    for name in sorted(functions, key=lambda n: -functions[n].lineno):
        if name in owners:
            node = functions[name]
            first, end = body_lines(node)
            indent = " " * (node.col_offset + 4)
            lines[first - 1 : end] = [
                f'{indent}raise NotImplementedError("{owners[name].id} {name}")'
            ]
    source = path.relative_to(stage.root).as_posix()
    return f"# Generated from {source}. The bodies are yours to write.\n" + "\n".join(lines) + "\n"


def body_lines(node: ast.FunctionDef) -> tuple[int, int]:
    """Return the first and last line of a function's body below its docstring."""
    body = node.body
    if body[0].lineno == node.lineno:
        raise CourseError(f"{node.name}: an exercise must not stand on one line")
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = (body[0].end_lineno or 0) + 1 if documented else body[0].lineno
    return first, node.end_lineno or first


def stale_stubs(stage: Stage, folder: Path | None = None) -> list[str]:
    """Return the files whose stub in `folder` (stages/) is not what the solution gives."""
    folder = folder or stage.source("stages")
    return [
        file
        for file in stage.files
        if not (folder / file).exists() or read_text(folder / file) != stub_of(stage, file)
    ]


def written_exercises(stage: Stage, file: Path) -> list[str]:
    """Return what a learner has begun in a file: exercises that do more than raise, own functions."""
    try:
        functions = functions_of(ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError):
        return [file.name]  # it cannot be read, so it is somebody's work
    exercises = stage.exercises
    known = functions_of(parse(stage.source("solutions") / file.name))
    return [
        name
        for name, node in functions.items()
        if (name in exercises and is_written(node)) or name not in known
    ]


def unwritten_exercises(submission: Submission) -> set[str]:
    """Return the exercises whose bodies still only raise, in the files that can be read."""
    found: set[str] = set()
    for file in submission.stage.files:
        try:
            functions = functions_of(ast.parse((submission.folder / file).read_bytes()))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        found |= {name for name, node in functions.items() if not is_written(node)}
    return found


def is_written(node: ast.FunctionDef) -> bool:
    rest = [
        n for n in node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
    ]
    return not (
        len(rest) == 1
        and isinstance(rest[0], ast.Raise)
        and "NotImplementedError" in ast.unparse(rest[0])
    )


def write_stubs(stage: Stage, folder: Path | None = None) -> list[Path]:
    """Write the stubs that are stale into `folder` (stages/); UsageError where work would be lost."""
    folder = folder or stage.source("stages")
    stale = [folder / file for file in stale_stubs(stage, folder)]
    for path in stale:
        if path.exists() and (begun := written_exercises(stage, path)):
            raise UsageError(
                f"{path} holds work ({begun[0]}) and was not overwritten. "
                "Move it away, then: python -m grader dev stubs"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(stub_of(stage, path.name), encoding="utf-8")
    return stale
