"""What the proofs share: the figures they find, and the examples they draw once."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count as naturals
from typing import TypeVar

from grader.course import Check, Stage, find_stage
from grader.runner import (
    Example,
    explore,
)

Item = TypeVar("Item")
CHUNK = 500  # hypothesis slows down on long runs: many examples are drawn in several
PROCESSES = os.cpu_count() or 1

stage_named = cache(find_stage)  # a process reads the course once


@dataclass
class Figures:
    """What was found of one stage; `complaints` are the broken promises."""

    stage: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def add(self, what: str, figure: str) -> None:
        self.lines.append((what, figure))


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


def spread(items: Sequence[Item], count: int | None) -> list[Item]:
    """Return `count` of the items, evenly spread; all of them for None."""
    if count is None or count >= len(items):
        return list(items)
    return [items[i * len(items) // count] for i in range(count)]


def check_named(stage: Stage, name: str) -> Check:
    return next(c for m in stage.milestones for c in stage.checks[m.id] if c.__name__ == name)
