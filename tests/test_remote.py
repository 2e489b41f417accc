"""A remote object is used like the learner's own, and nothing about it passes for a value."""

import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from small_stage import load, wait_until

from grader.checking import beside
from grader.codec import MAX_FRAME
from grader.programs import Program
from grader.remote import HandleMisuse, Remote, RemoteAttributeError, RemoteError, together
from grader.runner import run_example
from grader.strategies import programs
from grader.worker import Worker

NUMBER = '''
class Number:
    """Arithmetic that leaves a trace: what was asked, with which operands, in which order."""

    def __init__(self, text):
        self.text = text

    def name(self):
        return self.text


def number(x):
    return x.text if isinstance(x, Number) else repr(x)


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^",
}.items():
    def _make(symbol):
        def method(self, other):
            return Number(f"({self.text} {symbol} {number(other)})")

        def reflected(self, other):
            return Number(f"({number(other)} {symbol} {self.text})")

        return method, reflected

    _method, _reflected = _make(_symbol)
    setattr(Number, f"__{_name}__", _method)
    setattr(Number, f"__r{_name}__", _reflected)
for _name, _symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Number, f"__{_name}__", _make(_symbol)[0])
Number.__neg__ = lambda self: Number(f"-{self.text}")
Number.__pos__ = lambda self: Number(f"+{self.text}")
Number.__abs__ = lambda self: Number(f"|{self.text}|")
Number.__invert__ = lambda self: Number(f"~{self.text}")
Number.__array_ufunc__ = None
'''


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def lab(worker, tmp_path):
    """Load code in the worker and return the stage that holds it."""
    return lambda code: load(worker, tmp_path, lab=code).stage


@pytest.fixture
def number(lab):
    """Return the class Number in the worker."""
    return lab(NUMBER).Number


def events(remote):
    return remote._session.transcript.events


def failure_of(call):
    with pytest.raises(RemoteError) as caught:
        call()
    return caught.value.failure


# Identity.


def test_the_same_object_is_the_same_remote_whichever_way_it_comes(lab):
    stage = lab(
        """
class Box:
    def __init__(self, item):
        self.item = item
    def me(self):
        return self
    def both(self):
        return [self, (self.item, {"me": self})]
"""
    )
    inner = stage.Box(1)
    box = stage.Box(inner)
    assert box.item is inner
    assert box.me() is box
    first, (second, third) = box.both()
    assert first is box
    assert second is inner
    assert third == {"me": third["me"]}
    assert third["me"] is box
    assert stage.Box is stage.Box
    assert stage.Box(1) is not stage.Box(1)


def test_objects_that_were_dropped_do_not_lend_their_identity_to_new_ones(lab):
    stage = lab("class Box:\n    pass")
    boxes = [stage.Box() for _ in range(50)]
    assert len(set(boxes)) == 50
    handles = {box.handle_number() for box in boxes}
    del boxes
    assert not handles & {stage.Box().handle_number() for _ in range(50)}


def test_plain_data_comes_back_as_values(lab):
    stage = lab(
        """
import numpy as np
def everything():
    return [None, True, 2, 2.5, "a", b"b", (1, {"k": [3]}), 2**80, slice(1, None), ...]
def array(dtype):
    return np.arange(4).reshape(2, 2).astype(dtype)
def scalar():
    return np.float32(1.5)
"""
    )
    assert stage.everything() == [
        None, True, 2, 2.5, "a", b"b", (1, {"k": [3]}), 2**80, slice(1, None), ...,
    ]  # fmt: skip
    got = stage.array("float32")
    assert got.dtype == np.float32
    assert got.tolist() == [[0, 1], [2, 3]]
    assert type(stage.scalar()) is np.float32


@pytest.mark.parametrize(
    "expression",
    ["Liar(1.0)", "Grid((2,))", "np.array([1, 'a'], dtype=object)", "range(3)", "{1, 2}", "1j"],
)
def test_what_only_looks_like_a_value_comes_back_as_an_object(lab, expression):
    stage = lab(
        f"""
import numpy as np
class Liar(float):
    def __eq__(self, other):
        return True
class Grid(np.ndarray):
    def __eq__(self, other):
        return True
def look_alike():
    return {expression}
"""
    )
    assert isinstance(stage.look_alike(), Remote)


