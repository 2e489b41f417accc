"""Course facts are checked as they are read; stubs are the solutions without the answers."""

import ast
import shutil
import sys
import tokenize

import pytest
from conftest import replace
from small_stage import run

from grader.codec import decode
from grader.course import ROOT, find_stage, functions_of, parse, read_stages
from grader.errors import CourseError, UsageError
from grader.faults import faults_of
from grader.stubs import stale_stubs, stub_of, write_stubs
from grader.worker import Worker

FOLDER = "stage1_autodiff"
FAULT = """
[[fault]]
id = "wrong-sign"
file = "autodiff.py"
old = "return self * -1.0"
new = "return self * 1.0"
caught_by = ["1.1"]
says = "A negative number is the number times -1."
"""
STAGES = read_stages(ROOT)
every_stage = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)


@pytest.fixture
def root(tmp_path):
    """A copy of the course's facts, to be damaged; with one fault."""
    for tree in ("stages", "solutions"):
        shutil.copytree(
            ROOT / tree / FOLDER,
            tmp_path / tree / FOLDER,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    (tmp_path / "solutions" / "faults").mkdir()
    (tmp_path / "solutions" / "faults" / "stage1.toml").write_text(FAULT, encoding="utf-8")
    before = dict(sys.modules)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("gradwright_")]:
        sys.modules.pop(name)
    sys.modules.update({k: v for k, v in before.items() if k.startswith("gradwright_")})


@pytest.fixture
def facts(root):
    return root / "stages" / FOLDER / "stage.toml"


@pytest.fixture
def faults(root):
    return root / "solutions" / "faults" / "stage1.toml"


def refuses(root, path, words, read=lambda stages: None):
    """Reading the course is refused in one sentence that names the file, and says the words."""
    with pytest.raises(CourseError) as caught:
        read(read_stages(root))
    message = str(caught.value)
    assert str(path) in message
    assert words in message
    assert "\n" not in message


def read_faults(stages):
    faults_of(stages[0])


def read_checks(stages):
    stages[0].checks  # noqa: B018


# What is right.


def test_the_course_as_it_is_can_be_read():
    for stage in STAGES:
        assert stage.name == stage.folder.split("_")[0]
        assert set(stage.checks) == {m.id for m in stage.milestones}
        assert len(faults_of(stage)) > 0
        assert len({m.id for m in stage.milestones}) == len(stage.milestones)


def test_the_copy_can_be_read_before_it_is_damaged(root):
    [stage] = read_stages(root)
    [fault] = faults_of(stage)
    assert fault.new == ("return self * 1.0",)
    assert stage.root == root
    assert stage.checks["1.1"]


def test_a_fault_may_have_several_forms(root, faults):
    replace(faults, 'new = "return self * 1.0"', 'new = ["return self", "return self * 2"]')
    [fault] = faults_of(read_stages(root)[0])
    assert fault.new == ("return self", "return self * 2")


def test_a_course_without_solutions_can_be_read_and_has_no_faults(root):
    shutil.rmtree(root / "solutions" / FOLDER)
    [stage] = read_stages(root)
    assert faults_of(stage) == []


def test_electives_do_not_count_among_the_hundred_points(root, facts):
    replace(facts, 'title = "Forward mode"\npoints = 5', 'title = "Forward mode"\npoints = 50')
    assert [m.points for m in read_stages(root)[0].milestones if m.bonus] == [5, 50]


def test_an_unknown_stage_or_milestone_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"There is no 'stage9'. Stages: stage1"):
        find_stage("stage9")
    with pytest.raises(UsageError, match=r"no milestone '1.99'. Its milestones: 1.1, 1.2"):
        STAGES[0].milestone("1.99")


# Broken stage.toml: where, what is replaced by what, and what the message says.

