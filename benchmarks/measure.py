"""The stopwatch: sides take turns in one process, and each gets the median of its turns."""

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median


class Disagreement(Exception):
    """The sides do not compute the same thing, so their speeds cannot be compared."""


def agreed_losses(
    sides: Sequence[Callable[[], float]], steps: int = 5, tolerance: float = 1e-9
) -> list[float]:
    """Return the losses of the first steps; Disagreement unless every side has the same.

    A side takes one training step and returns its loss; `tolerance` is relative above 1.
    """
    history = []
    for number in range(steps):
        losses = [step() for step in sides]
        for loss in losses:
            if not math.isclose(loss, losses[0], rel_tol=tolerance, abs_tol=tolerance):
                raise Disagreement(
                    f"in step {number + 1} the sides have different losses: {losses}"
                )
        history.append(losses[0])
    return history


def alternate(
    sides: Sequence[Callable[[], object]],
    *,
    turns: int = 9,
    steps: int = 4,
    warm_up: int = 1,
    collecting: bool = True,
    clock: Callable[[], float] = time.perf_counter,
    rest: float = 0.0,
) -> list[float]:
    """Return for each side the seconds of one step: the median over its turns.

    A side is a function that takes one step. Every turn gives each side a few steps, in an order
    that is reversed from turn to turn, so that a slow moment of the machine meets all of them.
    `rest` is how many seconds pass before each, for what the other side still does.
    """
    seconds: list[list[float]] = [[] for _ in sides]
    for turn in range(turns):
        places = list(range(len(sides)))
        for place in reversed(places) if turn % 2 else places:
            time.sleep(rest)
            seconds[place].append(mean_step(sides[place], steps, warm_up, collecting, clock))
    return [median(side) for side in seconds]


def mean_step(
    step: Callable[[], object],
    steps: int,
    warm_up: int = 0,
    collecting: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the mean seconds of `steps` steps, after `warm_up` steps that are not counted.

    The mean, because the garbage collector works in bursts: a turn pays for its own garbage, and
    nobody else's, since it starts with a full collection. Where `collecting` is False, the
    collector is off during each step and runs between them, unmeasured.
    """
    total = 0.0
    gc.collect()
    for number in range(warm_up + steps):
        with collector(collecting):
            start = clock()
            step()
            elapsed = clock() - start
        if not collecting:
            gc.collect()
        if number >= warm_up:
            total += elapsed
    return total / steps


@contextmanager
def collector(enabled: bool) -> Iterator[None]:
    """Switch the cyclic garbage collector on or off inside the block, then back as it was."""
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()


@contextmanager
def settled() -> Iterator[None]:
    """Let the collector pass over what exists already: with PyTorch loaded, a round takes 50 ms."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def peak_growth(step: Callable[[], object]) -> int:
    """Return by how many bytes this process's resident memory grows, at most, during a step."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():  # Linux: a process inherits the peak of the one that started it
        reset.write_text("5")
    before = peak()
    step()
    return peak() - before


def peak() -> int:
    """Return the largest resident memory of this process, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [x for x in status.read_text().splitlines() if x.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    resource = import_module("resource")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
