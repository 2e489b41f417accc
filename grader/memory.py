"""How much memory the worker holds, measured from outside while it works."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

PAUSE = 0.001  # seconds between two looks at a worker that is under way


@dataclass
class Measured:
    """Bytes by which the worker's resident memory has grown, known when the block has ended."""

    bytes: int = 0


@contextmanager
def growth_of_memory(target: Any) -> Iterator[Measured]:
    """Measure what the requests inside the block leave behind; `target` is any remote object."""
    worker, measured = target._session.worker, Measured()
    worker.ensure()
    before = resident(worker.process_id)
    yield measured
    measured.bytes = resident(worker.process_id) - before


@contextmanager
def peak_of_memory(target: Any) -> Iterator[Measured]:
    """Measure the most that the worker holds, beyond what it held before, during the block."""
    worker, measured = target._session.worker, Measured()
    worker.ensure()
    before, ended = resident(worker.process_id), threading.Event()

    def watch() -> None:
        while not ended.wait(PAUSE):
            measured.bytes = max(measured.bytes, resident(worker.process_id) - before)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield measured
    finally:
        ended.set()
        watcher.join()


def resident(process: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it is gone."""
    try:
        return int(psutil.Process(process).memory_info().rss)
    except psutil.Error:
        return 0
