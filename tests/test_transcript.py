"""Printed programs read like the learner's own code, run when pasted, and show the judged value."""

import ast
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from small_stage import load

from grader.checking import beside
from grader.course import ROOT
from grader.remote import Remote, RemoteError, Session, together
from grader.transcript import (
    MAX_ELEMENTS,
    Event,
    Program,
    Transcript,
    Unprintable,
    print_program,
    source_beside,
)
from grader.worker import Worker

FILES = {
    "box": """
import numpy as np


class Box:
    __array_ufunc__ = None

    def __init__(self, item=None, **named):
        self.item = item
        self.named = named

    def __add__(self, other):
        return Box(self.item + unboxed(other))

    def __radd__(self, other):
        return Box(other + self.item)

    def __sub__(self, other):
        return Box(self.item - unboxed(other))

    def __rsub__(self, other):
        return Box(other - self.item)

    def __mul__(self, other):
        return Box(self.item * unboxed(other))

    def __rmul__(self, other):
        return Box(other * self.item)

    def __truediv__(self, other):
        return Box(self.item / unboxed(other))

    def __floordiv__(self, other):
        return Box(self.item // unboxed(other))

    def __mod__(self, other):
        return Box(self.item % unboxed(other))

    def __pow__(self, other):
        return Box(self.item ** unboxed(other))

    def __rpow__(self, other):
        return Box(other**self.item)

    def __matmul__(self, other):
        return Box(self.item @ unboxed(other))

    def __lt__(self, other):
        return Box(self.item < unboxed(other))

    def __ge__(self, other):
        return Box(self.item >= unboxed(other))

    def __neg__(self):
        return Box(-self.item)

    def __invert__(self):
        return Box(~self.item)

    def __abs__(self):
        return Box(abs(self.item))

    def __iadd__(self, other):
        self.item += unboxed(other)
        return self

    def __imul__(self, other):
        return Box(self.item * unboxed(other))

    def __len__(self):
        return 3

    def __iter__(self):
        yield from [Box(1), Box(2)]

    def __getitem__(self, key):
        return self.item[key]

    def __setitem__(self, key, value):
        self.item[key] = value

    def __delitem__(self, key):
        del self.item[key]

    def __enter__(self):
        return Box("entered")

    def __exit__(self, *exception):
        self.item = "left"

    def get(self, default=None):
        return self.item

    def both(self):
        return [Box(self.item), (Box(2), 5), {"key": Box(3)}]

    def me(self):
        return self

    def fail(self):
        raise ValueError("on purpose")


def unboxed(x):
    return x.item if isinstance(x, Box) else x


def show(x):
    return repr(x)
""",
    "tools": "def double(x):\n    return x * 2\n\n\ndef b(x):\n    return x\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def session(home):
    worker = Worker()
    yield load(worker, home, **FILES)
    worker.close()


@pytest.fixture
def stage(session):
    session.begin()
    return session.stage


def printed(stage, judged=None, remark="", package=""):
    session = stage._session
    return print_program(session.transcript, package, session.names, remark, judged)


def lines(stage, judged=None):
    """The program without its imports."""
    body = printed(stage, judged).body
    return body.split("\n\n", 1)[1] if body.startswith(("from", "import")) else body


def text_of(block):
    return textwrap.dedent(block).strip("\n")


def pasted(home, program):
    """Run a program as a person would, in a fresh Python beside the files; return what its last line shows."""
    assert ast.dump(ast.parse(program.text)) == ast.dump(ast.parse(program.body))
    *before, last = program.body.split("\n")
    source = "\n".join([*before, f"print(repr({last}))"])
    run = subprocess.run(
        [sys.executable, "-B", "-c", source],
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1]


# Names.


def test_results_that_are_used_get_names_in_alphabetical_order(stage):
    x = stage.Box(1)
    y = stage.Box(2)
    (x + y).get()
    assert lines(stage) == "a = Box(1)\nc = Box(2)\nd = a + c\nd.get()"  # b is the learner's own


def test_what_is_not_used_gets_no_name(stage):
    stage.Box(1)
    stage.Box(2).get()
    assert lines(stage) == "a = Box(2)\na.get()"


def test_after_z_names_have_numbers(stage):
    x = stage.Box(0)
    for _ in range(30):
        x = x + 1
    x.get()
    names = [line.split(" = ")[0] for line in lines(stage).splitlines()[:-1]]
    assert names[:3] == ["a", "c", "d"]
    assert names[24:28] == ["z", "v1", "v2", "v3"]
    assert len(set(names)) == 31


def test_the_same_object_keeps_its_first_name(stage):
    x = stage.Box(1)
    y = x.me()
    (y + x.me()).get()
    assert lines(stage) == "a = Box(1)\na.me()\na.me()\nc = a + a\nc.get()"


# Reads.


def test_attribute_reads_stand_where_they_are_used(stage):
    x = stage.Box(stage.Box(5))
    x.item.item  # noqa: B018
    assert lines(stage) == "a = Box(5)\nBox(a)\na.item"


def test_an_object_first_seen_in_an_attribute_is_written_as_the_attribute(stage):
    x = stage.Box(stage.show)
    held = x.me().item
    held(3)
    assert lines(stage) == "show(3)"
    stage._session.begin()
    x = stage.Box(1)
    get = x.get
    get()
    assert lines(stage) == "a = Box(1)\na.get()"


def test_what_was_only_looked_at_on_the_way_is_left_out(stage):
    x = stage.Box([1, 2])
    x.item  # noqa: B018
    x[0]
    len(x)
    x.named  # noqa: B018
    x.get()
    assert lines(stage) == "a = Box([1, 2])\na.get()"


@pytest.mark.parametrize(
    ("use", "last"),
    [
        (lambda x: x.item, "a.item"),
        (lambda x: x[0], "a[0]"),
        (lambda x: x[-1], "a[-1]"),
        (lambda x: len(x), "len(a)"),
        (lambda x: x.get(), "a.get()"),
        (lambda x: x.get(1), "a.get(1)"),
        (lambda x: x.get(default=-1), "a.get(default=-1)"),
    ],
)
def test_what_is_judged_stands_last(stage, use, last):
    use(stage.Box([1, 2]))
    assert lines(stage) == f"a = Box([1, 2])\n{last}"


def test_a_program_may_end_before_the_last_request(stage):
    judged = stage.Box([1]).get()
    stage.Box(2).get()
    position = stage._session.transcript.position_of(judged)
    assert lines(stage, position) == "a = Box([1])\na.get()"


def test_setting_an_attribute_is_an_assignment(stage):
    x = stage.Box(1)
    x.item = 2.5
    x.item = x
    x.get()
    assert lines(stage) == "a = Box(1)\na.item = 2.5\na.item = a\na.get()"


def test_a_read_before_an_assignment_still_reads_what_was_there(stage, home):
    x = nested(stage.Box)
    old = x.item
    x.item = stage.Box("new")
    assert old.item == "old"
    assert pasted(home, printed(stage)) == "'old'"


@beside
def nested(Box):
    return Box(Box("old"))


# Literals and operators.


@pytest.mark.parametrize(
    ("use", "shows"),
    [
        (lambda x: x + 2, "a + 2"),
        (lambda x: 2 + x, "2 + a"),
        (lambda x: x - -2.0, "a - (-2.0)"),
        (lambda x: -2.0 * x, "(-2.0) * a"),
        (lambda x: (-2) ** x, "(-2) ** a"),
        (lambda x: x**-1, "a ** (-1)"),
        (lambda x: x / 2, "a / 2"),
        (lambda x: x // 2, "a // 2"),
        (lambda x: x % 2, "a % 2"),
        (lambda x: x < 2, "a < 2"),
        (lambda x: x >= -2, "a >= (-2)"),
        (lambda x: -x, "-a"),
        (lambda x: ~x, "~a"),
        (lambda x: abs(x), "abs(a)"),
        (lambda x: x * float("inf"), "a * float('inf')"),
        (lambda x: x * float("-inf"), "a * float('-inf')"),
        (lambda x: x * float("nan"), "a * float('nan')"),
        (lambda x: x * True, "a * True"),
        (lambda x: x * 1e-300, "a * 1e-300"),
        (lambda x: x * 2**70, "a * 1180591620717411303424"),
        (lambda x: x * np.float64(2.5), "a * np.float64(2.5)"),
        (lambda x: np.int64(-2) * x, "np.int64(-2) * a"),
        (lambda x: x * np.float32("nan"), "a * np.float32(float('nan'))"),
        (lambda x: x * np.array([1.0, -2.0]), "a * np.array([1.0, -2.0])"),
        (lambda x: np.array([1, 2]) * x, "np.array([1, 2]) * a"),
        (lambda x: x * np.array(3.0), "a * np.array(3.0)"),
        (lambda x: x * np.array([True]), "a * np.array([True])"),
        (lambda x: x * np.array([1.5], "float32"), "a * np.float32([1.5])"),
        (lambda x: x * np.array([[0.7], [1e-9]], "float32"), "a * np.float32([[0.7], [1e-09]])"),
        (lambda x: x * np.array(0.7, "float32"), "a * np.array(0.7, dtype='float32')"),
        (lambda x: x * np.float32(0.7), "a * np.float32(0.7)"),
        (lambda x: x * np.zeros((0, 2)), "a * np.zeros((0, 2), dtype='float64')"),
        (lambda x: x * np.array([np.nan, -np.inf]), "a * np.array([np.nan, -np.inf])"),
    ],
)
def test_operators_and_their_operands(stage, use, shows):
    use(stage.Box(2))
    assert lines(stage) == f"a = Box(2)\n{shows}"


def test_nested_operations_are_written_step_by_step_so_that_nothing_binds_wrongly(stage):
    x, y = stage.Box(1), stage.Box(2)
    (-(((x + y) * (x - y)) ** 2)).get()
    assert lines(stage) == text_of("""
        a = Box(1)
        c = Box(2)
        d = a + c
        e = a - c
        f = d * e
        g = f ** 2
        h = -g
        h.get()
        """)


def test_operators_in_place_are_two_lines(stage):
    x = stage.Box(1)
    x += 2
    x *= -3
    x.get()
    assert lines(stage) == text_of("""
        a = Box(1)
        c = a
        c += 2
        d = a
        d *= -3
        d.get()
        """)


def test_items_are_written_as_items(stage):
    x = stage.Box(np.zeros((2, 3)))
    x[1:, None] = 4.0
    x[0, -1] = -1.0
    x[::-1]
    x[..., 0]
    assert lines(stage) == text_of("""
        a = Box(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        a[1:, None] = 4.0
        a[0, -1] = (-1.0)
        a[..., 0]
        """)


@pytest.mark.parametrize(
    ("key", "shows"),
    [
        (slice(None), ":"),
        (slice(1, None), "1:"),
        (slice(None, -1), ":-1"),
        (slice(None, None, -1), "::-1"),
        (slice(0, 4, 2), "0:4:2"),
        ((slice(None), 0), ":, 0"),
        ((0,), "0,"),
        ((), "()"),
        (..., "..."),
        (None, "None"),
        ((..., None, slice(2)), "..., None, :2"),
        ([0, 1], "[0, 1]"),
        (np.array([True, False]), "np.array([True, False])"),
        ("a", "'a'"),
    ],
)
def test_every_kind_of_index_is_written_as_python_has_it(stage, key, shows):
    x = stage.Box({})
    with pytest.raises(RemoteError):
        x[key]
    assert lines(stage) == f"a = Box({{}})\na[{shows}]"
    ast.parse(lines(stage))


def test_deleting_an_item(stage):
    x = stage.Box([1, 2])
    del x[0]
    x.get()
    assert lines(stage) == "a = Box([1, 2])\ndel a[0]\na.get()"


def test_arguments_are_written_as_they_were_given(stage):
    inner = stage.Box(1)
    stage.Box([inner, (2,), {"k": inner}], key=(1, 2), other=-1.5, text="it's", nothing=None)
    assert lines(stage) == text_of("""
        a = Box(1)
        Box([a, (2,), {'k': a}], key=(1, 2), other=-1.5, text="it's", nothing=None)
        """)


def test_context_managers_are_with_blocks(stage):
    with stage.Box(1) as inside:
        inside.get()
    stage.Box(2).get()
    assert lines(stage) == text_of("""
        a = Box(1)
        with a as c:
            c.get()

        d = Box(2)
        d.get()
        """)


def test_a_block_that_is_judged_inside_is_entered_by_hand(stage):
    with stage.Box(1) as inside:
        inside.get()
    assert lines(stage) == text_of("""
        a = Box(1)
        c = a.__enter__()
        c.get()
        a.__exit__(None, None, None)
        """)


def test_a_block_that_touches_nothing_is_kept_all_the_same(stage):
    with stage.Box(1), stage.Box(2):
        pass
    stage.Box(3).get()
    assert lines(stage) == text_of("""
        a = Box(1)
        with a:
            c = Box(2)
            with c:
                pass

        d = Box(3)
        d.get()
        """)


def test_an_error_that_changed_something_can_be_shown(stage):
    a = stage.Box(1)
    with pytest.raises(RemoteError):
        a.fail()
    a.get()
    session = stage._session
    body = print_program(session.transcript, "", session.names, raising=True).body
    assert body.split("\n\n", 1)[1] == text_of("""
        a = Box(1)
        try:
            a.fail()
        except ValueError:
            pass

        a.get()
        """)


def test_a_loop_that_leads_nowhere_is_left_out(stage):
    a = stage.Box(1)
    assert len([item.named for item in a]) == 2
    a.get()
    assert lines(stage) == "a = Box(1)\na.get()"


def test_a_loop_whose_items_are_used_is_printed(stage):
    a = stage.Box(1)
    first, second = a
    (first + second).get()
    assert lines(stage) == text_of("""
        a = Box(1)
        c = iter(a)
        d = next(c)
        e = next(c)
        f = d + e
        f.get()
        """)


def test_a_value_that_was_only_looked_at_before_it_is_set_is_left_out(stage):
    a = stage.Box(1)
    a.item  # noqa: B018
    a.item = 5
    a.get()
    assert lines(stage) == "a = Box(1)\na.item = 5\na.get()"


def test_a_remark_on_a_long_line_stands_below_it(stage):
    a = stage.Box(1)
    a.get("x" * 80)
    text = printed(stage, remark="got 1, expected 2").text
    assert text.splitlines()[-1] == "# got 1, expected 2"
    a.get()
    assert printed(stage, remark="got 1, expected 2").text.endswith("a.get()                     # got 1, expected 2")


# Replies that are lists.


def test_an_object_inside_a_list_is_named_by_its_place(stage):
    first, (second, five), named = stage.Box(1).both()
    (first + second + named["key"] + five).get()
    assert lines(stage) == text_of("""
        a = Box(1)
        c = a.both()
        d = c[0] + c[1][0]
        e = d + c[2]['key']
        f = e + 5
        f.get()
        """)


def test_an_item_of_a_list_can_be_what_is_judged(stage):
    got = stage.Box(1).both()
    judged = stage._session.transcript.position_of(got[1])
    assert lines(stage, judged) == "a = Box(1)\na.both()[1]"


def test_the_judged_value_is_found_in_the_latest_reply_that_held_it(stage):
    x = stage.Box("text")
    first = x.get()
    second = x.item
    log = stage._session.transcript
    assert log.position_of(first)[0] < log.position_of(second)[0]
    assert log.position_of("text" + str(len(log.events))) is None


def test_none_is_looked_for_in_the_last_reply_alone(stage):
    x = stage.Box(None)
    x.get()
    log = stage._session.transcript
    assert log.position_of(None) == (len(log.events) - 1, ())
    stage.Box(1).get()
    assert log.position_of(None) is None


# Imports.


def test_imports_are_one_line_per_file(stage):
    stage.show(stage.double(stage.Box(1)))
    assert printed(stage, package="solutions.stage1_small").body == text_of("""
        from solutions.stage1_small.box import Box, show
        from solutions.stage1_small.tools import double

        a = Box(1)
        c = double(a)
        show(c)
        """)


def test_without_a_package_the_files_are_imported_by_their_names(stage):
    stage.show(np.array([1]))
    assert printed(stage).body == text_of("""
        import numpy as np
        from box import show

        show(np.array([1]))
        """)


def test_a_name_that_no_file_holds_is_unprintable(stage):
    with pytest.raises(AttributeError):
        stage.Bxo  # noqa: B018
    try:
        printed(stage)
    except Unprintable:
        pass


# Code beside the learner's.


def decorator(function):
    return function


@beside
@decorator
def total(Box, items, *, start=0):
    # the comment stays
    class Sum(Box):
        pass

    return Sum(sum(items, start))


def test_code_beside_is_printed_as_it_was_written_but_for_blank_lines(stage):
    """At Python's prompt, a blank line ends a function."""
    total(stage.Box, [1, 2], start=-1).get()
    assert printed(stage).body == text_of("""
        from box import Box

        def total(Box, items, *, start=0):
            # the comment stays
            class Sum(Box):
                pass
            return Sum(sum(items, start))

        a = total(Box, [1, 2], start=-1)
        a.get()
        """)


def test_the_source_of_an_inner_function_stands_at_the_margin():
    def inner(x):
        return x

    assert source_beside(inner).rstrip() == "def inner(x):\n    return x"


# The remark.


def test_the_remark_stands_behind_the_last_line():
    assert Program("a = 1\na.grad", "got 1").text == "a = 1\na.grad                      # got 1"
    assert Program("a" * 40, "got 1").text == "a" * 40 + "  # got 1"
    assert Program("a = 1\na.grad", "").text == "a = 1\na.grad"


# Pasted.

PASTED = {
    "operators": lambda s: ((2 - s.Box(3)) * s.Box(-1.5) + (-2.0) ** s.Box(2)).get(),
    "negative literals": lambda s: ((-2) ** s.Box(2) - -3.0).get(),
    "attributes": lambda s: s.Box(s.Box([1, 2])).item.item,
    "in place": lambda s: added(s),
    "items": lambda s: s.Box({"a": [1, 2]})["a"],
    "slices": lambda s: s.Box(list(range(9)))[-2:0:-3],
    "numpy": lambda s: (s.Box(np.array([[1.5, -2.0]])) @ np.array([[2.0], [3.0]])).get(),
    "small dtypes": lambda s: s.show(np.array([[1, -2]], "int8")),
    "numpy numbers": lambda s: s.show(
        [np.float32(1.5), np.bool_(True), np.int16(-3), np.float64(0.1)]
    ),
    "empty arrays": lambda s: s.show([np.zeros((0, 3), "int32"), np.zeros((2, 0))]),
    "not finite": lambda s: s.show([float("nan"), float("-inf"), np.array([np.nan, np.inf])]),
    "arrays of one and none": lambda s: s.show([np.array(2.0), np.array([True, False])]),
    "big numbers": lambda s: s.show([2**90, -(2**90), 1e308, 5e-324]),
    "texts": lambda s: s.show(["it's", 'say "hi"', "a\nb\t\\", "é", b"\x00"]),
    "keywords": lambda s: s.Box(1, x=(1,), y={"k": [-1.0]}).named,
    "lists of objects": lambda s: (s.Box(7).both()[0] + s.Box(7).both()[1][1]).get(),
    "beside": lambda s: total(s.Box, [1.5, -2], start=1).get(),
    "with": lambda s: entered(s),
    "several files": lambda s: s.double(s.b(s.Box(2)) + 1).get(),
    "batch": lambda s: together(s, lambda: [s.Box(2) + 1, (s.Box(2) * 3).get()])[1],
    "plain result in a batch": lambda s: together(s, lambda: [s.Box(2).get() + s.Box(3)])[0].get(),
}


def added(stage):
    x = stage.Box(1)
    x += -2.5
    x *= 2
    return x.get()


def entered(stage):
    with stage.Box(1) as inside:
        return inside.get()


@pytest.mark.parametrize("use", PASTED.values(), ids=PASTED)
def test_a_printed_program_that_is_pasted_ends_in_the_judged_value(stage, home, use):
    got = use(stage)
    assert not isinstance(got, Remote)
    judged = stage._session.transcript.position_of(got)
    assert pasted(home, printed(stage, judged, "got it")) == repr(got)


def test_a_printed_program_that_raises_raises_when_pasted(stage, home):
    with pytest.raises(RemoteError):
        stage.Box(1).fail()
    assert pasted(home, printed(stage)) == "ValueError: on purpose"


@pytest.mark.parametrize("kind", ["an iteration to its end", "an error that was due"])
def test_a_program_goes_on_after_an_error_that_the_check_expected(stage, home, kind):
    x = stage.Box(4)
    if kind == "an iteration to its end":
        assert len([item.get() for item in x]) == 2
    else:
        with pytest.raises(RemoteError):
            x.fail()
    assert x.get() == 4
    assert pasted(home, printed(stage)) == "4"


def test_the_programs_of_the_course_run_when_pasted(stage1_session):
    session = stage1_session
    stage = session.stage
    a, b = stage.Value(2.0), stage.Value(-3.0)
    c = (a * b + 2) ** 2 - a / 3
    c.backward()
    got = a.grad
    program = print_program(
        session.transcript, "solutions.stage1_autodiff", session.names, "",
        session.transcript.position_of(got),
    )  # fmt: skip
    assert pasted(ROOT, program) == repr(got)


@pytest.fixture
def stage1_session(stage1):
    worker = Worker()
    worker.load(stage1.folder, {stage1.folder: stage1.source("solutions")}, stage1.names)
    session = Session(worker)
    session.names = stage1.names
    yield session
    worker.close()


# What cannot be printed.


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(MAX_ELEMENTS + 1),
        np.zeros((2, MAX_ELEMENTS)),
        [0] * (MAX_ELEMENTS + 1),
        tuple(range(MAX_ELEMENTS + 1)),
        [[0] * (MAX_ELEMENTS + 1)],
    ],
    ids=["array", "matrix", "list", "tuple", "list in a list"],
)
def test_a_literal_that_is_too_long_is_unprintable(stage, value):
    stage.Box(value)
    with pytest.raises(Unprintable, match=r"\d+ elements"):
        printed(stage)


@pytest.mark.parametrize(
    "value",
    [
        [[0] * 50] * 50,
        [np.zeros(50)] * 50,
        {i: i for i in range(MAX_ELEMENTS + 1)},
        "x" * 5000,
    ],
    ids=["lists in a list", "arrays in a list", "dict", "text"],
)
def test_a_literal_that_is_long_in_all_is_unprintable(stage, value):
    stage.Box(value)
    with pytest.raises(Unprintable):
        printed(stage)


@pytest.mark.parametrize("value", [np.zeros(MAX_ELEMENTS), [0] * MAX_ELEMENTS, np.zeros((6, 10))])
def test_a_literal_of_the_largest_size_is_printed(stage, value):
    stage.Box(value)
    ast.parse(printed(stage).body)


def test_an_object_of_unknown_origin_is_unprintable(stage):
    x = stage.Box(1)
    log = Transcript([Event("get", (x, "item"))])
    with pytest.raises(Unprintable):
        print_program(log, "", stage._session.names)


def test_a_request_without_a_form_in_python_is_unprintable():
    with pytest.raises(Unprintable):
        print_program(Transcript([Event("load", ())]), "", {})