# Handles are not values.


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x == 1.0,
        lambda x: x == x,
        lambda x: operator.eq(1.0, x),
        lambda x: x != 1.0,
        lambda x: np.array([1.0]) == x,
        lambda x: x in [1.0, 2.0],
        bool,
        lambda x: not x,
        lambda x: x and 1,
        float,
    ],
)
def test_a_check_cannot_take_an_object_for_its_value(number, use):
    a = number("a")
    before = len(events(a))
    with pytest.raises(HandleMisuse, match="fetch its value"):
        use(a)
    assert len(events(a)) == before


@pytest.mark.parametrize("use", [int, complex, round, lambda x: [1, 2][x]])
def test_nor_for_a_whole_number_or_an_index(number, use):
    with pytest.raises(TypeError):
        use(number("a"))


@pytest.mark.parametrize(
    "what",
    [object(), {1, 2}, len, 1j, Program],
    ids=["object", "set", "function", "complex", "class"],
)
def test_a_check_can_send_plain_data_only(number, what):
    with pytest.raises(HandleMisuse, match="plain data"):
        number(what)


def test_looking_at_an_object_asks_the_worker_nothing(number):
    a = number("a")
    before = len(events(a))
    assert "remote object" in repr(a)
    assert "remote object" in f"{a}"
    assert a in {a}
    for name in ("__array__", "__array_interface__", "_repr_html_", "_pytest_x", "hypothesis_x"):
        assert not hasattr(a, name)
    assert not hasattr(a, "__len_hint__")
    assert len(events(a)) == before


# Attributes.


def test_a_missing_attribute_is_an_attribute_error(number):
    a = number("a")
    assert not hasattr(a, "nonsense")
    assert getattr(a, "nonsense", "default") == "default"
    with pytest.raises(AttributeError, match="nonsense"):
        a.nonsense  # noqa: B018
    with pytest.raises(RemoteAttributeError) as caught:
        a.nonsense  # noqa: B018
    assert caught.value.failure.type == "AttributeError"


def test_an_attribute_error_from_inside_a_method_is_not_a_missing_attribute(lab):
    stage = lab("def broken():\n    return None.data")
    with pytest.raises(RemoteError) as caught:
        stage.broken()
    assert not isinstance(caught.value, AttributeError)


def test_a_name_that_the_stage_does_not_have_is_an_attribute_error(number):
    stage = number._session.stage
    with pytest.raises(AttributeError, match="the stage has no 'Numbr'"):
        stage.Numbr  # noqa: B018


def test_a_name_that_the_file_does_not_define_is_told_with_the_file(worker, tmp_path):
    session = load(worker, tmp_path, lab="def f():\n    pass")
    (tmp_path / "lab.py").write_text("g = 1\n", encoding="utf-8")
    worker.load("stage1_small", {"stage1_small": tmp_path}, session.names)
    with pytest.raises(AttributeError, match=r"lab\.py defines no 'f'"):
        session.stage.f  # noqa: B018


def test_setting_an_attribute_changes_the_object(number):
    a, b = number("a"), number("b")
    a.text = "c"
    assert a.name() == "c"
    a.text = b
    assert a.text is b


# Operators.


