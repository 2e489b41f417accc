"""Mutants: the solution with one small thing changed, made from its syntax tree.

A mutant that no check notices is either equivalent (it behaves like the solution) or
a hole in the checks.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.course import Stage, functions_of, read_text

BINARY: dict[type, list[type]] = {
    ast.Add: [ast.Sub, ast.Mult], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult], ast.Pow: [ast.Mult], ast.MatMult: [],
}  # fmt: skip
COMPARE: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is], ast.In: [ast.NotIn], ast.NotIn: [ast.In],
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: `text` is the whole changed file; `name` says what changed, free of line numbers."""

    file: str
    function: str
    name: str
    line: int
    text: str


def mutants_of(stage: Stage) -> list[Mutant]:
    """Return every mutant of a stage's solution, in the order of its files."""
    return [m for file in stage.files for m in file_mutants(stage, file)]


def control_of(stage: Stage) -> Mutant:
    """Return the mutant that changes nothing but the layout."""
    file = next(iter(stage.files))
    text = ast.unparse(ast.parse(read_text(stage.source("solutions") / file)))
    return Mutant(file, "", "control", 1, text)


def file_mutants(stage: Stage, file: str) -> Iterator[Mutant]:
    """Yield the mutants of one file. Docstrings, error messages and `__repr__` are left alone."""
    tree = ast.parse(read_text(stage.source("solutions") / file))
    names: dict[str, int] = {}
    for function, node in functions_of(tree).items():
        if node.name == "__repr__":
            continue
        for path in places(node):
            for change in changes(at(node, path)):
                mutated = copy.deepcopy(tree)
                target = functions_of(mutated)[function]
                before = ast.unparse(at(target, path)).splitlines()[0]
                replace_at(target, path, change)
                after = ast.unparse(change).splitlines()[0] if change else "(removed)"
                name = f"{file} {function}: {before} -> {after}"
                names[name] = names.get(name, 0) + 1
                if names[name] > 1:
                    name += f" (number {names[name]})"
                text = ast.unparse(ast.fix_missing_locations(mutated))
                yield Mutant(
                    file, function, name, getattr(at(node, path), "lineno", node.lineno), text
                )


Path = tuple[tuple[str, int | None], ...]


def places(node: ast.AST, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every node below a function, defaults included, raise statements excluded."""
    for field, value in ast.iter_fields(node):
        if field in ("decorator_list", "annotation", "returns"):
            continue
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in items:
            if (
                not isinstance(child, ast.AST)
                or isinstance(child, ast.Raise)
                or is_docstring(child)
            ):
                continue
            yield (*path, (field, index))
            yield from places(child, (*path, (field, index)))


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def at(node: Any, path: Path) -> Any:
    for field, index in path:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    return node


def replace_at(node: Any, path: Path, new: ast.AST | None) -> None:
    *way, (field, index) = path
    parent = at(node, tuple(way))
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new or ast.Pass()


def changes(node: ast.AST) -> Iterator[ast.AST | None]:
    """Yield what may stand in a node's place; None removes a statement."""
    match node:
        case ast.BinOp(left, op, right):
            for kind in BINARY.get(type(op), []):
                yield ast.BinOp(left, kind(), right)
            if isinstance(op, ast.Sub | ast.Div | ast.Pow):
                yield ast.BinOp(right, op, left)
            yield left
            yield right
        case ast.Compare(left, [op], [right]):
            for kind in COMPARE.get(type(op), []):
                yield ast.Compare(left, [kind()], [right])
        case ast.Constant(value) if isinstance(value, bool):
            yield ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            yield ast.Constant(value + 1)
            if value:
                yield ast.Constant(type(value)(0))
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
            yield body
            yield orelse
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Tuple(elts) | ast.List(elts) if len(elts) > 1 and is_read(node):
            yield type(node)(elts=elts[::-1], ctx=ast.Load())
            yield type(node)(elts=elts[1:], ctx=ast.Load())
            yield type(node)(elts=elts[:-1], ctx=ast.Load())
        case ast.Call(_, [argument], []) if not isinstance(
            argument, ast.Starred | ast.GeneratorExp
        ):
            yield argument
        case ast.AugAssign(target, op, value):
            yield ast.Assign([target], value, lineno=0)
            for kind in BINARY.get(type(op), [])[:1]:
                yield ast.AugAssign(target, kind(), value)
            yield None
        case ast.Assign() | ast.Expr():
            yield None
        case ast.Return(value) if value is not None:
            yield ast.Return(ast.Constant(None))


def is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)