DAMAGE = {
    "an unknown key": ('title = "Scalar autodiff"', 'title = "Scalar autodiff"\ncolour = "red"', "colour: unknown key"),
    "an unknown table": ("[files]", "[files_]\n[files]", "files_: unknown key"),
    "an unknown key of a milestone": ('id = "1.1"', 'id = "1.1"\nworth = 3', "milestone 1.1.worth: unknown key"),
    "no title": ('title = "Scalar autodiff"', "", "title: missing"),
    "no files": ("[files]", "[given_]", "files: missing"),
    "no id": ('id = "1.1"\n', "", "milestone 1.id: missing"),
    "no points": ('id = "1.2"\ntitle = "One operation, one local gradient"\npoints = 15', 'id = "1.2"\ntitle = "One operation"', "milestone 1.2.points: missing"),
    "no hours": ("hours = 4.5", "", "milestone 1.10.hours: missing"),
    "a title of a milestone that is missing": ('title = "Order"', "", "milestone 1.5.title: missing"),
    "a title that is a number": ('title = "Scalar autodiff"', "title = 3", "title: not of the right kind: 3"),
    "points that are text": ('title = "Order"\npoints = 10', 'title = "Order"\npoints = "10"', "milestone 1.5.points: not of the right kind: '10'"),
    "points that are true": ('title = "Order"\npoints = 10', 'title = "Order"\npoints = true', "milestone 1.5.points: not of the right kind: True"),
    "hours that are text": ("hours = 4.5", 'hours = "long"', "milestone 1.10.hours: not of the right kind"),
    "an id that is a number": ('id = "1.5"', "id = 1.5", "milestone 1.5.id: not of the right kind"),
    "an elective that is one": ('title = "Forward mode"\npoints = 5\nhours = 2.0\nbonus = true', 'title = "Forward mode"\npoints = 5\nhours = 2.0\nbonus = 1', "milestone 1.12.bonus: not of the right kind: 1"),
    "exercises that are text": ('exercises = ["gradients"]', 'exercises = "gradients"', "milestone 1.11.exercises: not of the right kind"),
    "too many points": ('title = "Order"\npoints = 10', 'title = "Order"\npoints = 11', "points add up to 101, not 100"),
    "too few points": ('title = "Order"\npoints = 10', 'title = "Order"\npoints = 9.5', "points add up to 99.5, not 100"),
    "an exercise not in the solution": ('exercises = ["gradients"]', 'exercises = ["gradients", "Value.fly"]', "exercise not in the solution: Value.fly"),
    "something given that is not in the solution": ('"lift",', '"lift", "shift",', "exercise not in the solution: shift"),
    "a function that nobody lists": ('"Dual.__rsub__", ', "", "neither an exercise nor given: Dual.__rsub__"),
    "an exercise that nobody lists": ('exercises = ["gradients"]', "", "neither an exercise nor given: gradients"),
    "an exercise of two milestones": ('exercises = ["gradients"]', 'exercises = ["gradients", "gradient_check"]', "listed twice: gradient_check"),
    "an exercise that is given": ('"lift",', '"lift", "gradients",', "listed twice: gradients"),
    "a name that its file does not define": ('"gradients"]\n"network', '"gradients", "Tensor"]\n"network', "files.autodiff.py: the solution does not define 'Tensor'"),
    "no TOML": ('title = "Scalar autodiff"', "title = ", "stage.toml: "),
    "a key twice": ('title = "Scalar autodiff"', 'title = "a"\ntitle = "b"', "stage.toml: "),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), DAMAGE.values(), ids=DAMAGE)
def test_a_broken_stage_toml_is_refused_with_file_and_key(root, facts, old, new, words):
    replace(facts, old, new)
    refuses(root, facts, words)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_three_hints_are_due(root, facts, count):
    head, tail = facts.read_text(encoding="utf-8").split('id = "1.3"', 1)
    start = tail.index("hints = [")
    end = tail.index("\n]", start)
    tail = tail[:start] + f"hints = {['look'] * count}" + tail[end + 2 :]
    facts.write_text(f'{head}id = "1.3"{tail}', encoding="utf-8")
    refuses(root, facts, f"milestone 1.3.hints: three are due, got {count}")


UNCHECKED = {
    "a milestone id twice": ('id = "1.3"', 'id = "1.2"', "1.2"),
    "hints that are numbers": ('exercises = ["gradient_check"]\nhints = [', 'exercises = ["gradient_check"]\nhints = [1, 2, 3]\nhint_ = [', "hints"),
    "an exercise that is a number": ('exercises = ["gradients"]', 'exercises = ["gradients", 1]', "exercises"),
    "something given that is a number": ('"lift",', '"lift", 1,', "given"),
    "a file without a list of names": ('["Dual", "derivative"]', "3", "files"),
    "a milestone that is a number": ("[[milestone]]", None, "milestone"),
    "negative points": ('title = "Order"\npoints = 10', 'title = "Order"\npoints = -10', "points"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), UNCHECKED.values(), ids=UNCHECKED)
