"""The command line: what people type, what they see, what the exit status says."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import replace

from grader.course import ROOT, read_stages


def sentence(run):
    """The one line that a refused command prints."""
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    [line] = run.stderr.strip().splitlines()
    return line


def test_one_milestone_of_the_solutions(command):
    run = command("stage1", "--solutions", "--only", "1.1", "--seed", "3")
    assert run.returncode == 0
    assert "10/10  ✓ passed" in run.stdout


def test_the_stub_exits_with_one_and_says_what_to_write_next(command, course):
    run = command("stage1", cwd=course)
    assert run.returncode == 1
    assert "to do: Value.__init__ and 11 more" in run.stdout
    assert "write Value.__init__, then: python -m grader stage1 --only 1.1" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stage9"], "There is no 'stage9'"),
        (["stage1", "--only", "9.9"], "stage1 has no milestone '9.9'"),
        (["stage1", "--colour"], "No such option"),
        (["stage1", "--seed", "soon"], "not a valid integer"),
        (["stage1", "--examples", "0"], "0"),
        (["stage1", "--submission", "nowhere"], "nowhere is not a folder"),
        (["stage1", "--submission", "grader"], "holds no autodiff.py"),
        (["stage1", "--solutions", "--submission", "stages"], "not both"),
        (["all", "--only", "1.1"], "--only needs one stage"),
        (["stage1", "--json", "no/such/folder.json"], "cannot be written"),
        (["hint", "stage9"], "There is no 'stage9'"),
        (["dev", "prove", "--mutants", "some"], "--mutants"),
    ],
)
def test_a_request_that_makes_no_sense_is_one_sentence_and_exit_two(command, arguments, said):
    run = command(*arguments)
    assert run.returncode == 2
    assert said in sentence(run)


def test_json_has_the_documented_form(command, solved):
    replace(solved / "autodiff.py", "return upstream * b, upstream * a", "return upstream * a, upstream * b")
    run = command("stage1", "--submission", solved, "--only", "1.2", "--seed", "4", "--json", "-")
    assert run.returncode == 1
    result = json.loads(run.stdout)
    assert (result["schema"], result["stage"], result["target"], result["earlier"]) == (1, "stage1", "submission", "solutions")
    assert (result["seed"], result["max_score"]) == (4, 100)
    assert [set(f) for f in result["files"]] == [{"path", "sha256"}] * 3
    assert result["sandbox"]["level"] in ("none", "limits")
    [milestone] = result["milestones"]
    assert {"id", "title", "score", "max_score", "bonus", "status", "checks"} <= set(milestone)
    keys = "name claim status message repro expected actual where stdout misconception blame".split()
    assert all(set(check) == set(keys) for check in milestone["checks"])
    [failed] = [c for c in milestone["checks"] if c["name"] == "test_slopes_of_products"]
    assert failed["misconception"]["id"] == "mul-does-not-swap"
    assert "autodiff.py:" in failed["where"]


def test_all_writes_a_list(command, tmp_path):
    target = tmp_path / "out.json"
    command("all", "--solutions", "--examples", "1", "--json", target)
    graded = [r["stage"] for r in json.loads(target.read_text(encoding="utf-8"))]
    assert graded == [stage.name for stage in read_stages()]


def test_a_copy_of_stages_of_a_stage_and_of_files_grade_alike(command, solved, tmp_path):
    tree = tmp_path / "stages" / "stage1_autodiff"
    shutil.copytree(solved, tree)
    runs = [
        command("stage1", "--submission", folder, "--only", "1.1", "--seed", "1")
        for folder in (tmp_path / "stages", tree, solved)
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]


def test_progress_is_remembered_and_shown(command, course):
    assert "python -m grader stage1" in command(cwd=course).stdout
    shutil.copy(course / "solutions/stage1_autodiff/autodiff.py", course / "stages/stage1_autodiff/autodiff.py")
    command("stage1", "--only", "1.1", cwd=course)
    overview = command(cwd=course).stdout
    assert "1 of 10 milestones" in overview
    assert "next:  1.2" in overview


def test_hints_come_one_at_a_time_and_are_remembered(command, course):
    texts = [command("hint", "stage1", cwd=course).stdout for _ in range(4)]
    assert [f"hint {n} of 3" in text for n, text in zip((1, 2, 3, 3), texts)] == [True] * 4
    assert len(set(texts[:3])) == 3


def test_the_last_hint_says_so_and_names_the_lesson(command, course):
    first, _, last, again = [command("hint", cwd=course).stdout for _ in range(4)]
    assert "more:  python -m grader hint stage1" in first
    assert "last hint" not in first
    assert "That was the last hint; the same command repeats it." in last
    assert "read:  section 1.1 of stages/stage1_autodiff/stage1.ipynb" in last
    assert "more:" not in last
    assert again == last


def test_an_example_that_failed_is_tried_first_the_next_time(command, course):
    work = course / "stages" / "stage1_autodiff" / "autodiff.py"
    shutil.copy(course / "solutions/stage1_autodiff/autodiff.py", work)
    replace(work, "return Value(math.sin(self.data), (self,), gradient)", "return Value(math.sin(self.data) + (self.data == 2.0), (self,), gradient)")
    first = command("stage1", "--only", "1.8", "--seed", "1", cwd=course)
    assert "Value(2.0)" in first.stdout
    again = command("stage1", "--only", "1.8", "--examples", "1", cwd=course)
    assert "Value(2.0)" in again.stdout


def test_a_folder_that_cannot_be_written_is_graded_with_a_word(command, course):
    (course / ".gradwright").write_text("a file where the folder should be", encoding="utf-8")
    run = command("stage1", cwd=course)
    assert run.returncode == 1
    assert "Progress is not kept" in run.stdout


def test_a_grading_leaves_nothing_in_the_folder_one_is_in(command, solved, tmp_path):
    here = tmp_path / "elsewhere"
    here.mkdir()
    replace(solved / "autodiff.py", "return upstream * b, upstream * a", "return upstream * a, upstream * b")
    environment = {k: v for k, v in os.environ.items() if k != "HYPOTHESIS_STORAGE_DIRECTORY"}
    run = command("stage1", "--submission", solved, "--only", "1.2", cwd=here, env=environment)
    assert run.returncode == 1
    assert list(here.iterdir()) == []


def test_nor_does_the_pytest_command_of_authors(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "HYPOTHESIS_STORAGE_DIRECTORY"}
    checks = ROOT / "stages" / "stage1_autodiff" / "checks.py"
    command = ["-m", "pytest", "-q", "-p", "grader.pytest_plugin", "-p", "no:cacheprovider", checks, "-k", "slopes_of_sums"]
    run = subprocess.run([sys.executable, *map(str, command)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stdout
    assert list(tmp_path.iterdir()) == []


def checked(course, argument):
    """What `check` of a notebook shows."""
    script = f"from grader import check; check({argument})"
    run = subprocess.run([sys.executable, "-c", script], cwd=course, capture_output=True, encoding="utf-8", check=False, timeout=100)
    assert run.stderr == ""
    return run.stdout


def test_check_takes_a_number_as_python_writes_it(course):
    shown = checked(course, "1.4")
    assert "1.4  A value used more than once" in shown
    assert "one number" not in shown
    shown = checked(course, "1.10")
    assert "1.1  Values and arithmetic" in shown
    assert 'For milestone 1.10: check("1.10")' in shown
    shown = checked(course, "'1.10'")
    assert "1.10 A network of scalars" in shown
    assert "one number" not in shown
    assert "one number" not in checked(course, "'1.1'")


@pytest.mark.parametrize("argument", ["9.5", "1", "'one'", "None", "float('nan')"])
def test_check_of_no_milestone_is_one_sentence(course, argument):
    [line] = checked(course, argument).splitlines()
    assert line.startswith("There is no milestone")


def test_debug_runs_in_this_process_and_gives_no_points(command, solved):
    replace(solved / "autodiff.py", '        """Return e ** self."""\n', '        """Return e ** self."""\n        import os\n        print("in", os.getpid())\n')
    run = command("stage1", "--submission", solved, "--only", "1.8", "--examples", "2", "--debug")
    assert run.returncode == 1
    assert "0/0" in run.stdout
    assert "gives no points" in run.stdout
    assert "in " in run.stdout


def test_a_closed_pipe_is_a_quiet_end():
    script = f"'{sys.executable}' -m grader stage1 --solutions --only 1.1 | head -c 1"
    run = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, check=False, timeout=100)
    assert run.stderr == b""


def test_broken_metadata_is_named_and_exits_with_three(command, course):
    replace(course / "stages/stage1_autodiff/stage.toml", 'title = "Scalar autodiff"', 'title = "Scalar autodiff"\ncolour = 3')
    run = command("stage1", cwd=course)
    assert run.returncode == 3
    assert "stage.toml: colour: unknown key" in sentence(run)


def test_what_the_code_prints_is_shown_as_its_own(command, solved):
    replace(solved / "autodiff.py", "            return (upstream * cos(a),)", "            print('here', '\\x1b[31mred')\n            return (upstream * a,)")
    run = command("stage1", "--submission", solved, "--only", "1.8", "--seed", "2")
    assert "Your code printed:" in run.stdout
    assert "| here red" in run.stdout
    assert "\x1b" not in run.stdout


def test_without_utf8_the_report_is_plain_ascii(command):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = command("stage1", "--solutions", "--only", "1.1", env=environment)
    assert run.returncode == 0


def test_a_grader_in_a_folder_with_spaces_and_umlauts(command, course):
    moved = course.rename(course.with_name("mein kurs ä"))
    assert "0/100" in command("stage1", cwd=moved).stdout