@pytest.mark.parametrize(
    ("use", "shows"),
    [
        (lambda a: a + 2, "(a + 2)"),
        (lambda a: 2 + a, "(2 + a)"),
        (lambda a: a - 2.5, "(a - 2.5)"),
        (lambda a: 2.5 - a, "(2.5 - a)"),
        (lambda a: a * 2, "(a * 2)"),
        (lambda a: 2 * a, "(2 * a)"),
        (lambda a: a / 2, "(a / 2)"),
        (lambda a: 2 / a, "(2 / a)"),
        (lambda a: a // 2, "(a // 2)"),
        (lambda a: 2 // a, "(2 // a)"),
        (lambda a: a % 2, "(a % 2)"),
        (lambda a: 2 % a, "(2 % a)"),
        (lambda a: a**2, "(a ** 2)"),
        (lambda a: 2**a, "(2 ** a)"),
        (lambda a: a & 2, "(a & 2)"),
        (lambda a: 2 & a, "(2 & a)"),
        (lambda a: a | 2, "(a | 2)"),
        (lambda a: 2 | a, "(2 | a)"),
        (lambda a: a ^ 2, "(a ^ 2)"),
        (lambda a: 2 ^ a, "(2 ^ a)"),
        (lambda a: a @ a, "(a @ a)"),
        (lambda a: -a, "-a"),
        (lambda a: +a, "+a"),
        (lambda a: abs(a), "|a|"),
        (lambda a: ~a, "~a"),
        (lambda a: a < 2, "(a < 2)"),
        (lambda a: a <= 2, "(a <= 2)"),
        (lambda a: a > 2, "(a > 2)"),
        (lambda a: a >= 2, "(a >= 2)"),
        (lambda a: operator.lt(2, a), "(a > 2)"),
        (lambda a: (a + 1) * (3 - a), "((a + 1) * (3 - a))"),
        (lambda a: sum([a, a]), "((0 + a) + a)"),
    ],
)
def test_operators_reach_the_object_with_their_operands_in_order(number, use, shows):
    assert use(number("a")).name() == shows


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_])
def test_a_numpy_number_on_the_left_goes_to_the_object(number, kind):
    shown = (kind(1) * number("a")).name()
    assert shown.endswith(" * a)")
    assert "np." in shown


@pytest.mark.parametrize("symbol", "+ - * / // % ** @ & | ^".split())
def test_an_array_on_the_left_goes_to_the_object_whole(number, symbol):
    a = number("a")
    before = len(events(a))
    result = eval(f"np.array([1, 2]) {symbol} a")
    assert isinstance(result, Remote)
    assert len(events(a)) == before + 1
    assert result.name() == f"(array([1, 2]) {symbol} a)"


def test_in_place_operators_take_the_learners_result(lab):
    stage = lab(
        """
class Box:
    def __init__(self, items):
        self.items = items
    def __iadd__(self, other):
        self.items.append(other)
        return self
    def __mul__(self, other):
        return Box(self.items * other)
    def __imatmul__(self, other):
        return "replaced"
"""
    )
    box = kept = stage.Box([1])
    box += 2
    assert box is kept
    assert box.items == [1, 2]
    box *= 2  # no __imul__: __mul__
    assert box is not kept
    assert box.items == [1, 2, 1, 2]
    box @= 1
    assert box == "replaced"


def test_items_and_lengths(lab):
    stage = lab(
        """
class Grid:
    def __init__(self):
        self.log = []
    def __getitem__(self, key):
        return repr(key)
    def __setitem__(self, key, value):
        self.log.append(f"{key!r} = {value!r}")
    def __delitem__(self, key):
        self.log.append(f"del {key!r}")
    def __len__(self):
        return 7
"""
    )
    grid = stage.Grid()
    assert grid[1] == "1"
    assert grid[1:, None, ...] == "(slice(1, None, None), None, Ellipsis)"
    assert grid["a"] == "'a'"
    assert grid[np.array([True, False])] == "array([ True, False])"
    grid[::2] = 5
    del grid[0]
    assert grid.log == ["slice(None, None, 2) = 5", "del 0"]
    assert len(grid) == 7


# Iteration and context managers.


def test_iteration_works_as_a_for_loop_does(lab):
    stage = lab(
        """
class Countdown:
    def __init__(self, start):
        self.start = start
    def __iter__(self):
        yield from range(self.start, 0, -1)
class Sequence:
    def __getitem__(self, i):
        if i == 3:
            raise IndexError
        return i * 10
def empty():
    return iter(())
def broken():
    yield 1
    raise ValueError("halfway")
"""
    )
    assert [x for x in stage.Countdown(3)] == [3, 2, 1]  # noqa: C416
    assert [x for x in stage.Sequence()] == [0, 10, 20]  # noqa: C416
    assert [x for x in stage.empty()] == []  # noqa: C416
    first, second = stage.Countdown(2)
    assert (first, second) == (2, 1)
    assert sum(stage.Countdown(3)) == 6
    broken = iter(stage.broken())
    assert next(broken) == 1
    with pytest.raises(RemoteError, match="halfway"):
        next(broken)


