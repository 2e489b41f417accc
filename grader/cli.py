"""The command line: reads what people ask, calls the judge, shows the report, sets the exit status."""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from grader import terminal
from grader.course import Stage, find_stage, read_stages
from grader.errors import GraderError, UsageError
from grader.judge import Options, grade
from grader.report import Line, overview, stage_report
from grader.results import StageResult, to_plain
from grader.state import StageState, read_state, write_state
from grader.submission import find_submission, shown

DONE, NOT_YET, WRONG_USAGE, BROKEN = 0, 1, 2, 3
HELP = "Try: python -m grader --help"


class Commands(click.Group):
    """The command group; a word that is no command is the name of a stage to grade."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "grade", self.commands["grade"], args

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in super().list_commands(ctx) if name != "grade"]


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Grade your work: python -m grader stage1 (or: all).

    Without a command: where you are, and what to do next.
    Options of a grading: python -m grader stage1 --help
    """
    if ctx.invoked_subcommand is None:
        return show_overview()
    return DONE


def show_overview() -> int:
    """Print a bar per stage and the next step."""
    stages = read_stages()
    states = [read_state(stage) for stage in stages]
    rows = []
    for stage, state in zip(stages, states, strict=True):
        core = [m.id for m in stage.milestones if not m.bonus]
        passed = sum(state.milestones.get(id) == "passed" for id in core)
        rows.append((stage.name, stage.title, score_of(stage, state), passed, len(core)))
    lines = overview(rows)
    for stage, state in zip(stages, states, strict=True):
        milestone = first_unfinished(stage, state)
        if milestone is not None:
            command = f"python -m grader {stage.name}"
            if state.milestones:
                command += f" --only {milestone.id}"
            lines += [
                [],
                [("next:  ", "bold"), (f"{milestone.id} {milestone.title}: {command}", "")],
            ]
            break
    terminal.show(lines)
    return DONE


def score_of(stage: Stage, state: StageState) -> float:
    """Add up the last known points of the milestones, electives aside."""
    return sum(state.points.get(m.id, 0) for m in stage.milestones if not m.bonus)


def first_unfinished(stage: Stage, state: StageState) -> Any:
    """Return the first milestone not known to be passed, or None."""
    open_ones = [
        m for m in stage.milestones if not m.bonus and state.milestones.get(m.id) != "passed"
    ]
    return open_ones[0] if open_ones else None


@cli.command("grade", hidden=True)
@click.argument("name", metavar="STAGE")
@click.option("--solutions", is_flag=True, help="Grade solutions/ instead of stages/.")
@click.option("--mine", is_flag=True, help="Take earlier stages from stages/, not from solutions/.")
@click.option(
    "--submission", type=click.Path(path_type=Path), help="Grade the files in this folder."
)
@click.option("--only", metavar="ID", help="One milestone, like 1.4.")
@click.option("--seed", type=click.IntRange(0), help="Draw the same examples again.")
@click.option("--examples", type=click.IntRange(1), help="How many examples per check.")
@click.option(
    "--json", "json_to", metavar="FILE", help="Write the result as JSON; - is standard output."
)
@click.option(
    "--debug", is_flag=True, help="Run in this process, so that breakpoint() works; no points."
)
def grade_command(name: str, **chosen: Any) -> int:
    """Grade one stage, or all."""
    if chosen["solutions"] and chosen["submission"]:
        raise UsageError("Give either --solutions or --submission DIR, not both.")
    stages = read_stages() if name == "all" else [find_stage(name)]
    if name == "all" and chosen["only"]:
        raise UsageError(
            f"--only needs one stage. Try: python -m grader {stages[0].name} --only {chosen['only']}"
        )
    destination = open_destination(chosen["json_to"])
    results = []
    for stage in stages:
        result = grade_stage(stage, chosen)
        results.append(result)
        if destination is not sys.stdout:
            terminal.show(stage_report(result, command_of(stage, chosen)))
    if destination is not None:
        plain = [to_plain(r) for r in results]
        json.dump(plain if name == "all" else plain[0], destination, indent=1)
        destination.write("\n")
        destination.flush()
    if any(r.broken for r in results):
        return BROKEN
    return DONE if all(r.done for r in results) and not chosen["debug"] else NOT_YET


def command_of(stage: Stage, chosen: dict[str, Any]) -> str:
    """Return what to type after `python -m grader` to grade the same target again."""
    words = [stage.name]
    words += ["--solutions"] if chosen["solutions"] else []
    words += ["--submission", str(chosen["submission"])] if chosen["submission"] else []
    words += ["--mine"] if chosen["mine"] else []
    return " ".join(words)


