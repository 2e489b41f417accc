"""Writing to people's terminals: colours where there are any, plain text elsewhere, ASCII at worst."""

import io
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from grader.report import ASCII, Line


def prepare() -> None:
    """Force UTF-8 on the standard streams, which Windows may have opened otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if speaks_utf8(stream) else None, errors="replace")


def speaks_utf8(stream: io.TextIOWrapper) -> bool:
    """A pipe or file takes UTF-8; a terminal takes what it says."""
    return not stream.isatty() or (stream.encoding or "").lower().replace("-", "") == "utf8"


def show(lines: Iterable[Line]) -> None:
    """Print styled lines; wrapping is left to the terminal, so that programs can be copied."""
    console = Console(highlight=False, soft_wrap=True)
    narrow = (console.encoding or "").lower().replace("-", "") != "utf8"
    text = Text("\n").join(
        Text.assemble(*((span.translate(ASCII) if narrow else span, style) for span, style in line))
        for line in lines
    )
    console.print(text)


class Progress:
    """One line on standard error that says what is being graded; nothing where it is not a terminal."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.status = self.console.status("") if self.console.is_terminal else None

    def __enter__(self) -> "Progress":
        if self.status:
            self.status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.status:
            self.status.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.status:
            self.status.update(f"{what}  ({done}/{total})" if total else what)
