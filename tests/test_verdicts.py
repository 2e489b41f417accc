"""Right work gets full marks, unwritten work none, half-finished work exactly its half."""

import shutil

import pytest
from conftest import replace

from grader import judge
from grader.course import ROOT
from grader.stubs import stub_of

ENGINES = sorted(p.name for p in (ROOT / "tests" / "engines" / "stage1").iterdir() if p.is_dir())


def statuses(result):
    return {m.id: m.status for m in result.milestones}


def failures(result):
    return [c for m in result.milestones for c in m.checks if c.status != "passed"]


def write_stubs(stage, folder):
    folder.mkdir(exist_ok=True)
    for file in stage.files:
        (folder / file).write_text(stub_of(stage, file), encoding="utf-8")


def test_the_solution_gets_full_marks(graded, solved):
    result = graded(solved)
    assert failures(result) == []
    assert (result.score, result.bonus) == (100, 10)


def test_solutions_copied_over_stages_get_full_marks(command, course):
    for file in (course / "solutions" / "stage1_autodiff").glob("*.py"):
        shutil.copy(file, course / "stages" / "stage1_autodiff" / file.name)
    run = command("stage1", cwd=course)
    assert "100/100 +10" in run.stdout
    assert run.returncode == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_right_engine_written_differently_gets_full_marks(graded, engine):
    result = graded(ROOT / "tests" / "engines" / "stage1" / engine, examples=15)
    assert failures(result) == []
    assert (result.score, result.bonus) == (100, 10)


def test_an_untouched_stub_gets_nothing_and_everything_is_to_do(graded, stage1, tmp_path):
    write_stubs(stage1, tmp_path)
    result = graded(tmp_path)
    assert (result.score, result.bonus) == (0, 0)
    assert set(statuses(result).values()) == {"todo", "blocked"}
    assert statuses(result)["1.1"] == "todo"
    assert [m.id for m in result.milestones if m.status == "todo"] == ["1.1", "1.9", "1.10", "1.12"]


def test_work_up_to_a_milestone_gets_exactly_its_points(graded, stage1, tmp_path):
    """Elementary functions, the check of gradients, network and electives unwritten."""
    write_stubs(stage1, tmp_path)
    text = (stage1.source("solutions") / "autodiff.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("    def exp("))
    end = next(i for i, line in enumerate(lines) if line.startswith("    def backward("))
    stub = stub_of(stage1, "autodiff.py").splitlines(keepends=True)
    stub_start = next(i for i, line in enumerate(stub) if line.startswith("    def exp("))
    stub_end = next(i for i, line in enumerate(stub) if line.startswith("    def backward("))
    text = "".join(lines[:start] + stub[stub_start:stub_end] + lines[end:])
    (tmp_path / "autodiff.py").write_text(text, encoding="utf-8")
    result = graded(tmp_path)
    assert result.score == 10 + 15 + 10 + 15 + 10 + 10 + 5 + 5
    assert statuses(result)["1.8"] == "todo"
    assert statuses(result)["1.10"] == "todo"
    assert statuses(result)["1.11"] == "blocked"  # its programs reach functions
    assert statuses(result)["1.7"] == "passed"


def test_without_depth_the_other_milestones_keep_their_points(graded, solved):
    recursive = '''def topological_order(root):
    order, visited = [], set()
    def visit(node):
        if id(node) not in visited:
            visited.add(id(node))
            for parent in node.parents:
                visit(parent)
            order.append(node)
    visit(root)
    return order
'''
    text = (solved / "autodiff.py").read_text(encoding="utf-8")
    start, end = text.index("def topological_order"), text.index("def gradient_check")
    (solved / "autodiff.py").write_text(text[:start] + recursive + "\n\n" + text[end:], encoding="utf-8")
    result = graded(solved)
    assert statuses(result).pop("1.6") == "failed"
    assert 90 <= result.score < 100
    assert {c.message.split(":")[0] for c in failures(result)} == {"RecursionError"}


def test_one_wrong_function_costs_its_own_checks_alone(graded, solved):
    replace(solved / "autodiff.py", "return (upstream * -sin(a),)", "return (upstream * sin(a),)")
    result = graded(solved)
    assert {m.id for m in result.milestones if m.status != "passed"} == {"1.8", "1.11"}
    assert {c.name for c in failures(result)} >= {"test_sin_cos"}
    assert "test_exp_log_sqrt" not in {c.name for c in failures(result)}


def test_an_own_not_implemented_error_is_a_failure_not_a_todo(graded, solved):
    replace(
        solved / "autodiff.py",
        "        return Value(math.sin(self.data), (self,), gradient)",
        "        raise NotImplementedError('later')",
    )
    result = graded(solved, only="1.8")
    assert {c.status for m in result.milestones for c in m.checks} == {"passed", "failed"}


# Files that are broken as files.


def test_a_syntax_error_is_told_with_its_line(graded, solved):
    replace(solved / "network.py", "class Neuron:", "class Neuron")
    result = graded(solved)
    assert result.score == 90
    [milestone] = [m for m in result.milestones if m.status != "passed"]
    assert milestone.id == "1.10"
    line = (solved / "network.py").read_text(encoding="utf-8").splitlines().index("class Neuron") + 1
    assert all(c.where.endswith(f"network.py:{line}") for c in milestone.checks)
    assert all(c.message.startswith("SyntaxError") for c in milestone.checks)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "autodiff.py defines no 'Value'"),
        (b"import torch_of_my_own\n", "ModuleNotFoundError"),
        (b"raise SystemExit(0)\n", "SystemExit"),
        (b"import os\nos._exit(0)\n", "ended the Python process"),
        (b"import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "SIGSEGV"),
        (b"\x00\xff\xfe binary \x80", "SyntaxError"),
        (b"name = 'caf\xe9'\n", "SyntaxError"),
    ],
    ids=["empty", "import error", "sys.exit", "os._exit", "crash", "binary", "latin-1"],
)
def test_a_file_that_does_not_load_gives_a_complete_report(graded, tmp_path, content, message):
    (tmp_path / "autodiff.py").write_bytes(content)
    result = graded(tmp_path)
    assert (result.score, result.bonus) == (0, 0)
    assert len(result.milestones) == 12
    assert not result.broken
    assert all(message in c.message for c in result.milestones[0].checks)


