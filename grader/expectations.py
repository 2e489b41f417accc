"""Comparing what the learner's code gave with what a law asks for: kind, shape, dtype, value.

Every comparison is written down as a `Judgement`, passed or not; the first that fails
ends the example.
"""

import math
import numbers as abstract
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.remote import Remote, RemoteError

RTOL, ATOL = 1e-6, 1e-7
OBJECT = "an object"  # all that the judge knows of what is no plain value
# What may be raised where operands are of a wrong kind, shape, dtype, axis or index.
ERRORS = ("TypeError", "ValueError", "IndexError", "RuntimeError")


@dataclass(frozen=True)
class Judgement:
    """One comparison that a check made.

    Attributes:
        label: what was compared.
        got: the value from the learner's code; wanted: what the law asks for.
        why: what is wrong with it, or "" where it passed.
        rtol, atol: the tolerance of the comparison.
    """

    label: str
    got: Any
    wanted: Any
    why: str = ""
    rtol: float = RTOL
    atol: float = ATOL


class Failed(AssertionError):
    """A law does not hold; `judgement` is the comparison that showed it."""

    def __init__(self, judgement: Judgement):
        super().__init__(f"{judgement.label}: {judgement.why}")
        self.judgement = judgement


_judgements: ContextVar[list[Judgement] | None] = ContextVar("judgements", default=None)


@contextmanager
def recorded() -> Iterator[list[Judgement]]:
    """Collect the judgements made inside the block."""
    log: list[Judgement] = []
    token = _judgements.set(log)
    try:
        yield log
    finally:
        _judgements.reset(token)


def judge(judgement: Judgement) -> None:
    log = _judgements.get()
    if log is not None:
        log.append(judgement)
    if judgement.why:
        raise Failed(judgement)


def expect_close(
    got: Any,
    wanted: Any,
    label: str = "value",
    rtol: float = RTOL,
    atol: float = ATOL,
    dtype: str = "",
) -> None:
    """The value from the learner's code equals what the law asks for: kind, shape, then values.

    NaN equals only NaN, an infinity only itself. A number does not pass for an array. Of an
    array, `dtype` is compared where it is given.
    """
    why = difference(got, wanted, rtol, atol)
    if dtype and hasattr(got, "dtype") and got.dtype.name != dtype and "shape" not in why:
        why = f"is {got.dtype.name}, not {dtype}"
    judge(Judgement(label, got, wanted, why, rtol, atol))


def expect(condition: bool, why: str, got: Any = None, wanted: Any = None, label: str = "") -> None:
    """A property that has no number to compare; `why` completes the sentence "wrong, because"."""
    judge(Judgement(label, got, wanted, "" if condition else why))


def expect_is(got: Any, wanted: Any, why: str, label: str = "") -> None:
    """Both are the same object (or the same None, True, False)."""
    judge(Judgement(label, got, wanted, "" if got is wanted else why))


def expect_kind(got: Any, kind: Any, name: str, label: str = "result") -> None:
    """The result is an object of the learner's class `kind`, called `name`."""
    if not isinstance(got, Remote):
        judge(Judgement(label, got, Words(f"a {name}"), f"is {kind_of(got)}, not a {name}"))
    if not got._session.request("op", "isinstance", got, kind):
        judge(Judgement(label, got, Words(f"a {name}"), f"is not a {name}"))


def expect_raises(families: Iterable[str], call: Callable[[], Any], wanted: str) -> None:
    """`call` raises an exception of one of the families (names of builtin exceptions)."""
    names = tuple(families)
    try:
        got = call()
    except RemoteError as error:
        if error.failure.unwritten or not set(names) & set(error.failure.family):
            raise
        expect(True, "")
        return
    judge(Judgement("the call", got, Words(wanted), "returned, where an error was due"))


def raises(call: Callable[[], Any]) -> bool:
    """Say whether `call` raises. (An unwritten exercise is no answer: that goes on.)"""
    try:
        call()
    except RemoteError as error:
        if error.failure.unwritten:
            raise
        return True
    return False


class Words(str):
    """A value that is described, not quoted."""


def difference(got: Any, wanted: Any, rtol: float, atol: float) -> str:
    """Return "" if `got` matches `wanted`, else what is wrong, kind before shape before value."""
    if isinstance(wanted, np.ndarray):
        return array_difference(got, wanted, rtol, atol)
    if isinstance(wanted, list | tuple):
        if not isinstance(got, list | tuple):
            return f"is {kind_of(got)}, not a list"
        if len(got) != len(wanted):
            return f"has {len(got)} items, not {len(wanted)}"
        inner = (difference(g, w, rtol, atol) for g, w in zip(got, wanted, strict=True))
        return next((d for d in inner if d), "")
    if isinstance(wanted, abstract.Number) and not isinstance(wanted, bool | np.bool_):
        if isinstance(got, bool | np.bool_) or not isinstance(got, int | float | np.number):
            return f"is {kind_of(got)}, not a number"
        return "" if number_matches(got, wanted, rtol, atol) else "is wrong"
    return "" if type(got) is type(wanted) and got == wanted else "is wrong"


def number_matches(got: Any, wanted: Any, rtol: float, atol: float) -> bool:
    try:
        got, wanted = float(got), float(wanted)
    except OverflowError:
        return False
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    if math.isinf(wanted) or math.isinf(got):
        return got == wanted
    return abs(got - wanted) <= atol + rtol * abs(wanted)


def array_difference(got: Any, wanted: np.ndarray, rtol: float, atol: float) -> str:
    if not isinstance(got, np.ndarray | np.generic):  # numpy's own numbers count as arrays
        return f"is {kind_of(got)}, not an array"
    if got.shape != wanted.shape:
        return f"has shape {got.shape}, not {wanted.shape}"
    close = np.isclose(got.astype(float), wanted.astype(float), rtol, atol, equal_nan=True)
    return "" if close.all() else "is wrong"


def kind_of(value: Any) -> str:
    """Name a value's kind for a sentence."""
    if value is None:
        return "None"
    if isinstance(value, Remote):
        return OBJECT
    names = {int: "an int", float: "a number", str: "a string", list: "a list", tuple: "a tuple"}
    return names.get(type(value), f"a {type(value).__name__}")