@pytest.mark.parametrize("make", [list, tuple, sorted, lambda x: [*x]])
def test_an_iterator_can_be_made_a_list(lab, make):
    stage = lab("def count():\n    yield from [1, 2, 3]")
    assert list(make(stage.count())) == [1, 2, 3]


def test_what_cannot_be_iterated_is_the_learners_type_error(number):
    assert failure_of(lambda: sum(number("a"))).type == "TypeError"


def test_context_managers_are_entered_and_left_also_after_an_error(lab):
    stage = lab(
        """
log = []
class Guard:
    def __enter__(self):
        log.append("in")
        return self
    def __exit__(self, *exception):
        log.append(f"out {exception}")
        return True
def trace():
    return list(log)
"""
    )
    guard = stage.Guard()
    with guard as inside:
        assert inside is guard
    with pytest.raises(KeyError), guard:
        raise KeyError
    assert stage.trace() == ["in", "out (None, None, None)"] * 2


# Code beside the learner's.


@beside
def class_beside(number, text):
    class Twice(number):
        def name(self):
            return super().name() * 2

    return Twice(text)


@beside
def many(number, count, *, last="z"):
    made = [number(str(i)) for i in range(count)]
    return made, {"last": number(last)}


@beside
def failing(number):
    raise KeyError("beside")


@beside
def alone(x):
    return x


def test_a_function_beside_runs_on_the_learners_classes(number):
    made = class_beside(number, "ab")
    assert isinstance(made, Remote)
    assert made.name() == "abab"


def test_a_function_beside_is_sent_once_in_an_example_and_takes_keywords(number):
    many(number, 2)
    made, named = many(number, 3, last="y")
    assert [x.name() for x in made] == ["0", "1", "2"]
    assert named["last"].name() == "y"
    assert [event.verb for event in events(number)].count("define") == 1
    number._session.begin()
    many(number._session.stage.Number, 1)
    assert [event.verb for event in events(number)].count("define") == 1


def test_an_error_in_a_function_beside_is_told_like_any_other(number):
    failure = failure_of(lambda: failing(number))
    assert failure.type == "KeyError"
    assert failure.frames == ()  # none of the learner's lines


def test_a_function_beside_needs_a_remote_argument():
    with pytest.raises(TypeError, match="alone needs a remote argument"):
        alone(3)


# Several requests in one message.

CHAIN = """
class Node:
    def __init__(self, x):
        self.x = x
        self.parts = [self]
    def __add__(self, other):
        return Node(self.x + (other.x if isinstance(other, Node) else other))
    __radd__ = __add__
    def plain(self):
        return self.x
    def pair(self):
        return [self, self.x]
    def fail(self):
        raise ValueError(f"at {self.x}")
    def loop(self):
        held = [1]
        held.append(held)
        return held
    def same(self):
        return self
def total(parts):
    return parts[0] + sum(parts[1])
"""
BATCHES = {
    "objects": lambda s: [a := s.Node(1), b := a + 2, 3 + b, b + a],
    "the same object again": lambda s: [a := s.Node(1), a.same(), a.same().same()],
    "a plain number at the end": lambda s: [(s.Node(1) + 2).plain()],
    "plain numbers between objects": lambda s: [a := s.Node(1), a.plain(), a + 3, a.x, a.plain()],
    "a list with objects": lambda s: [s.Node(1).pair(), s.Node(2)],
    "attributes": lambda s: [a := s.Node(1), a.x, a.parts],
    "nothing remote": lambda s: [1, "a"],
    "nothing": lambda s: [],
    "values between": lambda s: [1.5, s.Node(2), None, s.Node(3).plain()],
}
# One by one, what comes after a plain result is done here; in one message, over there.
USING_PLAIN_RESULTS = {
    "an argument": lambda s: [n := s.Node(1).plain(), s.Node(n), n],
    "an operand on the right": lambda s: [a := s.Node(1), n := a.plain(), a + n, n],
    "an operand on the left": lambda s: [a := s.Node(1), n := a.plain(), n + a],
    "both operands": lambda s: [n := s.Node(4).plain(), n + 1, 1 - n, n * n],
    "an item of a list": lambda s: [s.Node(5).parts[0], s.Node(1)],
    "inside a list": lambda s: [n := s.Node(5).plain(), s.total([n, (n, 2)])],
}
FAILING = {
    "in the middle": lambda s: [a := s.Node(1), (a + 2).fail(), a + 3],
    "at once": lambda s: [s.Node(), s.Node(1)],
    "after a plain number": lambda s: [a := s.Node(1), a.plain(), a.fail(), a.plain()],
    "at the end": lambda s: [a := s.Node(1), a + None],
    "a missing attribute": lambda s: [s.Node(1).nonsense, s.Node(2)],
}


