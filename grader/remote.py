"""Remote objects: a check uses them like the learner's own; every use is a request, written down.

`Session.stage` stands for the learner's files. What comes back is plain data or,
for anything else, another remote object; one object is one remote, so `is` works.
"""

import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from grader.codec import CodecError, decode, encode
from grader.transcript import Event, RemoteFailure, Transcript, source_beside
from grader.worker import FOREVER, AnyWorker, WorkerLost

REQUEST_SECONDS = 5.0
LENGTH = "len"
LOCAL = ("__array", "hypothesis_", "_pytest", "_repr_", "_ipython", "_hypothesis")


class RemoteError(Exception):
    """Submitted code raised; `failure` says what. One class, whatever was raised."""

    def __init__(self, failure: RemoteFailure):
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure


class RemoteAttributeError(RemoteError, AttributeError):
    """The learner's object has no such attribute."""


class RemoteTypeError(RemoteError, TypeError):
    """The learner's object has no length: `list` goes on without one."""


class HandleMisuse(TypeError):
    """A check treats a remote object as if it were its value: a mistake in the check."""


class Session:
    """A worker seen from a check: sends requests, decodes replies, keeps the transcript.

    Attributes:
        stage: the remote namespace of the stage's public names.
        transcript: what this example has asked so far.
        deadline: monotonic time by which the whole check must be done.
        patience: seconds that one request may take.
    """

    def __init__(self, worker: AnyWorker):
        self.worker = worker
        self.deadline = FOREVER
        self.patience = REQUEST_SECONDS
        self.remotes: weakref.WeakValueDictionary[int, Remote] = weakref.WeakValueDictionary()
        self.stage = self.remote(0)
        self.plain_results = 0
        self.begin()

    def begin(self) -> None:
        """Start a new example: nothing is remembered on either side."""
        self.transcript = Transcript()
        self.batch: list[Remote] | None = None
        self.defined: dict[str, Remote] = {}
        self.afresh = True

    def remote(self, handle: int) -> "Remote":
        found = self.remotes.get(handle)
        if found is None:
            found = self.remotes[handle] = Remote(self, handle)
        return found

    def request(self, verb: str, *arguments: Any) -> Any:
        """Send one request, write it down with what came back, and return that.

        Raises RemoteError for what submitted code raised, WorkerLost where it did not return.
        """
        self.transcript.events.append(Event(verb, arguments))
        if self.batch is not None:
            self.batch.append(Remote(self, -1 - len(self.batch)))
            return self.batch[-1]
        answered, reply = self.exchange([verb, *arguments])
        if not answered:
            self.fail(len(self.transcript.events) - 1, reply)
        self.note(len(self.transcript.events) - 1, reply)
        return reply

    def together(self, build: Callable[[], list[Any]]) -> list[Any]:
        """Send all requests that `build` makes as one; return its list with what they replied.

        Until then each result is a remote object that can only be used in further requests.
        """
        first = len(self.transcript.events)
        self.batch = []
        try:
            built = build()
        finally:
            pending, self.batch = self.batch, None
        if not pending:
            return built
        requests = [[e.verb, *e.arguments] for e in self.transcript.events[first:]]
        try:
            answered, outcome = self.exchange(["batch", requests])
        except WorkerLost:
            for i, remote in enumerate(pending):  # so that the program can still be printed
                self.transcript.origins[remote.handle_number()] = (first + i, ())
            raise
        replies, failure = outcome if answered else ([], outcome)
        for i, reply in enumerate(replies):
            number = reply.handle_number() if isinstance(reply, Remote) else self.fresh_number()
            object.__setattr__(pending[i], "_handle", number)
            self.transcript.origins.setdefault(number, (first + i, ()))
            self.note(first + i, reply)
        if failure is not None:
            failed = to_failure(failure) if answered else failure
            del self.transcript.events[first + len(replies) + 1 :]
            self.fail(first + len(replies), failed)
        known = {id(remote): reply for remote, reply in zip(pending, replies, strict=True)}
        return [known.get(id(item), item) for item in built]

    def exchange(self, request: list[Any]) -> tuple[bool, Any]:
        """Send one frame and wait for the reply: (True, value) or (False, failure)."""
        self.worker.ensure()
        request, self.afresh = ["afresh", request] if self.afresh else request, False
        try:
            frame = encode(request, number_of)
        except CodecError as error:
            raise HandleMisuse(
                f"a check can send plain data and remote objects only: {error}"
            ) from None
        deadline = min(self.deadline, time.monotonic() + self.patience)
        return decode_reply(self.worker.ask(frame, deadline), self.remote)

    def fresh_number(self) -> int:
        """A number for plain data that later requests refer to as if it were an object."""
        self.plain_results += 1
        return -1_000_000 - self.plain_results

    def fail(self, event: int, failure: RemoteFailure) -> NoReturn:
        """Write a failure down and raise it."""
        self.transcript.events[event].failure = failure
        request = self.transcript.events[event]
        if request.verb == "get" and "AttributeError" in failure.family:
            raise RemoteAttributeError(failure)
        if request.arguments[0] is LENGTH and "TypeError" in failure.family:
            raise RemoteTypeError(failure)
        raise RemoteError(failure)

    def note(self, here: int, reply: Any) -> None:
        """Write a reply down, and where each remote object was first seen, to name it in a program."""
        self.transcript.events[here].reply = reply

        def visit(value: Any, path: tuple[Any, ...]) -> None:
            if isinstance(value, Remote):
                self.transcript.origins.setdefault(value.handle_number(), (here, path))
            elif type(value) in (list, tuple):
                for i, item in enumerate(value):
                    visit(item, (*path, i))
            elif type(value) is dict:
                for key, item in value.items():
                    visit(item, (*path, key))

        visit(reply, ())

    def beside(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a check's own function in the worker, sent as source."""
        name = function.__name__
        if name not in self.defined:
            self.defined[name] = self.request("define", source_beside(function), name)
        return self.request("call", self.defined[name], list(args), kwargs)


class Remote:
    """An object in the worker. Attributes, calls, operators and items are requests."""

    __slots__ = ("__weakref__", "_handle", "_session")
    __array_ufunc__ = None  # so that `array * remote` asks the remote

    def __init__(self, session: Session, handle: int):
        object.__setattr__(self, "_session", session)
        object.__setattr__(self, "_handle", handle)

    def handle_number(self) -> int:
        return object.__getattribute__(self, "_handle")

    def __getattr__(self, name: str) -> Any:
        if name.startswith(LOCAL) or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        return self._session.request("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._session.request("set", self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._session.request("call", self, list(args), kwargs)

    def __len__(self) -> int:
        return self._session.request("op", LENGTH, self)

    def __iter__(self) -> Iterator[Any]:
        iterator = self._session.request("op", "iter", self)
        while True:
            try:
                yield self._session.request("op", "next", iterator)
            except RemoteError as error:
                if "StopIteration" in error.failure.family:
                    return
                raise

    def __enter__(self) -> Any:
        return self._session.request("enter", self)

    def __exit__(self, *exception: object) -> None:
        self._session.request("exit", self)

    def __repr__(self) -> str:
        return f"<remote object {self.handle_number()}>"

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> NoReturn:
        raise HandleMisuse("a remote object cannot be compared: use `is`, or fetch its value first")

    def __bool__(self) -> NoReturn:
        raise HandleMisuse("a remote object has no truth value here: fetch its value first")

    def __float__(self) -> NoReturn:
        raise HandleMisuse("a remote object is not a number here: fetch its value first")


def _operator(name: str, reflected: bool) -> Any:
    def method(self: Remote, *operands: Any) -> Any:
        ordered = (*operands, self) if reflected else (self, *operands)
        return self._session.request("op", name, *ordered)

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    _verb = _name + "_" if _name in ("and", "or") else _name
    setattr(Remote, f"__{_name}__", _operator(_verb, reflected=False))
    setattr(Remote, f"__r{_name}__", _operator(_verb, reflected=True))
for _name in "neg pos abs invert lt le gt ge getitem setitem delitem iadd isub imul itruediv ipow imatmul".split():
    setattr(Remote, f"__{_name}__", _operator(_name, reflected=False))


def number_of(value: Any) -> int:
    """Return the number of a remote object's handle; CodecError for anything else."""
    if isinstance(value, Remote):
        return value.handle_number()
    raise CodecError(f"{type(value).__name__} is neither")


def decode_reply(frame: bytes, object_of: Any) -> tuple[bool, Any]:
    """Return (True, value) or (False, RemoteFailure); a malformed reply is a failure of its own."""
    try:
        answered, reply = decode(frame, object_of)
        if answered is True:
            return True, reply
        return False, to_failure(reply)
    except (CodecError, ValueError, TypeError, KeyError) as error:
        return False, RemoteFailure("CodecError", ("CodecError",), f"unreadable reply: {error}", ())


def to_failure(plain: Any) -> RemoteFailure:
    """Return a failure from its plain form; KeyError or TypeError if it has another."""
    frames = tuple((str(f), int(line or 0), str(name)) for f, line, name in plain["frames"])
    family = tuple(map(str, plain["family"]))
    return RemoteFailure(
        str(plain["type"]), family, str(plain["message"]), frames, plain["unwritten"] is True
    )


def together(target: Any, build: Callable[[], list[Any]]) -> list[Any]:
    """Return what `build` builds; if `target` is remote, with all its requests sent as one."""
    return target._session.together(build) if isinstance(target, Remote) else build()
