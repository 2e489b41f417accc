"""Course facts: stages, milestones and faults, read from TOML and checked as they are read.

A wrong fact is a `CourseError` that names file and key.
"""

import ast
import importlib.util
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.errors import CourseError, UsageError

ROOT = Path(__file__).resolve().parents[1]
FULL_MARKS = 100
Check = Callable[..., None]


@dataclass(frozen=True)
class Milestone:
    """One step of a stage: `points` are divided over its checks, `hours` an estimate."""

    id: str
    title: str
    points: float
    hours: float
    hints: tuple[str, ...]
    exercises: tuple[str, ...] = ()
    bonus: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of the course.

    Attributes:
        name: "stage1"; folder: "stage1_autodiff", under stages/ and solutions/.
        files: the stage's files, and the public names that each defines.
        given: functions that the stub holds complete.
        uses: files of earlier stages, as "folder/file.py", and the names that checks need of them.
        root: the course's folder.
    """

    name: str
    folder: str
    title: str
    files: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...]
    milestones: tuple[Milestone, ...]
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path = field(default=ROOT)

    @property
    def names(self) -> dict[str, str]:
        """Public names, and the file of each; those of earlier stages with their folder."""
        files = {**self.files, **self.uses}
        return {name: file for file, names in files.items() for name in names}

    @property
    def exercises(self) -> dict[str, Milestone]:
        """Exercises by name ("Value.__add__"), and the milestone of each."""
        return {name: m for m in self.milestones for name in m.exercises}

    def milestone(self, id: str) -> Milestone:
        """Return a milestone by its id; UsageError lists the known ones."""
        for found in self.milestones:
            if found.id == id:
                return found
        known = ", ".join(m.id for m in self.milestones)
        raise UsageError(f"{self.name} has no milestone {id!r}. Its milestones: {known}.")

    def source(self, tree: str) -> Path:
        """Return the stage's folder in `stages` or `solutions`."""
        return self.root / tree / self.folder

    @cached_property
    def checks(self) -> dict[str, list[Check]]:
        """The checks of each milestone, in the order of checks.py and then checks_*.py.

        These files are loaded by their paths; a mistake in one is a CourseError.
        """
        found: dict[str, list[Check]] = {m.id: [] for m in self.milestones}
        for path in sorted(self.source("stages").glob("checks*.py")):
            module = load_private(path, f"gradwright_{path.stem}_{self.folder}")
            names = [n.name for n in parse(path).body if isinstance(n, ast.FunctionDef)]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise CourseError(f"{path}: {', '.join(twice)}: defined twice")
            for check in vars(module).values():
                marker = getattr(check, "marker", None)
                if marker is None:
                    continue
                if marker.id not in found:
                    raise CourseError(
                        f"{path}: {check.__name__}: there is no milestone {marker.id!r}"
                    )
                if not (check.__doc__ or "").strip():
                    raise CourseError(f"{path}: {check.__name__}: a check needs a docstring")
                found[marker.id].append(check)
        for id, checks in found.items():
            if not checks:
                raise CourseError(f"{self.source('stages')}: milestone {id} has no check")
        return found


