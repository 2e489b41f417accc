"""What a benchmark prints and stores: rows, and the surroundings they were measured in."""

import gc
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

WIDTHS = (46, 10, 10)  # of the columns: name, ours, theirs


@dataclass(frozen=True)
class Row:
    """One thing measured, ours beside theirs; `theirs` is None where there is no counterpart."""

    name: str
    ours: float
    theirs: float | None
    unit: str

    @property
    def ratio(self) -> float | None:
        """Ours / theirs: below 1 where ours takes less."""
        return None if self.theirs is None else self.ours / self.theirs

    def as_json(self) -> dict[str, str | float | None]:
        """Return the row as the benchmark JSON has it."""
        return {
            "name": self.name,
            "ours": self.ours,
            "theirs": self.theirs,
            "ratio": self.ratio,
            "unit": self.unit,
        }

    def line(self) -> str:
        """Return the row as a line of the table."""
        ours = f"{self.ours:.3g} {self.unit}"
        theirs = "-" if self.theirs is None else f"{self.theirs:.3g} {self.unit}"
        return columns(self.name, ours, theirs, self.comparison())

    def comparison(self) -> str:
        """Return the last cell: how ours compares with theirs."""
        if self.ratio is None:
            return "-"
        if self.unit == "MB":
            return f"{self.ratio:.2f} times as large"
        return f"{1 / self.ratio:.2f} times as fast"


def columns(name: str, ours: str, theirs: str, speed: str) -> str:
    """Return a line of the table from its four cells."""
    first, second, third = WIDTHS
    return f"{name:<{first}}{ours:>{second}}{theirs:>{third}}   {speed}"


def heading() -> str:
    """Return the two lines above the table."""
    return columns("", "ours", "theirs", "ours is") + "\n" + "-" * (sum(WIDTHS) + 22)


def environment(packages: Iterable[str]) -> list[str]:
    """Return the lines that say where a result comes from; `packages` are distribution names."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return [
        f"processor    {processor()}, {os.cpu_count()} cores, load {load()}",
        f"Python       {python}, {platform.system()}, collector thresholds {gc.get_threshold()}",
        f"packages     {', '.join(f'{name} {version(name)}' for name in packages)}",
        f"BLAS kernel  {blas_kernel()}",
    ]


def processor() -> str:
    """Return the processor's model name, as well as this system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "n/a"


def load() -> str:
    """Return how many processes wanted to run in the last minute, or "n/a"; best is below 1."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "n/a"


def version(distribution: str) -> str:
    """Return the installed version of a distribution, or "not installed"."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def blas_kernel() -> str:
    """Return the library, kernel and threads behind numpy's matrix product, or "n/a"."""
    try:
        threadpoolctl = import_module("threadpoolctl")
        import_module("numpy")  # only loaded libraries are seen
    except ImportError:
        return "n/a"
    found = [
        f"{pool['internal_api']} {pool.get('architecture', '')} ({pool['num_threads']} threads)"
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return ", ".join(found) or "n/a"
