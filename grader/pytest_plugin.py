"""For authors: ``pytest -p grader.pytest_plugin stages/stage1_autodiff/checks.py`` runs checks on the solution."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from grader.course import find_stage
from grader.remote import Remote, Session
from grader.submission import find_submission, workspace
from grader.worker import Worker

hypothesis.settings.register_profile("grader", deadline=None, database=None)


def pytest_configure(config: pytest.Config) -> None:
    """Chains of 20,000 nodes take their time; the grader has deadlines of its own."""
    hypothesis.settings.load_profile("grader")


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Iterator[Remote]:
    """The solution of the stage whose checks are run, in a worker."""
    found = find_stage(Path(request.path).parent.name.split("_")[0])
    with workspace(found) as space:
        worker = Worker()
        worker.load(found.folder, space.place(find_submission(found, "solutions")), found.names)
        try:
            yield Session(worker).stage
        finally:
            worker.close()
