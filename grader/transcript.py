"""What a check asked of the learner's code, as data, and as a program that can be pasted.

A transcript is a list of events. Printing keeps what leads to the judged value and
leaves out what was only looked at on the way; attribute reads stand where they are
used, results get the names a, b, c, ...
"""

import builtins
import inspect
import itertools
import math
import re
import string
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from grader.codec import Seed
from grader.finder import PACKAGE

Place = tuple[int, tuple[int, ...]]  # an event's number, and a path into its reply
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
PREFIXES = {"neg": "-", "pos": "+", "invert": "~"}
IN_PLACE = {
    "iadd": "+=",
    "isub": "-=",
    "imul": "*=",
    "itruediv": "/=",
    "ipow": "**=",
    "imatmul": "@=",
}
READS = ("getitem", "len", "float", "repr", "isinstance")
MAX_ELEMENTS = 60
LONG_LINE = 60  # a remark on a longer one gets a line of its own


@dataclass(frozen=True)
class RemoteFailure:
    """An exception raised by submitted code: names and text only, never re-created."""

    type: str
    family: tuple[str, ...]
    message: str
    frames: tuple[tuple[str, int, str], ...]
    unwritten: bool = False


@dataclass
class Event:
    """One request and what came back: a reply, or the failure it raised."""

    verb: str
    arguments: tuple[Any, ...]
    reply: Any = None
    failure: RemoteFailure | None = None


@dataclass
class Transcript:
    """Events in order, and where each handle first came from: (event, path into its reply)."""

    events: list[Event] = field(default_factory=list)
    origins: dict[int, tuple[int, tuple[Any, ...]]] = field(default_factory=dict)

    def position_of(self, value: Any) -> Place | None:
        """Return the latest event that replied with this very object, and where in its reply.

        None, which many requests reply with, is looked for in the last event alone.
        """
        start = len(self.events) - 1 if value is None else 0
        for i in reversed(range(max(start, 0), len(self.events))):
            reply = self.events[i].reply
            if reply is value:
                return i, ()
            if type(reply) in (list, tuple):
                for k, item in enumerate(reply):
                    if item is value:
                        return i, (k,)
        return None


@dataclass(frozen=True)
class Program:
    """A printed program: the lines to paste, and the remark on the last one."""

    body: str
    remark: str

    @property
    def text(self) -> str:
        *before, last = self.body.split("\n")
        if not self.remark:
            return self.body
        if len(last) > LONG_LINE or ": got " in self.remark:  # on more than the last line
            return f"{self.body}\n# {self.remark}"
        return "\n".join([*before, f"{last:<26}  # {self.remark}"])


class Unprintable(Exception):
    """The transcript holds something that has no short literal."""


def print_program(
    transcript: Transcript,
    package: str,
    files: dict[str, str],
    remark: str = "",
    judged: Place | None = None,
    raising: bool = False,
) -> Program:
    """Return the transcript as a program whose last line is the judged value.

    `package` is where the stage's files are imported from ("" for the files alone),
    `files` says which file holds which public name. `judged` is an event's number and a
    path into its reply; without it the program ends with the last event. What raised on
    the way, as it should, is left out unless `raising`. Raises Unprintable where a literal
    would be too long.
    """
    return _Printer(transcript, package, files, raising).program(judged, remark)


