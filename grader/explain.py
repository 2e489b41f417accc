"""From what was observed to what a person reads: message, program, got and expected, place."""

import ast
import dataclasses
import textwrap
import time
from collections.abc import Mapping
from typing import Any

from grader.blame import Blame
from grader.codec import encode
from grader.course import Stage, exercises_up_to, functions_of
from grader.diagnosis import failed_to_load, same_value
from grader.expectations import OBJECT, Words
from grader.faults import Fault
from grader.kinds import Kinds
from grader.remote import Remote, Session, decode_reply
from grader.results import CheckResult, Misconception
from grader.runner import Evidence, Outcome
from grader.submission import Submission, shown
from grader.transcript import Place, RemoteFailure, Transcript, Unprintable, print_program
from grader.worker import Frame, WorkerLost

PACKAGE = "solutions"
STATE = "The program alone does not show this: the code keeps state between calls."
USE_MINE = "from grader import use_mine; use_mine()\n"
LATE = "The line below was running when the time was up."


class Explainer:
    """Turns evidence into results, with the learner's code at hand to try programs on."""

    def __init__(
        self,
        stage: Stage,
        submission: Submission,
        stack: Any,
        session: Session,
        kinds: Kinds,
        blames: Mapping[str, Blame],
        mine: bool = False,
    ):
        """`blames` by the names of checks; `mine`: earlier stages are the learner's own."""
        self.stage, self.submission = stage, submission
        self.stack, self.session, self.kinds = stack, session, kinds
        self.blames, self.mine = blames, mine

    def explain(self, evidence: Evidence, fault: Fault | None, milestone: str) -> CheckResult:
        """Return the result of one check; `fault` is the diagnosed misconception, if any."""
        check = evidence.check
        result = CheckResult(check.__name__, claim_of(check), evidence.status)
        shown_example = evidence.shown
        if shown_example is None:
            message = "" if evidence.status == "passed" else "no example could be drawn"
            return dataclasses.replace(result, message=message)
        example, outcome = shown_example
        if outcome.status == "todo":
            return self.unwritten(result, outcome, milestone)
        if outcome.status == "error":
            return dataclasses.replace(result, message=outcome.message)
        if not failed_to_load(outcome):
            outcome = self.kinds.first_misfit(check, example, outcome)
        got = self.kinds.named(check, example, outcome)
        result = dataclasses.replace(
            result,
            message=self.message_of(outcome, got),
            where=self.place_of(outcome, fault),
            misconception=Misconception(fault.id, fault.says) if fault else None,
            **values_of(outcome, got),
        )
        if failed_to_load(outcome):
            return result  # the place says it all
        blame = self.blames.get(result.name)
        if blame is not None:
            result = dataclasses.replace(
                result, blame=str(blame), misconception=blame.misconception, where=None
            )
        return self.with_program(result, outcome)

    def message_of(self, outcome: Outcome, got: Any) -> str:
        """Return what went wrong, with the class's name where `got` has one."""
        message = message_of(outcome)
        if outcome.frames:
            message = f"{message} {LATE}"
        if outcome.failure is not None and (what := interaction(outcome.failure)):
            command = f"python -m grader {self.stage.name} --debug"
            message = f"The code {what}, which works only with: {command}"
        if outcome.verdict is not None and isinstance(got, Words):
            message = message.replace(f" is {OBJECT}, not ", f" is {got}, not ")
        return message

    def unwritten(self, result: CheckResult, outcome: Outcome, milestone: str) -> CheckResult:
        """A check that reached an exercise nobody has written: to do here, or blocked by another."""
        owner = exercises_up_to(self.stage)[outcome.exercise]
        if owner.id == milestone:
            return dataclasses.replace(result, message=f"to do: {outcome.exercise}")
        message = f"needs {outcome.exercise} of {owner.id}"
        return dataclasses.replace(result, status="blocked", message=message)

    def with_program(self, result: CheckResult, outcome: Outcome) -> CheckResult:
        """Add the program that shows the failure, what was printed, and a word if it does not hold."""
        transcript, verdict = outcome.transcript, outcome.verdict
        judged = transcript.position_of(verdict.got) if verdict is not None else None
        remark = remark_of(result, outcome, shows_it=judged is not None)
        whole = self.program_of(transcript, remark, judged)
        if whole is None:
            return result
        if not transcript.events or outcome.status in ("timeout", "crashed"):
            text = whole if transcript.events else None
            return dataclasses.replace(
                result, repro=text, stdout=self.session.worker.printed.text()
            )
        confirmed, printed = self.confirms(transcript, outcome, judged)
        if not confirmed:  # perhaps an error that was due has changed something
            with_errors = self.confirms(transcript, outcome, judged, raising=True)
            if with_errors[0]:
                confirmed, printed = with_errors
                whole = self.program_of(transcript, remark, judged, raising=True)
        if not confirmed:
            result = dataclasses.replace(result, message=f"{result.message} {STATE}")
        return dataclasses.replace(result, repro=whole, stdout=printed)

    def program_of(
        self, transcript: Transcript, remark: str, judged: Place | None, raising: bool = False
    ) -> str | None:
        """Return the program as the learner pastes it; None where it would be too long."""
        package = f"{PACKAGE}.{self.stage.folder}" if self.mine else self.submission.package
        try:
            program = print_program(transcript, package, self.stage.names, remark, judged, raising)
        except Unprintable:
            return None
        return (USE_MINE if self.mine else "") + program.text

    def confirms(
        self,
        transcript: Transcript,
        outcome: Outcome,
        judged: Place | None,
        raising: bool = False,
    ) -> tuple[bool, str]:
        """Try the program: does it show the same, and what does it print?"""
        package = f"{PACKAGE}.{self.stage.folder}"
        program = print_program(transcript, package, self.stage.names, "", judged, raising)
        return self.try_program(program.body, outcome, judged is not None)

    def try_program(self, source: str, outcome: Outcome, judged: bool) -> tuple[bool, str]:
        """Run a printed program on freshly loaded code: does it show the same, and what does it print?"""
        worker = self.session.worker
        try:
            worker.load(self.stage.folder, self.stack, self.stage.names)
            worker.printed.clear()
            reply = worker.ask(encode(["run", source]), time.monotonic() + self.session.patience)
            worker.settle()
            answered, value = decode_reply(reply, self.session.remote)
        except WorkerLost:
            return False, worker.printed.text()
        printed = worker.printed.text()
        if outcome.failure is not None:
            return not answered and value.type == outcome.failure.type, printed
        if outcome.verdict is None or not judged:
            return True, printed
        verdict = outcome.verdict
        return answered and same_value(value, verdict.got, verdict.rtol, verdict.atol), printed

    def place_of(self, outcome: Outcome, fault: Fault | None) -> str | None:
        """Return "file:line" of what raised or ran, or of the function that the diagnosis is about.

        That is the innermost frame outside of the functions that were given complete, if any is.
        """
        frames = outcome.failure.frames if outcome.failure is not None else outcome.frames
        if frames:
            written = [frame for frame in frames if not self.is_given(frame)]
            file, line, _ = (written or frames)[-1]
            return f"{shown(self.submission.folder / file)}:{line}"
        return self.place_of_fault(fault) if fault is not None else None

    def is_given(self, frame: Frame) -> bool:
        """Say whether a frame lies in a function that the stub holds complete."""
        file, line, _ = frame
        if file not in self.submission.present:
            return False
        try:
            tree = ast.parse((self.submission.folder / file).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return False
        return function_at(tree, line) in self.stage.given

    def place_of_fault(self, fault: Fault) -> str | None:
        """Find the function of the reference that holds the fault, in the learner's file."""
        reference = self.stage.source("solutions") / fault.file
        text = reference.read_text(encoding="utf-8")
        line = text[: text.index(fault.old) + len(fault.old) - 1].count("\n") + 1
        name = function_at(ast.parse(text), line)
        path = self.submission.folder / fault.file
        try:
            functions = functions_of(ast.parse(path.read_bytes()))
        except (OSError, SyntaxError, ValueError):
            return None
        return f"{shown(path)}:{functions[name].lineno}" if name in functions else None


def function_at(tree: ast.Module, line: int) -> str | None:
    """Return the name of the function or method around a line."""
    for name, node in functions_of(tree).items():
        if node.lineno <= line <= (node.end_lineno or line):
            return name
    return None


def claim_of(check: Any) -> str:
    """Return a check's docstring as one line."""
    return " ".join(textwrap.dedent(check.__doc__ or "").split())


def interaction(failure: RemoteFailure) -> str:
    """Return what the code does that needs a person at a terminal, or ""."""
    if failure.type == "BdbQuit":
        return "stops at a breakpoint()"
    if failure.type == "EOFError" and failure.message.startswith("EOF when reading"):
        return "waits for input"
    return ""


def values_of(outcome: Outcome, got: Any) -> dict[str, Any]:
    """Return what was got, which may be described in words, and what was expected, as texts."""
    verdict = outcome.verdict
    if verdict is None:
        return {"actual": ending_of(outcome), "expected": None}
    if verdict.wanted is not None or verdict.why == "is wrong":
        actual, expected = brief_pair(got, verdict.wanted)
        return {"actual": actual, "expected": expected}
    return {"actual": None if got is None else brief(got), "expected": None}


def message_of(outcome: Outcome) -> str:
    """Return what went wrong as one sentence."""
    if outcome.failure is not None:
        return ending_of(outcome) or ""
    verdict = outcome.verdict
    if verdict is None:
        return outcome.message
    return f"{verdict.label} {verdict.why}".strip()


def ending_of(outcome: Outcome) -> str | None:
    """Return the exception that ended an example as "Type: message", or None."""
    failure = outcome.failure
    if failure is None:
        return None
    return f"{failure.type}: {failure.message}" if failure.message else failure.type


def remark_of(result: CheckResult, outcome: Outcome, shows_it: bool) -> str:
    """Return the remark that stands behind the last line of a program.

    Where that line does not show the judged value by itself, the remark says what was judged.
    """
    if outcome.status == "timeout":
        return "does not finish"
    if outcome.status == "crashed":
        return "ends the Python process"
    if outcome.failure is not None:
        return interaction(outcome.failure) or f"raises {one_line(ending_of(outcome) or '')}"
    if result.actual is None:
        return f"wrong: {result.message}"
    if result.expected is None:
        return f"got {one_line(result.actual)}"
    values = f"got {one_line(result.actual)}, expected {one_line(result.expected or '')}"
    return values if shows_it or outcome.verdict is None else f"{outcome.verdict.label}: {values}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def brief_pair(got: Any, wanted: Any) -> tuple[str, str]:
    """Return both values as short text, with as many digits as it takes to tell them apart."""
    for digits in (6, 10, 17):
        pair = brief(got, digits), brief(wanted, digits)
        if pair[0] != pair[1]:
            break
    return pair


def brief(value: Any, digits: int = 6) -> str:
    """Return a value as short text: floats to so many digits, objects in words."""
    if isinstance(value, Words):
        return str(value)
    if isinstance(value, Remote):
        return OBJECT
    if isinstance(value, float):
        return repr(float(f"{value:.{digits}g}"))
    if isinstance(value, list | tuple):
        inner = ", ".join(brief(v, digits) for v in value[:20])
        more = ", ..." if len(value) > 20 else ""
        return f"[{inner}{more}]" if isinstance(value, list) else f"({inner}{more})"
    if hasattr(value, "shape"):
        return f"{brief(value.tolist(), digits)} of shape {value.shape}"
    return repr(value)[:200]
