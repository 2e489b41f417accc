"""For lessons and scripts: grade a milestone in place, read errors kindly, put your own stages in."""

import sys
from typing import Any

from grader import finder
from grader.course import exercise_of, read_stages
from grader.errors import GraderError, UsageError
from grader.judge import Options, grade
from grader.reloading import Reloader
from grader.report import stage_report
from grader.state import read_state, write_state
from grader.submission import find_submission
from grader.terminal import show


def check(milestone: str | float, seed: int | None = None) -> None:
    """Grade one milestone, like "1.4", of the files in stages/, and show the report.

    A number is read as Python writes it: 1.4 means "1.4". 1.10 is the number 1.1, so
    milestones that end in 0 need their quotes. Never raises for what the learner's code
    does; a milestone that does not exist is told in a sentence.
    """
    id = str(milestone)
    try:
        stages = {m.id: stage for stage in read_stages() for m in stage.milestones}
        if id not in stages:
            raise UsageError(
                f'There is no milestone {milestone!r}. They are called "1.1", "1.2" and so on.'
            )
        stage = stages[id]
        if not isinstance(milestone, str) and f"{id}0" in stages:
            print(f'To Python, {id}0 and {id} are one number. For milestone {id}0: check("{id}0")')
        submission = find_submission(stage, "stages")
        state = read_state(stage)
        grading = grade(submission, Options(seed=seed, only=id), state.stored_examples())
        state.remember(grading.result, submission.digest)
        state.keep_examples(grading.evidence, grading.result.seed)
        write_state(stage, state)
        show(stage_report(grading.result))
    except GraderError as error:
        print(error)


def lesson() -> None:
    """Prepare a notebook: edited files are reloaded, and unwritten exercises are named in a line.

    Does nothing outside IPython.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    known = shell.events.callbacks["pre_run_cell"]
    if not any(isinstance(getattr(f, "__self__", None), Reloader) for f in known):
        reloader = Reloader(shell.user_ns)
        shell.events.register("pre_run_cell", reloader.refresh)
        shell.events.register("post_run_cell", reloader.note)
    shell.set_custom_exc((NotImplementedError,), say_unwritten)
    shell.events.register("post_run_cell", forgive)


def forgive(result: Any) -> None:
    """Let "Run All" go on behind a cell that met an unwritten exercise."""
    if isinstance(result.error_in_exec, NotImplementedError):
        result.error_in_exec = None


def say_unwritten(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> None:
    """IPython's handler for NotImplementedError: one line in place of a traceback."""
    exercise = exercise_of(str(error))
    for stage in read_stages():
        if exercise in stage.exercises:
            parts = exercise.split(".")
            file = next((f for f, names in stage.files.items() if parts[0] in names), "")
            place = f"stages/{stage.folder}/{file}"
            print(f"Not written yet: {error} - write it in {place}, then run this cell again.")
            return
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def use_mine() -> None:
    """Make `solutions.*` mean the learner's own stages/, in a notebook or a script.

    A second call changes nothing. UsageError if a stage was imported before the
    first: two trees would give two Tensor classes.
    """
    folders = {stage.folder: stage.source("stages") for stage in read_stages()}
    if finder.serves(folders):
        return
    loaded = [name for name in sys.modules if name.startswith(finder.PACKAGE + ".")]
    if loaded:
        raise UsageError(
            f"{loaded[0]} is already imported. Restart, and call use_mine() before the first import."
        )
    finder.install(folders)