class _Printer:
    def __init__(self, transcript: Transcript, package: str, files: dict[str, str], raising: bool):
        self.events, self.origins = transcript.events, transcript.origins
        self.package, self.files, self.raising = package, files, raising
        self.names: dict[int, str] = {}
        self.imported: dict[str, None] = {}
        self.uses_numpy = False

    def program(self, judged: Place | None, remark: str) -> Program:
        last, path = judged or (len(self.events) - 1, ())
        kin = self.kin_of(last)
        kept = [i for i in sorted(kin) if i == last or self.is_kept(i)]
        kept = self.without_idle_iterations(kept)
        used = self.used_events(kept)
        fresh = self.fresh_names()
        lines: list[str] = []
        for i in [i for i in kept if self.events[i].verb == "define"]:
            if i not in used:
                kept.remove(i)
                continue
            source, self.names[i] = self.events[i].arguments
            lines += [source.rstrip(), ""]
            kept.remove(i)
        ends = self.block_ends(kept)
        indent = ""
        for i in kept:
            event = self.events[i]
            if i in ends.values():
                lines += [indent + "pass"] if lines[-1].endswith(":") else []
                indent = indent[4:]
                lines += [] if indent else [""]  # at Python's prompt, a blank line ends a block
                continue
            named = i in used and event.verb in ("call", "op", "enter", "get") and self.is_named(i)
            if i in ends:
                head = f"with {self.literal(event.arguments[0])}"
                if named:
                    self.names[i] = next(fresh)
                lines.append(f"{indent}{head}{f' as {self.names[i]}' if named else ''}:")
                indent += "    "
                continue
            if event.verb == "op" and str(event.arguments[0]) in IN_PLACE:
                self.names[i] = next(fresh)
                symbol, (target, other) = IN_PLACE[event.arguments[0]], event.arguments[1:]
                lines += [
                    f"{indent}{self.names[i]} = {self.literal(target)}",
                    f"{indent}{self.names[i]} {symbol} {self.literal(other)}",
                ]
                continue
            statement = self.statement(event)
            if event.failure is not None and i != last:
                caught = f"{indent}except {event.failure.type}:"
                lines += [f"{indent}try:", f"{indent}    {statement}", caught, f"{indent}    pass"]
                lines += [] if indent else [""]
                continue
            if named:
                self.names[i] = next(fresh)
                statement = f"{self.names[i]} = {statement}"
            lines.append(indent + statement + "".join(f"[{k}]" for k in path if i == last))
        return Program("\n".join([*self.imports(), *lines]), remark)

    def block_ends(self, kept: list[int]) -> dict[int, int]:
        """Return the `with` blocks that are left before the last event: entering and leaving."""
        ends: dict[int, int] = {}
        for i in kept[:-1]:
            if self.events[i].verb == "exit":
                target = handle_of(self.events[i].arguments[0])
                opened = [
                    k
                    for k in kept
                    if k < i
                    and k not in ends
                    and self.events[k].verb == "enter"
                    and handle_of(self.events[k].arguments[0]) == target
                ]
                if opened:
                    ends[opened[-1]] = i
        return ends

    def kin_of(self, last: int) -> set[int]:
        """Return the events up to `last` that share objects with it, directly or through others.

        The stage's own names are no kinship: two values are not related by their class.
        """
        touched: list[set[int]] = []
        names = {h for h, (i, _) in self.origins.items() if self.is_stage_name(i)} | {0}
        born: dict[int, set[int]] = {}
        for handle, (source, _) in self.origins.items():
            born.setdefault(source, set()).add(handle)
        for i in range(last + 1):
            handles = set(handles_in(self.events[i].arguments)) | born.get(i, set())
            touched.append(handles - names)
        # A block may change what all others mean, as recording does; it is always kin.
        blocks = {i for i in range(last) if self.events[i].verb in ("enter", "exit")}
        kin = {last} | blocks
        known = set().union(*(touched[i] for i in kin))
        grown = True
        while grown:
            fresh = {i for i, handles in enumerate(touched) if i not in kin and handles & known}
            kin |= fresh
            known = known.union(*(touched[i] for i in fresh))
            grown = bool(fresh)
        return kin | {i for i in range(last + 1) if self.is_stage_name(i)}

    def is_stage_name(self, i: int) -> bool:
        event = self.events[i]
        return event.verb == "define" or (
            event.verb == "get" and handle_of(event.arguments[0]) == 0
        )

    def is_named(self, i: int) -> bool:
        return self.events[i].verb != "get" or self.is_overtaken(i)

    def is_kept(self, i: int) -> bool:
        """What only looks is left out; a look at what changes later is kept."""
        event = self.events[i]
        if event.failure is not None:
            builtin = hasattr(builtins, event.failure.type)
            return self.raising and builtin and self.has_effect(event)
        return self.has_effect(event) or self.is_overtaken(i)

    def is_overtaken(self, i: int) -> bool:
        """Say whether an attribute that is read here is set later on."""
        event = self.events[i]
        if event.verb != "get" or not any(handles_in(event.reply)):
            return False
        return any(
            later.verb == "set" and later.arguments[1] == event.arguments[1]
            for later in self.events[i:]
        )

    def without_idle_iterations(self, kept: list[int]) -> list[int]:
        """Leave out loops over an iterator whose items nothing that is kept makes use of."""
        steps = [i for i in kept if self.is_iteration(i)]
        rest = [i for i in kept if i not in steps or i == kept[-1]]
        used = self.used_events(rest)
        busy = {self.iterator_of(i) for i in steps if i in used or i == kept[-1]}
        return [i for i in kept if i in rest or self.iterator_of(i) in busy]

    def is_iteration(self, i: int) -> bool:
        event = self.events[i]
        return event.verb == "op" and event.arguments[0] in ("iter", "next")

    def iterator_of(self, i: int) -> int | None:
        """Return the handle of the iterator that this event makes or moves on."""
        event = self.events[i]
        return handle_of(event.reply if event.arguments[0] == "iter" else event.arguments[1])

    def has_effect(self, event: Event) -> bool:
        """Reading an attribute or an item has none and is printed only where it is judged."""
        return not (event.verb == "get" or (event.verb == "op" and event.arguments[0] in READS))

    def used_events(self, kept: list[int]) -> set[int]:
        """Return the events whose results are named in a kept event, directly or through reads."""
        used: set[int] = set()

        def visit(value: Any) -> None:
            for handle in handles_in(value):
                if handle not in self.origins:
                    continue
                source = self.origins[handle][0]
                if source not in used:
                    used.add(source)
                    event = self.events[source]
                    if not self.has_effect(event):
                        visit(event.arguments)

        for i in kept:
            visit(self.events[i].arguments)
        return used

    def fresh_names(self) -> Iterator[str]:
        letters = (c for c in string.ascii_lowercase if c not in self.files)
        return itertools.chain(letters, (f"v{n}" for n in itertools.count(1)))

    def imports(self) -> list[str]:
        lines = ["import numpy as np"] if self.uses_numpy else []
        by_file: dict[str, list[str]] = {}
        for name in self.imported:
            by_file.setdefault(self.files[name].removesuffix(".py"), []).append(name)
        for file, names in by_file.items():
            folder, _, file = file.rpartition("/")  # a folder: the file is an earlier stage's
            package = f"{PACKAGE}.{folder}" if folder else self.package
            module = f"{package}.{file}" if package else file
            lines.append(f"from {module} import {', '.join(names)}")
        return [*lines, ""] if lines else []

    def statement(self, event: Event) -> str:
        """Return the event as an expression or assignment."""
        verb, arguments = event.verb, event.arguments
        if verb == "get":
            return self.attribute(*arguments)
        if verb == "set":
            return f"{self.attribute(*arguments[:2])} = {self.literal(arguments[2])}"
        if verb == "call":
            target, args, kwargs = arguments
            parts = [self.literal(a) for a in args]
            parts += [f"{k}={self.literal(v)}" for k, v in kwargs.items()]
            return f"{self.literal(target)}({', '.join(parts)})"
        if verb == "op":
            return self.operation(*arguments)
        if verb in ("enter", "exit"):
            tail = "" if verb == "enter" else "None, None, None"
            return f"{self.literal(arguments[0])}.__{verb}__({tail})"
        raise Unprintable(verb)

    def operation(self, name: str, *operands: Any) -> str:
        texts = [self.operand(x) for x in operands]
        if name in SYMBOLS:
            return f"{texts[0]} {SYMBOLS[name]} {texts[1]}"
        if name in PREFIXES:
            return PREFIXES[name] + texts[0]
        if name == "contains":
            return f"{texts[1]} in {texts[0]}"
        if name == "getitem":
            return f"{texts[0]}[{self.index(operands[1])}]"
        if name == "setitem":
            return f"{texts[0]}[{self.index(operands[1])}] = {texts[2]}"
        if name == "delitem":
            return f"del {texts[0]}[{self.index(operands[1])}]"
        return f"{name}({', '.join(texts)})"

    def operand(self, value: Any) -> str:
        text = self.literal(value)
        return f"({text})" if text.startswith("-") else text

    def index(self, value: Any) -> str:
        if type(value) is tuple and value:
            return ", ".join(self.index(v) for v in value) + ("," if len(value) == 1 else "")
        if type(value) is slice:
            ends = [value.start, value.stop] + ([value.step] if value.step is not None else [])
            return ":".join("" if v is None else self.literal(v) for v in ends)
        return self.literal(value)

    def attribute(self, target: Any, name: str) -> str:
        if handle_of(target) == 0:
            if name not in self.files:
                raise Unprintable(f"the stage has no {name}")
            self.imported[name] = None
            return name
        return f"{self.literal(target)}.{name}"

    def literal(self, value: Any) -> str:
        """Return Python source for a handle or for plain data."""
        handle = handle_of(value)
        if handle is not None:
            return self.handle(handle)
        kind = type(value)
        if handle is None and (count := element_count(value)) > MAX_ELEMENTS:
            raise Unprintable(f"{count} elements")
        if kind in (list, tuple):
            inner = ", ".join(self.literal(v) for v in value)
            return f"[{inner}]" if kind is list else f"({inner}{',' if len(value) == 1 else ''})"
        if kind is dict:
            return (
                "{"
                + ", ".join(f"{self.literal(k)}: {self.literal(v)}" for k, v in value.items())
                + "}"
            )
        if kind is Seed:
            self.uses_numpy = True
            return f"np.random.default_rng({value.value})"
        return self.array(value) if kind.__module__.startswith("numpy") else plain_literal(value)

    def handle(self, handle: int) -> str:
        if handle not in self.origins:
            raise Unprintable("an object of unknown origin")
        source, path = self.origins[handle]
        event = self.events[source]
        text = self.names.get(source) or f"({self.statement(event)})"
        if not self.names.get(source) and event.verb == "get":
            text = text[1:-1]
        return text + "".join(f"[{key!r}]" for key in path)

    def array(self, value: Any) -> str:
        if not hasattr(value, "tolist"):  # a dtype
            return repr(value.name)
        self.uses_numpy = True
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            return f"np.asfortranarray({self.array(np_in_rows(value))})"
        is_array = type(value).__name__ == "ndarray"
        if value.size == 0:
            return f"np.zeros({value.shape}, dtype={value.dtype.name!r})"
        name = value.dtype.name
        if name in ("float16", "float32"):  # with no more digits than it takes
            value = value.astype(str).astype(float)
        if value.ndim == 0 and not is_array:
            return f"np.{name}({plain_literal(value.item())})"
        items = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value.tolist()))
        if name in ("float64", "int64", "bool"):
            return f"np.array({items})"
        return f"np.{name}({items})" if value.ndim else f"np.array({items}, dtype={name!r})"