def test_a_stage_toml_that_is_broken_inside_is_refused_with_file_and_key(
    root, facts, old, new, words
):
    if new is None:
        text = facts.read_text(encoding="utf-8")
        head = text[: text.index(old)].replace("[files]", "milestone = [1, 2]\n[files]")
        facts.write_text(head, encoding="utf-8")
    elif "hint_" in new:
        text = facts.read_text(encoding="utf-8")
        start = text.index(old)
        end = text.index("\n]", start)
        text = text[:start] + new.removesuffix("\nhint_ = [") + text[end + 2 :]
        facts.write_text(text, encoding="utf-8")
    elif "-10" in new:
        replace(facts, old, new)
        replace(facts, 'title = "Depth"\npoints = 10', 'title = "Depth"\npoints = 30')
    else:
        replace(facts, old, new)
    refuses(root, facts, words)


def test_a_stage_toml_that_is_no_text_is_refused(root, facts):
    facts.write_bytes(b"title = '\xff'")
    refuses(root, facts, "cannot be read")


def test_a_course_without_stages_is_refused(root, facts):
    facts.unlink()
    refuses(root, root / "stages", "no stage.toml")


def test_a_solution_that_is_missing_is_named(root):
    path = root / "solutions" / FOLDER / "network.py"
    path.unlink()
    refuses(root, path, "cannot be read")


def test_a_solution_that_is_no_python_is_named_with_its_line(root):
    path = root / "solutions" / FOLDER / "network.py"
    replace(path, "class Neuron:", "class Neuron")
    line = path.read_text(encoding="utf-8").splitlines().index("class Neuron") + 1
    refuses(root, path, f"line {line}")


# Broken faults.

FAULT_DAMAGE = {
    "an unknown key": ('id = "wrong-sign"', 'id = "wrong-sign"\nworth = 3', "fault wrong-sign.worth: unknown key"),
    "an unknown table": ("[[fault]]", "[other]\n[[fault]]", "other: unknown key"),
    "no faults": ("[[fault]]", "[[mistake]]", "fault: missing"),
    "no id": ('id = "wrong-sign"', "", "fault 1.id: missing"),
    "no file": ('file = "autodiff.py"', "", "fault wrong-sign.file: missing"),
    "no old": ('old = "return self * -1.0"', "", "fault wrong-sign.old: missing"),
    "no new": ('new = "return self * 1.0"', "", "fault wrong-sign.new: missing"),
    "nothing that catches it": ('caught_by = ["1.1"]', "", "fault wrong-sign.caught_by: missing"),
    "nothing that it says": ('says = "A negative number is the number times -1."', "", "fault wrong-sign.says: missing"),
    "a new that is a number": ('new = "return self * 1.0"', "new = 3", "fault wrong-sign.new: not of the right kind"),
    "caught by text": ('caught_by = ["1.1"]', 'caught_by = "1.1"', "fault wrong-sign.caught_by: not of the right kind"),
    "an old that does not occur": ('old = "return self * -1.0"', 'old = "return self * -2.0"', "fault wrong-sign: old: occurs 0 times in autodiff.py"),
    "an unknown file": ('file = "autodiff.py"', 'file = "tensor.py"', "fault wrong-sign: file: stage1 has no 'tensor.py'"),
    "an unknown milestone": ('caught_by = ["1.1"]', 'caught_by = ["1.1", "2.1"]', "fault wrong-sign: caught_by: there is no milestone '2.1'"),
    "an unknown twin": ('caught_by = ["1.1"]', 'caught_by = ["1.1"]\nsame_as = ["nobody"]', "fault wrong-sign: same_as: there is no 'nobody'"),
    "an id twice": (FAULT, FAULT + FAULT, "fault wrong-sign: id: used twice"),
    "no TOML": ("[[fault]]", "[[fault]", "stage1.toml: "),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), FAULT_DAMAGE.values(), ids=FAULT_DAMAGE)
def test_a_broken_fault_is_refused_with_file_and_key(root, faults, old, new, words):
    replace(faults, old, new)
    refuses(root, faults, words, read_faults)


