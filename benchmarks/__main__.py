"""The command line: `python -m benchmarks NAME [--json F]`."""

import json
from importlib import import_module
from typing import TextIO

import click

from .measure import Disagreement
from .report import Row, environment, heading

NAMES = (
    "scalar",
    "tensor",
    "mlp",
)  # modules of this package; one is imported only when it is asked for


class UnknownBenchmark(click.ClickException):
    """A name that is not in NAMES."""

    exit_code = 2

    def __init__(self, name: str):
        super().__init__(f"there is no benchmark {name!r}; the known ones: {', '.join(NAMES)}.")


class Unfair(click.ClickException):
    """A benchmark whose sides turned out to do different work."""

    exit_code = 3


@click.command()
@click.argument("name")
@click.option(
    "--json",
    "file",
    type=click.File("w", encoding="utf-8", lazy=False),
    metavar="F",
    help="Write the rows to F; '-' is standard output, and the table then goes to standard error.",
)
def main(name: str, file: TextIO | None) -> None:
    """Measure the course's code beside its counterpart; NAME says what."""
    if name not in NAMES:
        raise UnknownBenchmark(name)
    benchmark = import_module(f"{__package__}.{name}")
    aside = file is not None and file.name == "<stdout>"
    for line in environment(benchmark.PACKAGES):
        click.echo(line, err=aside)
    rows: list[Row] = []
    try:
        for result in benchmark.run():
            if isinstance(result, Row):
                if not rows:
                    click.echo(heading(), err=aside)
                rows.append(result)
            click.echo(result.line() if isinstance(result, Row) else result, err=aside)
    except Disagreement as error:
        raise Unfair(f"{error}; nothing was compared.") from error
    if file:
        json.dump([row.as_json() for row in rows], file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