def np_in_rows(value: Any) -> Any:
    """Return an array in the usual memory layout."""
    return value.copy(order="C")


def element_count(value: Any) -> int:
    """How many numbers or words a literal would hold."""
    kind = type(value)
    if kind in (list, tuple):
        return sum(map(element_count, value))
    if kind is dict:
        return sum(map(element_count, value.values()))
    if kind is str:
        return 1 + len(value) // 20
    return getattr(value, "size", 1) if kind.__module__ == "numpy" else 1


def plain_literal(value: Any) -> str:
    """Return Python source for a number, a string, None or a slice."""
    if type(value) is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    return "..." if value is Ellipsis else repr(value)


def handle_of(value: Any) -> int | None:
    """Return the number of the handle in `value`, or None if it is plain data."""
    return getattr(type(value), "handle_number", lambda _: None)(value)


def handles_in(value: Any) -> Iterator[int]:
    """Yield every handle in `value`, however deep in lists, tuples and dicts."""
    handle = handle_of(value)
    if handle is not None:
        yield handle
    elif type(value) in (list, tuple):
        for item in value:
            yield from handles_in(item)
    elif type(value) is dict:
        for item in value.values():
            yield from handles_in(item)


def source_beside(function: Any) -> str:
    """Return a function's source without indentation or decorators.

    Nor blank lines: at Python's prompt, one ends the function.
    """
    source = textwrap.dedent(inspect.getsource(function))
    start = re.search(r"^(def|class) ", source, re.MULTILINE)
    lines = source[start.start() if start else 0 :].splitlines()
    return "\n".join(line for line in lines if line.strip()) + "\n"
