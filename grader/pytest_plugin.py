"""For authors: ``pytest -p grader.pytest_plugin stages/stage1_autodiff/checks.py`` runs checks on the solution."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from grader.course import find_stage
from grader.remote import Remote, Session
from grader.runner import inner_of
from grader.submission import find_submission, workspace
from grader.worker import Worker

EXAMPLES = 20
PATIENCE_SECONDS = 60.0
hypothesis.settings.register_profile(
    "grader", max_examples=EXAMPLES, deadline=None, database=None, derandomize=True
)


def pytest_configure(config: pytest.Config) -> None:
    """Few examples, the same each time: this is for writing checks, not for grading."""
    hypothesis.settings.load_profile("grader")


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Let every example begin afresh, as it does when the grader runs it."""
    for item in items:
        handle = getattr(item.obj, "hypothesis", None)
        if handle is not None and hasattr(item.obj, "marker"):
            handle.inner_test = beginning_afresh(inner_of(item.obj))


def beginning_afresh(inner: Any) -> Any:
    @functools.wraps(inner)
    def run(stage: Remote, **example: Any) -> None:
        stage._session.begin()
        inner(stage, **example)

    return run


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Iterator[Remote]:
    """The solution of the stage whose checks are run, in a worker."""
    found = find_stage(Path(request.path).parent.name.split("_")[0])
    with workspace(found) as space:
        worker = Worker()
        worker.load(found.folder, space.place(find_submission(found, "solutions")), found.names)
        session = Session(worker)
        session.patience = PATIENCE_SECONDS
        try:
            yield session.stage
        finally:
            worker.close()
