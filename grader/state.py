"""What is remembered between runs: results per stage, failing examples, hints taken.

Kept in `.gradwright/` in the course's folder, one JSON file per stage. Nothing depends
on it: a folder that cannot be written, or a file that makes no sense, is a note, not an error.
"""

import base64
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.codec import CodecError, decode, encode
from grader.course import Stage
from grader.programs import Const, Program, Step
from grader.results import StageResult
from grader.runner import Evidence, Example

RECORDS: dict[str, type] = {kind.__name__: kind for kind in (Program, Step, Const)}
KEPT = 3  # failing examples per check


@dataclass
class StageState:
    """One stage's memory.

    Attributes:
        milestones: the last known status of each milestone, by id.
        points: the last known score of each, by id.
        digest: of the files that were graded.
        hints: how many hints of each milestone have been shown.
        examples: failing examples by check, encoded, and the seed each came from.
    """

    milestones: dict[str, str] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    digest: str = ""
    hints: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Any]] = field(default_factory=dict)

    def remember(self, result: StageResult, digest: str) -> None:
        """Take over a result; one that covers a single milestone changes that one alone."""
        self.milestones |= {m.id: m.status for m in result.milestones}
        self.points |= {m.id: m.score for m in result.milestones}
        self.digest = digest

    def keep_examples(self, evidence: dict[str, Evidence], seed: int) -> None:
        """Keep the examples that failed, and forget those of checks that pass now."""
        for name, found in evidence.items():
            failing = [found.shrunk[0]] if found.shrunk else []
            failing += [example for example, _ in found.failing[: KEPT - len(failing)]]
            encoded = [pair for example in failing if (pair := encode_example(example, seed))]
            if encoded:
                self.examples[name] = encoded
            elif found.status == "passed":
                self.examples.pop(name, None)

    def stored_examples(self) -> dict[str, list[Example]]:
        """Return the kept examples by check; what can no longer be read is left out."""
        found = {}
        for name, pairs in self.examples.items():
            examples = [decode_example(text) for text, _ in pairs]
            found[name] = [example for example in examples if example is not None]
        return found

    def seeds(self) -> dict[str, int]:
        """The seed that each check's kept examples came from."""
        return {name: pairs[0][1] for name, pairs in self.examples.items() if pairs}


def encode_example(example: Example, seed: int) -> tuple[str, int] | None:
    try:
        return base64.b64encode(encode(example)).decode(), seed
    except CodecError:
        return None


def decode_example(text: str) -> Example | None:
    try:
        example = decode(base64.b64decode(text), records=RECORDS)
    except (CodecError, ValueError, TypeError):
        return None
    return example if isinstance(example, dict) else None


def state_path(stage: Stage) -> Path:
    return stage.root / ".gradwright" / f"{stage.name}.json"


def read_state(stage: Stage) -> StageState:
    """Return what is remembered of a stage; nothing, if that cannot be read."""
    try:
        return StageState(**json.loads(state_path(stage).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return StageState()


def write_state(stage: Stage, state: StageState) -> str:
    """Write what is to be remembered, atomically; return a note if that is not possible."""
    path = state_path(stage)
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(exist_ok=True)
        scratch.write_text(json.dumps(vars(state)), encoding="utf-8")
        os.replace(scratch, path)
    except OSError as error:
        reason = error.strerror or str(error)
        return f"Progress is not kept: {path.parent} cannot be written ({reason})."
    return ""