def outlined(value, seen):
    """Plain data, with remote objects numbered in the order they turn up."""
    if isinstance(value, Remote):
        return f"object {seen.setdefault(value.handle_number(), len(seen))}"
    if isinstance(value, list | tuple):
        return [outlined(x, seen) for x in value]
    return value


def outline(session, results=()):
    """The transcript's requests, replies and failures, and what a check held in the end."""
    seen = {0: 0}
    log = [
        (event.verb, outlined(event.arguments, seen), outlined(event.reply, seen), event.failure)
        for event in session.transcript.events
    ]
    return log, outlined(list(results), seen)


@pytest.mark.parametrize("build", BATCHES.values(), ids=BATCHES)
def test_requests_in_one_message_give_the_same_as_one_by_one(lab, build):
    stage = lab(CHAIN)
    session = stage._session
    wanted = outline(session, build(stage))
    session.begin()
    assert outline(session, together(stage, lambda: build(stage))) == wanted


@pytest.mark.parametrize("build", USING_PLAIN_RESULTS.values(), ids=USING_PLAIN_RESULTS)
def test_a_plain_result_can_be_used_in_the_same_message(lab, build):
    stage = lab(CHAIN)
    session = stage._session
    wanted = [x.x if isinstance(x, Remote) else x for x in build(stage)]
    session.begin()
    got = together(stage, lambda: build(stage))
    assert [x.x if isinstance(x, Remote) else x for x in got] == wanted


@pytest.mark.parametrize("build", FAILING.values(), ids=FAILING)
def test_a_failure_among_requests_in_one_message_is_the_same_as_one_by_one(lab, build):
    stage = lab(CHAIN)
    session = stage._session
    wanted = failure_of(lambda: build(stage))
    single = outline(session)
    session.begin()
    assert failure_of(lambda: together(stage, lambda: build(stage))) == wanted
    assert outline(session) == single
    assert session.transcript.events[-1].failure == wanted


def test_after_a_failure_in_one_message_the_next_requests_go_their_way(lab):
    stage = lab(CHAIN)
    failure_of(lambda: together(stage, lambda: [stage.Node(1).fail()]))
    assert stage.Node(2).plain() == 2
    assert together(stage, lambda: [stage.Node(3).plain()]) == [3]


def test_a_mistake_of_the_check_inside_one_message_leaves_nothing_behind(lab):
    stage = lab(CHAIN)
    with pytest.raises(HandleMisuse):
        together(stage, lambda: [float(stage.Node(1).plain())])
    assert stage.Node(2).plain() == 2


def test_results_of_one_message_can_be_used_afterwards(lab):
    stage = lab(CHAIN)
    a, b, again = together(stage, lambda: [a := stage.Node(1), a + 2, a.same()])
    assert again is a
    assert (a + b).plain() == 4
    assert b.same() is b
    assert b.x == 3


