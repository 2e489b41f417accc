"""What is graded: which files, from where, and their hashes. Nothing here is ever imported."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.course import Stage, read_stages, read_text
from grader.errors import UsageError
from grader.faults import Fault


@dataclass(frozen=True)
class Submission:
    """The files of one stage from one place.

    Attributes:
        target: "stages", "solutions" or "submission".
        folder: where the files lie.
        package: the name under which a program, run in `home`, imports them.
    """

    stage: Stage
    target: str
    folder: Path
    package: str
    home: Path

    @property
    def present(self) -> list[str]:
        """The stage's files that are there. A link that leads out of the folder does not count."""
        home = self.folder.resolve()
        paths = [(file, self.folder / file) for file in self.stage.files]
        return [f for f, p in paths if p.is_file() and p.resolve().is_relative_to(home)]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The path, as shown to people, and the SHA-256 of each file that is there."""
        paths = [self.folder / file for file in self.present]
        return [(shown(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths]

    @property
    def digest(self) -> str:
        """One hash over all files: equal work has equal digests."""
        text = "\n".join(sha for _, sha in self.files)
        return hashlib.sha256(text.encode()).hexdigest()


def find_submission(stage: Stage, target: str, folder: Path | None = None) -> Submission:
    """Return the submission in stages/, in solutions/, or in `folder`.

    `folder` is a copy of stages/, of one stage folder, or holds just the stage's files.
    UsageError where none of the files is there.
    """
    if target == "submission":
        assert folder is not None
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder. Give one that holds {one_of(stage)}.")
        for inner in (folder / stage.folder, folder / "stages" / stage.folder):
            if inner.is_dir():
                folder = inner
                break
        here = folder.resolve()
        found = Submission(stage, target, folder, here.name, here.parent)
    else:
        source = stage.source(target)
        found = Submission(stage, target, source, f"{target}.{stage.folder}", stage.root)
    if not found.present:
        raise UsageError(
            f"{shown(found.folder)} holds no {one_of(stage)}. "
            f"Give a copy of stages/{stage.folder}: python -m grader {stage.name} --submission DIR"
        )
    return found


def earlier_submissions(submission: Submission) -> list[Submission]:
    """Return the learner's own work in the stages before a submission's, in order.

    It lies in stages/, or beside the submission's folder. UsageError where a stage is missing.
    """
    stage = submission.stage
    earlier = [s for s in read_stages(stage.root) if s.name < stage.name]
    if submission.target != "submission":
        return [find_submission(s, "stages") for s in earlier]
    beside = submission.folder.parent
    for s in earlier:
        if not (beside / s.folder).is_dir():
            raise UsageError(
                f"--mine needs {shown(beside / s.folder)} beside {shown(submission.folder)}. "
                f"Without it, leave --mine out."
            )
    return [find_submission(s, "submission", beside / s.folder) for s in earlier]


def one_of(stage: Stage) -> str:
    return " or ".join(stage.files)


def shown(path: Path) -> str:
    """Return a path as people read it: relative to where they are, if it lies below."""
    path = path.resolve()
    here = Path.cwd().resolve()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


class Workspace:
    """Folders for workers: copies of the declared files, and of the faulty variants."""

    def __init__(self, stage: Stage, folder: Path):
        self.stage, self.folder = stage, folder
        self.earlier = {
            s.folder: s.source("solutions") for s in read_stages(stage.root) if s.name < stage.name
        }

    def place(self, submission: Submission, earlier: Iterable[Submission] = ()) -> dict[str, Path]:
        """Copy the declared files of submissions of one or more stages; return the stack for a worker."""
        return self.reference() | dict(map(self.copied, [*earlier, submission]))

    def with_earlier(self, earlier: Iterable[Submission]) -> dict[str, Path]:
        """Return the stack of the solutions with submissions of earlier stages in their place."""
        return self.reference() | dict(map(self.copied, earlier))

    def copied(self, submission: Submission) -> tuple[str, Path]:
        """Copy a submission's declared files; return its stage's folder name and the copy."""
        target = self.folder / "submission" / submission.stage.folder
        if not target.exists():
            target.mkdir(parents=True)
            for file in submission.present:
                shutil.copyfile(submission.folder / file, target / file)
        return submission.stage.folder, target

    def reference(self) -> dict[str, Path]:
        """Return the stack of the solutions, up to this stage."""
        return {**self.earlier, self.stage.folder: self.stage.source("solutions")}

    def variant(self, name: str, file: str, text: str) -> dict[str, Path]:
        """Write the solution with one file replaced; return the stack for a worker."""
        target = self.folder / name / self.stage.folder
        if not target.exists():
            target.mkdir(parents=True)
            for other in self.stage.files:
                shutil.copyfile(self.stage.source("solutions") / other, target / other)
            (target / file).write_text(text, encoding="utf-8")
        return {**self.earlier, self.stage.folder: target}

    def fault(self, fault: Fault, form: int) -> dict[str, Path]:
        """Write one form of a fault; return the stack for a worker."""
        text = read_text(self.stage.source("solutions") / fault.file)
        replaced = text.replace(fault.old, fault.new[form])
        return self.variant(f"fault-{fault.id}-{form}", fault.file, replaced)


@contextmanager
def workspace(stage: Stage) -> Iterator[Workspace]:
    """Provide folders for workers, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="gradwright-", ignore_cleanup_errors=True) as folder:
        yield Workspace(stage, Path(folder))