def test_a_missing_file_is_named(graded, solved):
    (solved / "network.py").unlink()
    result = graded(solved, only="1.10")
    assert all("network.py is missing" in c.message for c in failures(result))


def test_an_infinite_loop_at_import_ends_in_bounded_time(graded, tmp_path):
    (tmp_path / "autodiff.py").write_text("while True:\n    pass\n", encoding="utf-8")
    result = graded(tmp_path)
    assert result.score == 0
    assert statuses(result)["1.1"] == "timeout"
    assert result.seconds < 120


def test_an_infinite_loop_in_one_function_is_a_timeout_there(graded, solved):
    replace(
        solved / "autodiff.py",
        "        return Value(math.cos(self.data), (self,), gradient)",
        "        while True:\n            pass",
    )
    result = graded(solved, only="1.8")
    by_name = {c.name: c.status for m in result.milestones for c in m.checks}
    assert by_name["test_sin_cos"] == "timeout"
    assert by_name["test_tanh_sigmoid"] == "passed"


def test_a_memory_hog_fails_and_the_rest_is_graded(graded, solved):
    replace(
        solved / "autodiff.py",
        "        return Value(math.cos(self.data), (self,), gradient)",
        "        return bytearray(2 * 2**30)",
    )
    result = graded(solved, only="1.8")
    by_name = {c.name: c for m in result.milestones for c in m.checks}
    assert by_name["test_sin_cos"].status == "failed"
    assert by_name["test_tanh_sigmoid"].status == "passed"


def test_a_crash_in_one_function_is_a_crash_there(graded, solved):
    replace(
        solved / "autodiff.py",
        "        return Value(math.cos(self.data), (self,), gradient)",
        "        import os, signal\n        os.kill(os.getpid(), signal.SIGSEGV)",
    )
    result = graded(solved, only="1.8")
    by_name = {c.name: c.status for m in result.milestones for c in m.checks}
    assert by_name["test_sin_cos"] == "crashed"
    assert by_name["test_tanh_sigmoid"] == "passed"