def load_private(path: Path, name: str) -> Any:
    """Import the file at `path` under a name of its own, without touching sys.path."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise CourseError(f"{path} is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # inspect and hypothesis look modules up by name
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError, NameError, AttributeError, TypeError, ValueError) as error:
        raise CourseError(f"{path}: {type(error).__name__}: {error}") from error
    return module


def read_stages(root: Path = ROOT) -> list[Stage]:
    """Return the stages of the course at `root`, in order."""
    paths = sorted((root / "stages").glob("stage*_*/stage.toml"))
    if not paths:
        raise CourseError(f"no stage.toml under {root / 'stages'}")
    return [read_stage(path, root) for path in paths]


def exercises_up_to(stage: Stage) -> dict[str, Milestone]:
    """Return the exercises of a stage and of those before it, by name; its own prevail."""
    found: dict[str, Milestone] = {}
    for earlier in read_stages(stage.root):
        if earlier.name < stage.name:
            found |= earlier.exercises
    return found | stage.exercises


def find_stage(name: str, root: Path = ROOT) -> Stage:
    """Return a stage by its name; UsageError lists the known ones."""
    stages = read_stages(root)
    for stage in stages:
        if stage.name == name:
            return stage
    known = ", ".join(s.name for s in stages)
    raise UsageError(
        f"There is no {name!r}. Stages: {known}. Try: python -m grader {stages[0].name}"
    )


def read_stage(path: Path, root: Path = ROOT) -> Stage:
    """Read a stage.toml. Raises CourseError, with file and key, for anything out of place."""
    table = Table(path, read_toml(path), "")
    milestones = tuple(read_milestone(entry) for entry in table.tables("milestone"))
    stage = Stage(
        name=path.parent.name.split("_")[0],
        folder=path.parent.name,
        title=table.take("title", str),
        files=table.lists("files"),
        given=table.words("given", []),
        milestones=milestones,
        uses=table.lists("uses", {}),
        root=root,
    )
    table.done()
    ids = [m.id for m in milestones]
    if len(set(ids)) < len(ids):
        raise CourseError(f"{path}: milestone: an id is used twice: {', '.join(ids)}")
    if any(m.points <= 0 or m.hours <= 0 for m in milestones):
        raise CourseError(f"{path}: milestone: points and hours are more than 0")
    points = sum(m.points for m in milestones if not m.bonus)
    if points != FULL_MARKS:
        raise CourseError(f"{path}: points add up to {points}, not {FULL_MARKS}")
    seen = [name for m in milestones for name in m.exercises] + list(stage.given)
    twice = sorted({name for name in seen if seen.count(name) > 1})
    if twice:
        raise CourseError(f"{path}: listed twice: {', '.join(twice)}")
    check_exercises(stage, path)
    return stage


def read_milestone(table: "Table") -> Milestone:
    milestone = Milestone(
        id=table.take("id", str),
        title=table.take("title", str),
        points=table.take("points", (int, float)),
        hours=table.take("hours", (int, float)),
        hints=table.words("hints"),
        exercises=table.words("exercises", []),
        bonus=table.take("bonus", bool, False),
    )
    table.done()
    if len(milestone.hints) != 3:
        raise CourseError(f"{table.place}hints: three are due, got {len(milestone.hints)}")
    return milestone


def check_exercises(stage: Stage, path: Path) -> None:
    """Every function of the solution is an exercise or given, and nothing else is listed."""
    folder = stage.source("solutions")
    if not folder.exists():
        return  # a student repository
    known = set()
    for file, names in stage.files.items():
        tree = parse(folder / file)
        known |= set(functions_of(tree))
        top = {getattr(node, "name", "") for node in tree.body}
        for name in names:
            if name not in top:
                raise CourseError(f"{path}: files.{file}: the solution does not define {name!r}")
    listed = set(stage.exercises) | set(stage.given)
    if missing := sorted(known - listed):
        raise CourseError(f"{path}: neither an exercise nor given: {', '.join(missing)}")
    if extra := sorted(listed - known):
        raise CourseError(f"{path}: exercise not in the solution: {', '.join(extra)}")


class Table:
    """A TOML table that must be used up: what nobody takes is an unknown key."""

    def __init__(self, path: Path, data: dict[str, Any], key: str):
        self.path, self.data, self.key = path, dict(data), key

    @property
    def place(self) -> str:
        return f"{self.path}: {self.key + '.' if self.key else ''}"

    def take(self, key: str, kind: Any, default: Any = None) -> Any:
        if key not in self.data:
            if default is None:
                raise CourseError(f"{self.place}{key}: missing")
            return default
        value = self.data.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise CourseError(f"{self.place}{key}: not of the right kind: {value!r}")
        return value

    def words(self, key: str, default: Any = None) -> tuple[str, ...]:
        """Take a list of strings."""
        found = self.take(key, list, default)
        if not all(isinstance(word, str) for word in found):
            raise CourseError(f"{self.place}{key}: a list of strings is due, got {found!r}")
        return tuple(found)

    def lists(self, key: str, default: Any = None) -> dict[str, tuple[str, ...]]:
        """Take a table of lists of strings."""
        found = self.take(key, dict, default)
        for name, words in found.items():
            if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
                raise CourseError(
                    f"{self.place}{key}.{name}: a list of names is due, got {words!r}"
                )
        return {name: tuple(words) for name, words in found.items()}

    def tables(self, key: str) -> "list[Table]":
        entries = self.take(key, list)
        if not all(isinstance(entry, dict) for entry in entries):
            raise CourseError(f"{self.place}{key}: tables are due: [[{key}]]")
        return [
            Table(self.path, entry, f"{key} {entry.get('id', number)}")
            for number, entry in enumerate(entries, 1)
        ]

    def done(self) -> None:
        for key in self.data:
            raise CourseError(f"{self.place}{key}: unknown key")


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: {error}") from None


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {error}") from None


def parse(path: Path) -> ast.Module:
    try:
        return ast.parse(read_text(path))
    except SyntaxError as error:
        raise CourseError(f"{path}: line {error.lineno}: {error.msg}") from None


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions and methods at the top of a module, as "f" and "Class.f"."""
    found: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    found[f"{node.name}.{inner.name}"] = inner
    return found


def exercise_of(message: str) -> str | None:
    """Return the exercise that an unwritten function names: "1.1 Value.__add__" is "Value.__add__"."""
    match = re.fullmatch(r"\d+\.\d+ ([\w.]+)", message.strip())
    return match[1] if match else None