def test_a_fault_whose_old_text_occurs_twice_is_refused(root, faults):
    solution = (root / "solutions" / FOLDER / "autodiff.py").read_text(encoding="utf-8")
    old = "other = other if isinstance(other, Value) else Value(other)"
    count = solution.count(old)
    assert count > 1
    replace(faults, "return self * -1.0", old)
    refuses(root, faults, f"old: occurs {count} times in autodiff.py, not once", read_faults)


# Broken checks.


@pytest.fixture
def checks(root):
    return root / "stages" / FOLDER / "checks.py"


def test_a_check_without_a_docstring_is_named(root, checks):
    replace(checks, '    """`a ** b` computes what it says, with a number on either side."""\n', "")
    refuses(root, checks, "test_powers: a check needs a docstring", read_checks)


def test_a_check_of_an_unknown_milestone_is_named(root, checks):
    text = checks.read_text(encoding="utf-8")
    checks.write_text(text.replace('@milestone("1.1"', '@milestone("7.7"', 1), encoding="utf-8")
    refuses(root, checks, "test_a_value_holds_its_number: there is no milestone '7.7'", read_checks)


def test_a_milestone_without_a_check_is_named(root, facts):
    hints = "hints = ['a', 'b', 'c']"
    with facts.open("a", encoding="utf-8") as file:
        file.write(
            f'\n[[milestone]]\nid = "1.13"\ntitle = "x"\npoints = 1\nhours = 1\nbonus = true\n{hints}\n'
        )
    refuses(root, root / "stages" / FOLDER, "milestone 1.13 has no check", read_checks)


@pytest.mark.parametrize(
    "line", ["def broken(:", "from grader.checking import nonsense", "nonsense"]
)
def test_a_check_file_that_does_not_load_is_named(root, checks, line):
    with checks.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    refuses(root, checks, "", read_checks)


def test_check_files_are_read_beside_checks_py_and_names_stay_private(root):
    extra = root / "stages" / FOLDER / "checks_extra.py"
    extra.write_text(
        "from grader.checking import milestone\n\n\n"
        '@milestone("1.5")\ndef test_more(stage):\n    """More."""\n',
        encoding="utf-8",
    )
    before = set(sys.path)
    [stage] = read_stages(root)
    assert stage.checks["1.5"][-1].__name__ == "test_more"
    assert set(sys.path) == before
    assert "checks" not in sys.modules
    assert "checks_extra" not in sys.modules


# Stubs.


def body_below_docstring(node):
    documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    return node.body[1:] if documented else node.body


@every_stage
def test_the_committed_stubs_are_what_the_solutions_give(stage):
    assert stale_stubs(stage) == [], "repair: python -m grader dev stubs"


@every_stage
def test_of_an_exercise_signature_and_docstring_remain_and_an_error_that_names_it(stage):
    for file in stage.files:
        stub = functions_of(ast.parse(stub_of(stage, file)))
        solution = functions_of(parse(stage.source("solutions") / file))
        assert list(stub) == list(solution)
        for name, node in stub.items():
            assert ast.unparse(node.args) == ast.unparse(solution[name].args)
            assert ast.get_docstring(node) == ast.get_docstring(solution[name])
            if name in stage.exercises:
                assert ast.get_docstring(node), f"{name} has no contract"
                [statement] = body_below_docstring(node)
                wanted = f"{stage.exercises[name].id} {name}"
                assert ast.unparse(statement) == f"raise NotImplementedError('{wanted}')"
            else:
                assert ast.unparse(node) == ast.unparse(solution[name])