def grade_stage(stage: Stage, chosen: dict[str, Any]) -> StageResult:
    """Grade one stage; the learner's own work is remembered, with the examples that failed."""
    target = (
        "solutions" if chosen["solutions"] else "submission" if chosen["submission"] else "stages"
    )
    submission = find_submission(stage, target, chosen["submission"])
    options = Options(
        seed=chosen["seed"],
        examples=chosen["examples"] or 0,
        only=chosen["only"],
        mine=chosen["mine"],
        debug=chosen["debug"],
    )
    mine = target == "stages" and not options.debug
    state = read_state(stage) if mine else StageState()
    stored = state.stored_examples() if mine and options.seed is None else {}
    with terminal.Progress() as progress:
        grading = grade(submission, options, stored, progress)
    notes = []
    if mine:
        state.remember(grading.result, submission.digest)
        state.keep_examples(grading.evidence, grading.result.seed)
        notes = [note] if (note := write_state(stage, state)) else []
    if options.debug:
        notes = ["A run with --debug gives no points."]
    return grading.result.with_notes(notes)


def open_destination(path: str | None) -> Any:
    if path is None:
        return None
    if path == "-":
        return sys.stdout
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}). Give another: --json FILE"
        ) from None


@cli.command()
@click.argument("name", metavar="[STAGE]", required=False)
def hint(name: str | None) -> int:
    """The next hint for the first unfinished milestone."""
    stages = [find_stage(name)] if name else read_stages()
    for stage in stages:
        state = read_state(stage)
        milestone = first_unfinished(stage, state)
        if milestone is None:
            continue
        taken = state.hints.get(milestone.id, 0)
        number = min(taken, len(milestone.hints) - 1)
        state.hints[milestone.id] = number + 1
        note = write_state(stage, state)
        head = f"{milestone.id}  {milestone.title}, hint {number + 1} of {len(milestone.hints)}"
        lines: list[Line] = [[(head, "bold")], [(milestone.hints[number], "")], []]
        if number + 1 < len(milestone.hints):
            lines.append([(f"more:  python -m grader hint {stage.name}", "dim")])
        else:
            lines.append([("That was the last hint; the same command repeats it.", "")])
            lesson = stage.source("stages") / f"{stage.name}.ipynb"
            if lesson.exists():
                lines.append([(f"read:  section {milestone.id} of {shown(lesson)}", "dim")])
        lines.append([(f"then:  python -m grader {stage.name} --only {milestone.id}", "dim")])
        lines += [[(note, "yellow")]] if note else []
        terminal.show(lines)
        return DONE
    terminal.show([[("Everything is passed; there is nothing left to hint at.", "bold green")]])
    return DONE


@cli.group()
def dev() -> int:
    """For authors: regenerate the stubs, prove the course."""
    return DONE


@dev.command()
@click.option("--check", is_flag=True, help="Only say which stubs are not current.")
def stubs(check: bool) -> int:
    """Write the stubs in stages/ from the solutions."""
    from grader.stubs import stale_stubs, write_stubs

    status = DONE
    for stage in read_stages():
        folder = stage.source("stages")
        if check:
            for file in stale_stubs(stage):
                click.echo(f"{folder / file} is not current. Run: python -m grader dev stubs")
                status = NOT_YET
        else:
            for path in write_stubs(stage):
                click.echo(f"wrote {path}")
    return status


@dev.command()
@click.argument("names", metavar="[STAGE]...", nargs=-1)
@click.option(
    "--seeds", type=click.IntRange(1), default=1, show_default=True, help="Faults: how many seeds."
)
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Right engines: examples per check.",
)
@click.option(
    "--faults",
    default="96",
    show_default=True,
    metavar="N|all",
    help="How many forms of misconceptions of each stage.",
)
@click.option(
    "--mutants",
    default="20",
    show_default=True,
    metavar="N|all",
    help="How many mutants of each solution.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Write the figures as Markdown.")
def prove(
    names: tuple[str, ...],
    seeds: int,
    examples: int,
    faults: str,
    mutants: str,
    report: Path | None,
) -> int:
    """Prove the course: right answers pass, stubs get nothing, every fault is caught and named."""
    from grader.prove import prove_course

    stages = [find_stage(name) for name in names] or read_stages()
    return prove_course(
        stages,
        seeds,
        examples,
        how_many("--faults", faults),
        how_many("--mutants", mutants),
        report,
    )


def how_many(option: str, given: str) -> int | None:
    """Return a number, or None for "all"."""
    if given != "all" and not given.isdigit():
        raise UsageError(f"{option} takes a number or 'all', not {given!r}.")
    return None if given == "all" else int(given)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; every error is one sentence."""
    terminal.prepare()
    try:
        status = cli.main(list(arguments), prog_name="python -m grader", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else DONE
    except click.ClickException as error:
        return complain(f"{error.format_message().rstrip('.')}. {HELP}", WRONG_USAGE)
    except (click.Abort, KeyboardInterrupt):
        return complain("Stopped; nothing was changed.", 130)
    except GraderError as error:
        return complain(str(error), error.exit_status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_YET
    except Exception:
        traceback.print_exc()
        return complain(
            "The grader itself failed; this is no verdict on your work. Please report the lines above.",
            BROKEN,
        )


def complain(sentence: str, status: int) -> int:
    print(sentence, file=sys.stderr)
    return status
