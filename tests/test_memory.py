"""Memory is measured from outside the worker: what it holds on to, and the most it held."""

import pytest
from small_stage import load

from grader.memory import growth_of_memory, peak_of_memory
from grader.worker import Worker

STAGE = """
import numpy, time
kept = []

def keep(megabytes):
    kept.append(numpy.ones(megabytes * 2**20, "uint8"))

def drop(megabytes):
    array = numpy.ones(megabytes * 2**20, "uint8")
    time.sleep(0.05)
"""
MEGABYTE = 2**20


@pytest.fixture
def stage(tmp_path):
    worker = Worker()
    session = load(worker, tmp_path, memory=STAGE)
    session.stage.keep(1)  # loads numpy
    yield session.stage
    worker.close()


def test_what_is_kept_is_growth(stage):
    with growth_of_memory(stage) as grown:
        stage.keep(60)
    assert 55 * MEGABYTE < grown.bytes < 70 * MEGABYTE


def test_what_is_dropped_is_no_growth(stage):
    with growth_of_memory(stage) as grown:
        stage.drop(60)
    assert grown.bytes < 10 * MEGABYTE


def test_what_is_dropped_is_in_the_peak(stage):
    with peak_of_memory(stage) as peak:
        stage.drop(60)
    assert 55 * MEGABYTE < peak.bytes < 80 * MEGABYTE