def comments(text):
    tokens = tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__)
    return [(t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT]


@every_stage
def test_no_comment_inside_an_exercise_remains(stage):
    for file in stage.files:
        source = (stage.source("solutions") / file).read_text(encoding="utf-8")
        spans = [
            range(node.lineno, node.end_lineno + 1)
            for name, node in functions_of(ast.parse(source)).items()
            if name in stage.exercises
        ]
        inside = {text for line, text in comments(source) if any(line in span for span in spans)}
        assert not inside & {text for _, text in comments(stub_of(stage, file))}


@every_stage
def test_what_stands_outside_of_exercises_remains_word_for_word(stage):
    for file in stage.files:
        source = (stage.source("solutions") / file).read_text(encoding="utf-8").splitlines()
        stub = stub_of(stage, file).splitlines()[1:]  # without the line that says it is generated
        kept = iter(source)
        assert all(line in kept for line in stub if "raise NotImplementedError(" not in line)


@every_stage
def test_a_stub_says_what_it_was_generated_from(stage):
    for file in stage.files:
        first = stub_of(stage, file).splitlines()[0]
        assert first.startswith(f"# Generated from solutions/{stage.folder}/{file}.")


@every_stage
def test_every_stub_can_be_imported_and_defines_its_names(stage, tmp_path):
    write_stubs(stage, tmp_path)
    folders = {s.folder: s.source("solutions") for s in STAGES if s.name < stage.name} | {
        stage.folder: tmp_path
    }
    worker = Worker()
    try:
        worker.load(stage.folder, folders, stage.names)
        for file, names in stage.files.items():
            module = f"solutions.{stage.folder}.{file.removesuffix('.py')}"
            source = f"from {module} import {', '.join(names)}\n1"
            assert decode(run(worker, source)) == [True, 1]
    finally:
        worker.close()


# Writing stubs.


def test_stubs_are_written_where_there_are_none(stage1, tmp_path):
    folder = tmp_path / "new" / "stage1_autodiff"
    assert sorted(path.name for path in write_stubs(stage1, folder)) == sorted(stage1.files)
    assert stale_stubs(stage1, folder) == []
    assert write_stubs(stage1, folder) == []


def test_a_stub_of_yesterday_is_brought_up_to_date(stage1, tmp_path):
    write_stubs(stage1, tmp_path)
    path = tmp_path / "autodiff.py"
    replace(path, '"""Return -self."""', '"""Return minus self."""')
    assert stale_stubs(stage1, tmp_path) == ["autodiff.py"]
    assert write_stubs(stage1, tmp_path) == [path]
    assert path.read_text(encoding="utf-8") == stub_of(stage1, "autodiff.py")


WORK = {
    "a function": lambda text: text.replace(
        'raise NotImplementedError("1.1 Value.__neg__")', "return self * -1.0"
    ),
    "a beginning": lambda text: text.replace(
        'raise NotImplementedError("1.1 Value.__neg__")',
        'print(self)\n        raise NotImplementedError("1.1 Value.__neg__")',
    ),
    "another error": lambda text: text.replace(
        'raise NotImplementedError("1.1 Value.__neg__")', 'raise ValueError("later")'
    ),
    "a file that does not parse": lambda text: text + "\ndef (:\n",
    "another file": lambda text: "x =",
}


@pytest.mark.parametrize("spoil", WORK.values(), ids=WORK)
def test_work_is_not_overwritten(stage1, tmp_path, spoil):
    write_stubs(stage1, tmp_path)
    path = tmp_path / "autodiff.py"
    work = spoil(path.read_text(encoding="utf-8"))
    path.write_text(work, encoding="utf-8")
    (tmp_path / "dual.py").unlink()
    with pytest.raises(UsageError) as caught:
        write_stubs(stage1, tmp_path)
    assert str(path) in str(caught.value)
    assert "python -m grader dev stubs" in str(caught.value)
    assert path.read_text(encoding="utf-8") == work
    assert not (tmp_path / "dual.py").exists()  # all or nothing


def test_a_finished_solution_is_not_overwritten(stage1, solved):
    before = (solved / "autodiff.py").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"autodiff\.py holds work"):
        write_stubs(stage1, solved)
    assert (solved / "autodiff.py").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("own", ["def helper(x):\n    return x\n"])
def test_what_a_learner_added_beside_the_exercises_is_not_overwritten(stage1, tmp_path, own):
    write_stubs(stage1, tmp_path)
    with (tmp_path / "autodiff.py").open("a", encoding="utf-8") as file:
        file.write(own)
    with pytest.raises(UsageError):
        write_stubs(stage1, tmp_path)


def test_an_exercise_on_one_line_is_refused(root):
    solution = root / "solutions" / FOLDER / "autodiff.py"
    text = solution.read_text(encoding="utf-8")
    text = text.replace(
        '(self):\n        """Return -self."""\n        return self * -1.0',
        "(self): return self * -1.0",
    )
    solution.write_text(text, encoding="utf-8")
    [stage] = read_stages(root)
    with pytest.raises(CourseError, match="one line"):
        stub_of(stage, "autodiff.py")
