"""The verdict as frozen data: what reports are made of."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

STATUSES = ("passed", "failed", "todo", "blocked", "timeout", "crashed", "error")
SEVERITY = ("error", "crashed", "timeout", "failed", "todo", "blocked", "passed")


@dataclass(frozen=True)
class Misconception:
    id: str
    says: str


@dataclass(frozen=True)
class CheckResult:
    """One check: `claim` is its law, `message` what went wrong, `repro` a program that shows it."""

    name: str
    claim: str
    status: str
    message: str = ""
    repro: str | None = None
    expected: str | None = None
    actual: str | None = None
    where: str | None = None
    stdout: str = ""
    misconception: Misconception | None = None
    blame: str | None = None


@dataclass(frozen=True)
class MilestoneResult:
    """One milestone: its score is the sum of its passed checks' shares."""

    id: str
    title: str
    max_score: float
    bonus: bool
    checks: tuple[CheckResult, ...]
    unwritten: tuple[str, ...] = ()  # exercises of its own that the file still leaves open

    @property
    def score(self) -> float:
        passed = sum(check.status == "passed" for check in self.checks)
        return round(self.max_score * passed / len(self.checks), 2)

    @property
    def status(self) -> str:
        """The most severe status of its checks; passed only if all are."""
        return min((check.status for check in self.checks), key=SEVERITY.index)


@dataclass(frozen=True)
class StageResult:
    """One graded stage."""

    stage: str
    title: str
    target: str
    earlier: str
    files: tuple[tuple[str, str], ...]
    seed: int
    mechanisms: tuple[str, ...]
    seconds: float
    milestones: tuple[MilestoneResult, ...]
    notes: tuple[str, ...] = field(default=())

    def with_notes(self, notes: Iterable[str]) -> "StageResult":
        return replace(self, notes=(*self.notes, *notes))

    @property
    def score(self) -> float:
        return round(sum(m.score for m in self.milestones if not m.bonus), 2)

    @property
    def bonus(self) -> float:
        return round(sum(m.score for m in self.milestones if m.bonus), 2)

    @property
    def done(self) -> bool:
        """All milestones that were graded, electives aside, are passed."""
        core = [m for m in self.milestones if not m.bonus] or self.milestones
        return all(m.status == "passed" for m in core)

    @property
    def broken(self) -> bool:
        """The grader itself failed somewhere."""
        return any(m.status == "error" for m in self.milestones)


def to_plain(result: StageResult) -> dict[str, Any]:
    """Return the result in the JSON form that the documentation fixes."""
    return {
        "schema": 1,
        "stage": result.stage,
        "title": result.title,
        "target": result.target,
        "earlier": result.earlier,
        "files": [{"path": path, "sha256": sha} for path, sha in result.files],
        "seed": result.seed,
        "sandbox": {
            "level": "limits" if result.mechanisms else "none",
            "mechanisms": list(result.mechanisms),
        },
        "score": result.score,
        "max_score": 100,
        "bonus": result.bonus,
        "seconds": round(result.seconds, 2),
        "notes": list(result.notes),
        "milestones": [milestone_to_plain(m) for m in result.milestones],
    }


def milestone_to_plain(milestone: MilestoneResult) -> dict[str, Any]:
    return {
        "id": milestone.id,
        "title": milestone.title,
        "score": milestone.score,
        "max_score": milestone.max_score,
        "bonus": milestone.bonus,
        "status": milestone.status,
        "unwritten": list(milestone.unwritten),
        "checks": [check_to_plain(c) for c in milestone.checks],
    }


def check_to_plain(check: CheckResult) -> dict[str, Any]:
    plain = dict(vars(check))
    if check.misconception is not None:
        plain["misconception"] = dict(vars(check.misconception))
    return plain
