"""The names of classes are the learner's claims: words for a report, and nothing else."""

import pytest
from small_stage import load

from grader.kinds import class_names, is_misfit
from grader.remote import Remote
from grader.worker import Worker

LAB = """
import os
class Plain:
    pass
def named(name):
    return type(name, (), {})()
class Liar:
    @property
    def __class__(self):
        return int
class Meta(type):
    @property
    def __name__(cls):
        raise ValueError("no name")
class Nameless(metaclass=Meta):
    pass
class Killer(type):
    @property
    def __name__(cls):
        os._exit(3)
class Deadly(metaclass=Killer):
    pass
"""


@pytest.fixture
def stage(tmp_path):
    worker = Worker()
    yield load(worker, tmp_path, lab=LAB).stage
    worker.close()


def names(*objects):
    return class_names(objects[0]._session, list(objects))


def test_objects_are_named_by_their_classes(stage):
    assert names(stage.Plain(), stage.Liar()) == ["an object of the class Plain", "an object of the class Liar"]
    assert class_names(stage._session, [stage.Plain(), stage.named("Array")], "{a} {name}") == ["a Plain", "an Array"]


@pytest.mark.parametrize("name", ["two words", "a\nb", "\x1b[31mred", "{name}", "<b>", "", "w\u0430rd", "x" * 5000])
def test_a_name_that_is_no_word_is_not_repeated(stage, name):
    [shown] = names(stage.named(name))
    assert shown == "an object" if len(name) < 100 else len(shown) < 150


def test_a_class_that_hides_its_name_is_an_object(stage):
    assert names(stage.Plain(), stage.Nameless()) == ["an object", "an object"]


def test_a_class_that_ends_the_process_is_an_object(stage):
    assert names(stage.Deadly()) == ["an object"]


@pytest.mark.parametrize("reply", [None, 3, ["A"], ["A", 1], ["A", "B", "C"], {"0": "A"}])
def test_a_reply_that_makes_no_sense_is_as_good_as_none(stage, monkeypatch, reply):
    session = stage._session
    objects = [stage.Plain(), stage.Plain()]
    monkeypatch.setattr(session, "exchange", lambda request: (True, reply))
    assert "an object" in class_names(session, objects)


@pytest.mark.parametrize(
    ("mine", "right", "misfit"),
    [
        (None, 1.0, True), (None, [], True), (None, None, False), (2.0, None, False), (2.0, 1, False), (2.0, "object", True),
        ([], "object", True), (2.0, [], True), ((), [], False), ("object", None, False), (None, "object", True),
    ],
)  # fmt: skip
def test_what_cannot_stand_for_what(stage, mine, right, misfit):
    def real(x):
        return Remote(stage._session, 1) if x == "object" else x

    assert is_misfit(real(mine), real(right)) is misfit
