"""What a check file needs: the marker, the expectations, code beside the learner's, strategies.

A check is a function with hypothesis's `given` and one argument `stage`; its name is
the claim, its docstring the sentence the learner reads.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.arrays import (
    arrays,
    axes,
    dtypes,
    indices,
    pairs_to_broadcast,
    shapes,
    spread,
    weights,
)
from grader.codec import Seed
from grader.expectations import (
    ERRORS,
    Failed,
    Judgement,
    Words,
    expect,
    expect_close,
    expect_is,
    expect_kind,
    expect_raises,
    number_matches,
    raises,
    recorded,
)
from grader.laws import expect_array, expect_module, expect_operation, expect_program, slopes
from grader.memory import growth_of_memory, peak_of_memory
from grader.programs import ArrayProgram, Const, Program, Step
from grader.remote import Remote
from grader.strategies import (
    ARITHMETIC,
    EXPONENTS,
    FUNCTIONS,
    cases,
    constants,
    each_of,
    fans,
    numbers,
    programs,
    single_operations,
)
from grader.transcript import SYMBOLS

__all__ = [
    "ARITHMETIC", "ERRORS", "EXPONENTS", "FUNCTIONS", "ArrayProgram", "Const", "Failed",
    "Judgement", "Program", "Seed", "Step", "Words", "arrays", "axes", "beside", "cases", "compare",
    "constants", "dtypes", "each_of", "expect", "expect_array", "expect_close", "expect_is", "expect_kind",
    "expect_module", "expect_operation", "expect_program", "expect_raises", "fans",
    "growth_of_memory", "indices", "milestone", "number_matches", "numbers", "pairs_to_broadcast",
    "peak_of_memory", "programs", "raises", "recorded", "shapes", "single_operations", "slopes",
    "spread", "weights",
]  # fmt: skip


@dataclass(frozen=True)
class Marker:
    """What `@milestone` says of a check.

    Attributes:
        id: the milestone, like "1.4".
        examples: how many to draw at most, 0 for the grader's default.
        seconds: how long one request may take, 0 for the default.
        trains: whether the check trains a model, which proofs over many examples leave out.
    """

    id: str
    examples: int = 0
    seconds: float = 0.0
    trains: bool = False


def milestone(id: str, **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Mark a function as a check of the milestone; options as in `Marker`."""

    def mark(check: Any) -> Any:
        check.marker = Marker(id, **options)
        return check

    return mark


def compare(a: Remote, symbol: str, b: Any) -> Any:
    """Return `a == b` as the learner's objects answer it, or the like for != < <= > >=."""
    verb = next(name for name, known in SYMBOLS.items() if known == symbol)
    return a._session.request("op", verb, a, b)


def beside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run this function in the worker, beside the learner's code.

    It is sent as its source, so it must stand on its own: arguments and its own
    imports only. At least one argument is a remote object. What it reports is the
    learner's claim, not a verdict.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        remotes = [a for a in (*args, *kwargs.values()) if isinstance(a, Remote)]
        if not remotes:
            raise TypeError(f"{function.__name__} needs a remote argument")
        return remotes[0]._session.beside(function, args, kwargs)

    return call
