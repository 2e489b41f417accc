"""Edited files of the course, loaded again while a notebook runs.

IPython's autoreload patches functions and classes where they stand. It does not reach what is
behind a decorator, and where it gives up, old and new classes live side by side. Here, as soon
as one file has changed, all files of the course are loaded anew; names and instances follow.
"""

import gc
import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("solutions", "stages")


class Reloader:
    """Keeps the names of a notebook, `namespace`, at the present state of the course's files."""

    def __init__(self, namespace: dict[str, Any]):
        self.namespace = namespace
        self.seen: dict[str, tuple[int, int] | None] = {}  # by module: its file's stamp

    def note(self, result: object = None) -> None:
        """Remember the files of modules that were imported since; after each cell."""
        for name, module in loaded().items():
            if module.__file__:
                self.seen.setdefault(name, stamp(module))

    def refresh(self, info: object = None) -> None:
        """Load everything again if a file has changed; before each cell.

        If that fails, say where in a line and leave the names as they are.
        """
        old = loaded()
        if all(stamp(old[name]) == known for name, known in self.seen.items() if name in old):
            return
        stamps = {name: stamp(module) for name, module in old.items() if name in self.seen}
        forget()
        try:
            new = {name: importlib.import_module(name) for name in old}
        except Exception as error:  # whatever a half-edited file does
            forget()
            sys.modules.update(old)
            print(f"{place(error)}: {type(error).__name__}: {error}")
            print("Until that is mended, the cells use the last version that could be loaded.")
            return
        self.seen = stamps
        found = successors(old, new)
        adopt(found)
        for name, value in list(self.namespace.items()):
            self.namespace[name] = found.get(id(value), value)


def loaded() -> dict[str, ModuleType]:
    """Return the modules of the course, by name."""
    # A list first: another thread of the kernel may import while we look.
    return {n: m for n, m in list(sys.modules.items()) if n.partition(".")[0] in PACKAGES}


def forget() -> None:
    """Let Python believe that nothing of the course was imported."""
    for name in loaded():
        del sys.modules[name]


def stamp(module: ModuleType) -> tuple[int, int] | None:
    """Return what changes when a module's file is saved; None if it is gone."""
    try:
        state = Path(module.__file__ or "").stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def successors(old: dict[str, ModuleType], new: dict[str, ModuleType]) -> dict[int, Any]:
    """Return the new object for each function, class and module of the old ones, by id."""
    found: dict[int, Any] = {id(module): new[name] for name, module in old.items()}
    for name, module in old.items():
        for own, value in vars(module).items():
            if getattr(value, "__module__", None) == name and hasattr(new[name], own):
                found[id(value)] = getattr(new[name], own)
    return found


def adopt(found: dict[int, Any]) -> None:
    """Let instances of old classes be instances of the new ones, and the notebook's subclasses follow."""
    for thing in gc.get_objects():
        try:
            if isinstance(thing, type):
                if id(thing) not in found and any(id(base) in found for base in thing.__bases__):
                    thing.__bases__ = tuple(found.get(id(base), base) for base in thing.__bases__)
            elif id(type(thing)) in found:
                thing.__class__ = found[id(type(thing))]
        except TypeError:  # the class has other slots now
            pass


def place(error: Exception) -> str:
    """Return the file and line that an import failed in."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}, line {last.lineno}"