def test_the_same_seed_gives_the_same_verdict_and_program(graded, solved):
    replace(solved / "autodiff.py", "return upstream * b, upstream * a", "return upstream * a, upstream * b")
    first, second = graded(solved, only="1.2", seed=5), graded(solved, only="1.2", seed=5)
    assert first.milestones == second.milestones


def test_checks_that_took_long_leave_time_for_the_shortest_program(graded, solved, monkeypatch):
    replace(solved / "autodiff.py", "return upstream * b, upstream * a", "return upstream * a, upstream * b")
    quick = graded(solved, only="1.2", seed=5)
    shrink = judge.shrink

    def late(evidence, session, examples):
        session.deadline = 0.0
        shrink(evidence, session, examples)

    monkeypatch.setattr(judge, "shrink", late)
    assert graded(solved, only="1.2", seed=5).milestones == quick.milestones


def test_code_that_keeps_state_between_calls_is_told_so(graded, solved):
    """The factor creeps in with the thousandth operation, so no program alone shows it."""
    replace(
        solved / "autodiff.py",
        "        return Value(self.data * other.data, (self, other), gradient)",
        "        Value.calls = getattr(Value, 'calls', 0) + 1\n"
        "        extra = 1.0 if Value.calls > 100 else 0.0\n"
        "        return Value(self.data * other.data + extra, (self, other), gradient)",
    )
    result = graded(solved, only="1.1")
    messages = [c.message for c in failures(result)]
    assert messages
    assert all("keeps state between calls" in m for m in messages)


def test_a_mistake_shows_beside_what_is_not_written_yet(graded, stage1, tmp_path):
    """The first functions of a new learner, one without its return, the rest a stub."""
    write_stubs(stage1, tmp_path)
    work = tmp_path / "autodiff.py"
    replace(
        work,
        '        raise NotImplementedError("1.1 Value.__init__")',
        "        self.data, self.grad, self.parents, self.gradient = data, 0.0, parents, gradient",
    )
    replace(work, '        raise NotImplementedError("1.1 Value.__add__")', "        self.data + 1")
    result = graded(tmp_path, only="1.1")
    by_name = {c.name: c for c in result.milestones[0].checks}
    assert by_name["test_a_value_holds_its_number"].status == "passed"
    assert by_name["test_sums_and_differences"].status == "failed"
    assert by_name["test_sums_and_differences"].actual == "None"
    assert by_name["test_products_and_quotients"].status == "todo"


def test_a_value_without_a_counterpart_is_shown_alone(graded, solved):
    replace(solved / "network.py", "generator.uniform(-1, 1)", "generator.uniform(-3, 3)")
    [check] = [c for c in failures(graded(solved, only="1.10")) if c.message == "weights outside -1 to 1"]
    assert check.expected is None
    assert check.actual.startswith("[")
    assert check.repro.splitlines()[-1].endswith(f"# got {check.actual}")


def test_what_goes_wrong_because_of_none_has_no_other_name(graded, solved):
    """A text instead of a number raises where None does, and was called a missing return."""
    cosine = "return Value(math.cos(self.data), (self,), gradient)"
    replace(solved / "autodiff.py", cosine, cosine.replace("math.cos(self.data)", "str(math.cos(self.data))"))
    found = failures(graded(solved, only="1.8"))
    assert found
    assert {c.misconception for c in found} == {None}
    replace(solved / "autodiff.py", cosine.replace("math.cos(self.data)", "str(math.cos(self.data))"), cosine.removeprefix("return "))
    found = {c.name: c for c in failures(graded(solved, only="1.8"))}
    assert "never returns it" in found["test_sin_cos"].misconception.says
    assert found["test_sin_cos"].repro.splitlines()[-1].split() == "a.cos() # got None, expected a Value".split()


def test_a_check_that_fails_on_the_solution_too_is_the_graders_fault(command, course):
    checks = course / "stages" / "stage1_autodiff" / "checks_dual.py"
    replace(checks, "expect_close(power.tangent, 0.0", "expect_close(power.tangnt, 0.0")
    run = command("stage1", "--solutions", "--only", "1.12", cwd=course)
    assert run.returncode == 3
    assert "The check fails on the solution too" in run.stdout
    assert "common cause" not in run.stdout