def test_a_reply_that_contains_itself_in_one_message_is_the_same_as_one_by_one(lab):
    def build(stage):
        return [stage.Node(1), stage.Node(2).loop(), stage.Node(3).plain()]

    stage = lab(CHAIN)
    wanted = outline(stage._session, build(stage))
    stage._session.begin()
    assert outline(stage._session, together(stage, lambda: build(stage))) == wanted


@settings(
    max_examples=40, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(program=programs(reuse=True, steps=8))
def test_a_program_run_in_one_message_gives_the_same_as_one_by_one(node_stage, program):
    session = node_stage._session
    session.begin()
    make = node_stage.Node
    wanted = outline(session, program.apply_steps([make(x) for x in program.inputs]))
    session.begin()
    assert outline(session, program.run_nodes(node_stage.Node)) == wanted


@pytest.fixture
def node_stage(lab):
    return lab(
        """
class Node:
    def __init__(self, x):
        self.x = x
    def __neg__(self):
        return Node(-self.x)
def lifted(x):
    return x.x if isinstance(x, Node) else x
for name in ("add", "sub", "mul", "truediv", "pow"):
    def make(name):
        return lambda a, b: Node(getattr(float(lifted(a)), f"__{name}__")(float(lifted(b))))
    setattr(Node, f"__{name}__", make(name))
    setattr(Node, f"__r{name}__", (lambda f: lambda a, b: f(b, a))(make(name)))
"""
    )


# What submitted code raises.


@pytest.mark.parametrize(
    ("raised", "kind", "family"),
    [
        ("ValueError('no')", "ValueError", "Exception"),
        ("KeyError('no')", "KeyError", "LookupError"),
        ("SystemExit('no')", "SystemExit", "BaseException"),
        ("KeyboardInterrupt('no')", "KeyboardInterrupt", "BaseException"),
        ("GeneratorExit('no')", "GeneratorExit", "BaseException"),
        ("ExceptionGroup('no', [ValueError()])", "ExceptionGroup", "Exception"),
        ("type('Failed', (AssertionError,), {})('no')", "Failed", "AssertionError"),
        (
            "type('UnsatisfiedAssumption', (Exception,), {})('no')",
            "UnsatisfiedAssumption",
            "Exception",
        ),
    ],
)
def test_whatever_submitted_code_raises_is_one_class_of_error_here(lab, raised, kind, family):
    stage = lab(f"def f():\n    raise {raised}")
    with pytest.raises(RemoteError) as caught:
        stage.f()
    assert type(caught.value) is RemoteError
    assert caught.value.failure.type == kind
    assert family in caught.value.failure.family
    assert "no" in caught.value.failure.message
    assert caught.value.failure.frames == (("lab.py", 2, "f"),)
    assert not caught.value.failure.unwritten


def test_an_unwritten_function_is_flagged(lab):
    stage = lab(
        """
def todo():
    raise NotImplementedError("1.1 Value.__add__")
class Mine(NotImplementedError):
    pass
def mine():
    raise Mine("1.1 x")
def wrapped():
    try:
        todo()
    except NotImplementedError as error:
        raise ValueError("1.1 Value.__add__") from error
"""
    )
    failure = failure_of(stage.todo)
    assert failure.unwritten
    assert failure.message == "1.1 Value.__add__"
    assert failure_of(stage.mine).unwritten
    assert not failure_of(stage.wrapped).unwritten


def test_a_syntax_error_names_its_line(lab, worker, tmp_path):
    session = load(worker, tmp_path, lab="def f():\n    pass")
    (tmp_path / "lab.py").write_text("x = 1\ndef f(:\n    pass\n", encoding="utf-8")
    worker.load("stage1_small", {"stage1_small": tmp_path}, session.names)
    failure = failure_of(lambda: session.stage.f)
    assert failure.type == "SyntaxError"
    assert failure.frames[-1][:2] == ("lab.py", 2)


HOSTILE = {
    "raises": "raise RuntimeError",
    "exits": "raise SystemExit(0)",
    "returns no text": "return 3",
    "recurses": "return str(self)",
    "is long": "return 'x' * 10**6",
    "is a kind of text": "return Text('hello')",
    "has escapes": r"return '\x1b[31m\x00\r\n'",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_an_exception_whose_text_is_hostile_is_still_an_exception(lab, body):
    stage = lab(
        f"""
class Text(str):
    pass
class Hostile(Exception):
    def __str__(self):
        {body}
    __repr__ = __str__
def f():
    raise Hostile
"""
    )
    failure = failure_of(stage.f)
    assert failure.type == "Hostile"
    assert type(failure.message) is str
    assert len(failure.message) <= 2000
    assert failure_of(stage.f) == failure  # the worker lives


UNTELLABLE = {
    "a text that cannot be cut": "class Text(str):\n    def __getitem__(self, key):\n        raise KeyError\n"
    "class Hostile(Exception):\n    def __str__(self):\n        return Text('a')\n"
    "def f():\n    raise Hostile",
    "a SyntaxError in no file": "def f():\n    raise SyntaxError('a', (123, 1, 1, 'b'))",
    "a SyntaxError without text": "def f():\n    raise SyntaxError(5, ('lab.py', 1, 1, 'b'))",
    "no line of descent": "class Meta(type):\n    @property\n    def __mro__(cls):\n        raise KeyError\n"
    "class Hostile(Exception, metaclass=Meta):\n    pass\n"
    "def f():\n    raise Hostile",
    "no class": "class Hostile(Exception):\n    @property\n    def __class__(self):\n        raise KeyError\n"
    "def f():\n    raise Hostile",
}


@pytest.mark.parametrize("code", UNTELLABLE.values(), ids=UNTELLABLE)
def test_an_exception_that_cannot_be_described_is_still_an_exception(lab, code):
    stage = lab(code)
    assert failure_of(stage.f).type in ("Hostile", "SyntaxError")


@pytest.mark.parametrize("text", [r"\ud800", r"caf\udce9.txt"])
def test_an_exception_whose_text_is_not_unicode_is_still_an_exception(lab, text):
    stage = lab(f"def f():\n    raise ValueError('{text}')")
    assert failure_of(stage.f).type == "ValueError"


def test_an_object_that_lies_about_its_class_travels_as_a_handle(lab):
    stage = lab(
        """
import numpy
class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("nothing behind this")
def f():
    return Proxy()
"""
    )
    assert isinstance(stage.f(), Remote)


# Replies that are no plain data after all.


def test_a_reply_that_contains_itself_travels_as_an_object(lab):
    stage = lab(
        """
def listed():
    x = [1]
    x.append(x)
    return x
def keyed():
    x = {}
    x["me"] = x
    return x
"""
    )
    looped = stage.listed()
    assert isinstance(looped, Remote)
    assert len(looped) == 2
    assert looped[0] == 1
    assert looped[1] is looped
    assert isinstance(stage.keyed(), Remote)


NESTED = "def nested(depth, kind):\n    x = 1\n    for _ in range(depth):\n        x = kind([x])\n    return x\nkinds = [list, tuple]"


@pytest.mark.parametrize("kind", [0, 1])
def test_a_reply_that_is_much_too_deep_travels_as_an_object(lab, kind):
    stage = lab(NESTED)
    got = stage.nested(5000, stage.kinds[kind])
    assert isinstance(got, Remote)
    assert isinstance(got[0], Remote)


@pytest.mark.parametrize("depth", [41, 100])
def test_a_tuple_that_is_a_little_too_deep_travels_as_an_object(lab, depth):
    stage = lab(NESTED)
    assert isinstance(stage.nested(depth, stage.kinds[1]), Remote)


@pytest.mark.parametrize("depth", [100, 500, 1000, 2000])
def test_a_deep_reply_is_no_fault_of_the_grader(lab, depth):
    stage = lab(NESTED)
    outcome = run_example(lambda stage: stage.nested(depth, stage.kinds[0]), {}, stage._session)
    assert outcome.status == "passed", outcome.message


def test_a_text_that_is_not_unicode_comes_back_as_it_is(lab):
    stage = lab(r"def f():" "\n" r"    return '\ud800'")
    assert stage.f() == "\ud800"


def test_an_array_that_is_too_large_travels_as_an_object(lab):
    stage = lab("import numpy as np\ndef f(count):\n    return np.zeros(count, np.int8)")
    assert isinstance(stage.f(MAX_FRAME + 1), Remote)


def test_an_array_of_a_size_that_fits_comes_back(lab):
    stage = lab("import numpy as np\ndef f(count):\n    return np.ones(count, np.int8)")
    assert stage.f(8 * 2**20).sum() == 8 * 2**20


# Arrays on their way in.


def test_arrays_arrive_writable_and_as_copies(lab):
    stage = lab(
        """
def spoil(array):
    array[0] = 99.0
    return array.flags.writeable, array.flags.owndata
def keep(array):
    keep.held = array
def held():
    return keep.held
"""
    )
    mine = np.array([1.0, 2.0])
    assert stage.spoil(mine) == (True, True)
    assert mine[0] == 1.0
    stage.keep(mine)
    mine[0] = 5.0
    got = stage.held()
    assert got[0] == 1.0
    got[0] = 7.0
    assert stage.held()[0] == 1.0


def test_handles_cross_inside_lists_and_dicts(lab):
    stage = lab(
        """
class Box:
    pass
def unpack(things, *, named):
    return all(isinstance(x, Box) for x in [things[0], things[1][0], named["a"], named["b"][0]])
"""
    )
    a, b = stage.Box(), stage.Box()
    assert stage.unpack([a, (b,)], named={"a": a, "b": [b]}) is True


# What the code prints stays out of the conversation.


def test_what_the_code_prints_never_reaches_the_replies(lab, worker):
    stage = lab(
        """
import os, subprocess, sys
def noisy():
    print("printed")
    print("to stderr", file=sys.stderr)
    sys.__stdout__.write("to __stdout__\\n")
    sys.__stdout__.flush()
    os.write(1, b"to file 1\\n")
    os.write(2, b"to file 2\\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"])
    return 42
def quiet():
    return 43
"""
    )
    worker.printed.clear()
    assert stage.noisy() == 42
    assert stage.quiet() == 43
    wanted = ["printed", "to stderr", "to __stdout__", "to file 1", "to file 2", "from a child"]
    assert wait_until(lambda: all(text in worker.printed.text() for text in wanted))


def test_input_finds_an_end_of_file_and_does_not_eat_requests(lab):
    stage = lab(
        "import sys\ndef ask():\n    return input()\ndef read():\n    return sys.stdin.read(), open(0, closefd=False).read()"
    )
    assert failure_of(stage.ask).type == "EOFError"
    assert stage.read() == ("", "")


def test_what_is_printed_when_a_file_loads_is_kept_as_well(lab, worker):
    worker.printed.clear()
    stage = lab("print('hello at import')\ndef f():\n    return 1")
    assert stage.f() == 1
    assert wait_until(lambda: "hello at import" in worker.printed.text())


# One example after the other.


def test_a_new_example_forgets_the_objects_of_the_last(lab):
    stage = lab("class Box:\n    item = 1")
    old = stage.Box()
    stage._session.begin()
    assert stage.Box().item == 1
    assert failure_of(lambda: old.item).type == "CodecError"


def test_a_new_stage_is_loaded_afresh_in_the_same_worker(lab):
    assert lab("def f():\n    return 1").f() == 1
    assert lab("def f():\n    return 2").f() == 2


def test_files_load_when_they_are_first_needed(worker, tmp_path):
    session = load(
        worker,
        tmp_path,
        sound="from .shared import three\ndef f():\n    return three()",
        shared="def three():\n    return 3",
        broken="raise RuntimeError('at import')\ndef g():\n    pass",
    )
    assert session.stage.f() == 3
    failure = failure_of(lambda: session.stage.g)
    assert (failure.type, failure.message) == ("RuntimeError", "at import")
    assert session.stage.f() == 3
