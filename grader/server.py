"""The worker's side: runs submitted code, one request at a time.

Started by path with ``python -I -B``. Requests come on standard input, replies go
out on standard output, both as a length and a frame; what the submitted code prints
goes to standard error. This process is not trusted: nothing it says decides a
verdict that the judge cannot verify.
"""

import ast
import contextlib
import faulthandler
import importlib
import io
import operator
import os
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # -I keeps the course off sys.path: borrow it for two imports
    _root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(_root))

from grader import finder
from grader.codec import CodecError, decode, encode

STAGE = 0  # the handle of the stage's own namespace
TRACE = ".trace"  # a file in the worker's folder: where the code was when the time was up
OPERATORS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod pow matmul and_ or_ xor neg pos abs invert "
        "lt le gt ge eq ne getitem setitem delitem contains "
        "iadd isub imul itruediv ipow imatmul"
    ).split()
} | {"len": len, "iter": iter, "next": next, "float": float, "repr": repr, "isinstance": isinstance}


class Namespace:
    """The public names of a stage, from whichever of its files; each file loads when first needed.

    A file of an earlier stage stands with its folder: "stage2_tensor/tensor.py".
    """

    def __init__(self, stage: str, files: dict[str, str]):
        self.__dict__.update(_stage=stage, _files=files)

    def __getattr__(self, name: str) -> Any:
        if name not in self._files:
            raise AttributeError(f"the stage has no {name!r}")
        stage, _, file = self._files[name].rpartition("/")
        full_name = f"{finder.PACKAGE}.{stage or self._stage}.{file.removesuffix('.py')}"
        try:
            module = importlib.import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
            raise ModuleNotFoundError(f"{file} is missing", name=full_name) from None
        if not hasattr(module, name):
            raise AttributeError(f"{file} defines no {name!r}")
        return getattr(module, name)


class Server:
    """Holds the objects that handles stand for and answers requests about them."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.handles: dict[int, int] = {}
        self.folders: list[str] = []
        self.own_folder = ""  # of the stage that is graded
        self.ran: set[str] = set()
        self.namespace: Any = None
        self.next_handle = 1

    def answer(self, frame: bytes) -> bytes:
        """Carry out one request, [verb, *arguments]; the reply is [True, value] or [False, error]."""
        try:
            verb, *arguments = decode(frame, self.object_of)
            reply = [True, getattr(self, "do_" + verb)(*arguments)]
        except BaseException as error:  # SystemExit as well: submitted code may raise anything
            reply = [False, self.describe(error)]
        return encode([reply[0], self.boxed(reply[1])], self.handle_of)

    def boxed(self, value: Any) -> Any:
        """Return what can be sent: plain data that is too deep or too large goes as a handle."""
        try:
            encode(value, self.handle_of)
        except (CodecError, RecursionError, MemoryError):
            return _Opaque(value)
        return value

    def object_of(self, handle: int) -> Any:
        if handle < 0:
            return Earlier(-1 - handle)
        return self.namespace if handle == STAGE else self.objects[handle]

    def handle_of(self, obj: Any) -> int:
        if obj is self.namespace:
            return STAGE
        if type(obj) is _Opaque:
            obj = obj.held
        key = id(obj)
        if key not in self.handles:
            self.objects[self.next_handle] = obj  # kept alive, so that its id stays its own
            self.handles[key] = self.next_handle
            self.next_handle += 1
        return self.handles[key]

    # The verbs.

    def do_load(self, stage: str, folders: dict[str, str], files: dict[str, str]) -> None:
        """Start afresh with these stages; `files` says which file defines which public name."""
        self.do_reset()
        self.folders = [os.path.realpath(folder) for folder in folders.values()]
        self.own_folder = os.path.realpath(folders[stage])
        finder.install({name: Path(folder) for name, folder in folders.items()})
        self.namespace = Namespace(stage, files)

    def do_reset(self) -> None:
        """Forget every object: a new example begins."""
        self.objects.clear()
        self.handles.clear()

    def do_afresh(self, request: list[Any]) -> Any:
        """Carry out the first request of a new example."""
        self.do_reset()
        verb, *arguments = request
        return getattr(self, "do_" + verb)(*arguments)

    def do_get(self, target: Any, name: str) -> Any:
        return getattr(target, name)

    def do_set(self, target: Any, name: str, value: Any) -> None:
        setattr(target, name, value)

    def do_call(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return target(*args, **kwargs)

    def do_op(self, name: str, *operands: Any) -> Any:
        return OPERATORS[name](*operands)

    def do_enter(self, target: Any) -> Any:
        return type(target).__enter__(target)

    def do_exit(self, target: Any) -> Any:
        return type(target).__exit__(target, None, None, None)

    def do_batch(self, requests: list[list[Any]]) -> list[Any]:
        """Carry out requests in order; they may refer to results of earlier ones.

        Returns the results up to the first failure, and that failure or None.
        """
        results: list[Any] = []
        for verb, *arguments in requests:
            try:
                results.append(getattr(self, "do_" + verb)(*resolved(arguments, results)))
            except BaseException as error:
                return [list(map(self.boxed, results)), self.describe(error)]
        return [list(map(self.boxed, results)), None]

    def do_kinds(self, objects: list[Any]) -> list[str]:
        """Return the names of the objects' classes, for the report."""
        return [str(type(obj).__name__)[:100] for obj in objects]

    def do_profile(self, on: bool) -> list[str]:
        """Start or stop noting which functions of the stages run; return "file:qualified.name" of each."""
        if on:
            self.ran.clear()
            sys.setprofile(self.note_call)
        else:
            sys.setprofile(None)
        return sorted(self.ran)

    def note_call(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and os.path.dirname(code.co_filename) in self.folders:
            self.ran.add(f"{os.path.basename(code.co_filename)}:{code.co_qualname}")

    def do_mark(self, mark: bytes) -> None:
        """Write a mark behind everything that was printed so far."""
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.flush()
        os.write(2, mark)

    def do_define(self, source: str, name: str) -> Any:
        """Run trusted source from a check beside the submitted code; return what it calls `name`."""
        scope: dict[str, Any] = {"__name__": "beside"}
        exec(compile(source, "<beside>", "exec"), scope)
        return scope[name]

    def do_run(self, source: str) -> Any:
        """Run a printed program; return the value of its last line."""
        tree = ast.parse(source)
        scope: dict[str, Any] = {"__name__": "program"}
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<program>", "exec"), scope)
        if isinstance(last, ast.Expr):
            return eval(compile(ast.Expression(last.value), "<program>", "eval"), scope)
        return None

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Return what the judge may know of an exception, as plain data."""
        kind = type(error)
        plain: dict[str, Any] = {
            "type": "Exception",
            "family": ["Exception"],
            "message": "",
            "frames": [],
        }
        try:  # an exception of the learner's may raise while it is looked at
            plain["type"] = str(kind.__name__)[:100]
            plain["family"] = [k.__name__ for k in kind.__mro__]
            plain["unwritten"] = issubclass(kind, NotImplementedError)
            return plain | self.message_and_frames(error)
        except BaseException:
            return {"unwritten": False} | plain

    def message_and_frames(self, error: BaseException) -> dict[str, Any]:
        message = str.__getitem__(str(error), slice(0, 2000))
        frames = [
            [os.path.basename(frame.filename), frame.lineno, frame.name]
            for frame in traceback.extract_tb(error.__traceback__)[-50:]
            if os.path.dirname(os.path.realpath(frame.filename)) == self.own_folder
        ]
        if isinstance(error, SyntaxError) and type(error.filename) is str:
            message = str(error.msg)
            if os.path.dirname(os.path.realpath(error.filename)) == self.own_folder:
                frames.append([os.path.basename(error.filename), error.lineno, ""])
        return {"message": message, "frames": frames}


class Earlier:
    """Stands for the result of an earlier request of the same batch."""

    def __init__(self, position: int):
        self.position = position


def resolved(value: Any, results: list[Any]) -> Any:
    """Return arguments with the results of earlier requests put in."""
    if type(value) is Earlier:
        return results[value.position]
    if type(value) is list:
        return [resolved(item, results) for item in value]
    if type(value) is tuple:
        return tuple(resolved(item, results) for item in value)
    if type(value) is dict:
        return {key: resolved(item, results) for key, item in value.items()}
    return value


class _Opaque:
    """A box around a value that must not be written out."""

    def __init__(self, held: Any):
        self.held = held


def read_frame(stream: io.RawIOBase | Any) -> bytes | None:
    """Return the next frame, or None where the other side has closed."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    (length,) = struct.unpack(">I", header)
    return stream.read(length)


def write_frame(stream: Any, frame: bytes) -> None:
    stream.write(struct.pack(">I", len(frame)) + frame)
    stream.flush()


def limit_memory(limit: int) -> list[str]:
    """Bound this process's memory, in bytes, where the system can; return what is in force."""
    try:
        import resource
    except ImportError:
        return []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ValueError, OSError):
        return []
    return ["rlimit_as"] if sys.platform == "linux" else []


def no_debugger(*args: Any, **kwargs: Any) -> None:
    """Stand in for `breakpoint`, which has no terminal here."""
    import bdb

    raise bdb.BdbQuit("no terminal")


def trace_on_signal() -> None:
    """Write down where the code is when the judge's time is up, if the system has such a signal.

    Done by the interpreter itself, so that it works whatever the code is busy with.
    """
    if hasattr(faulthandler, "register"):
        file = open(TRACE, "wb", buffering=0)  # noqa: SIM115 - open as long as the worker lives
        faulthandler.register(signal.SIGUSR1, file, all_threads=False)


def die_with(parent: int, follows: bool) -> None:
    """End this process soon after its grader is gone, even if it died without a word.

    Linux can do so at once, but when the starting thread ends: `follows` says that this is
    the grader's main thread.
    """
    try:
        if not follows:
            raise OSError
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    except (AttributeError, OSError, TypeError):
        pass

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if hasattr(os, "getppid") and os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve until the judge hangs up.

    Arguments: the judge's process id, whether its main thread started this, the memory limit in bytes.
    """
    parent, follows, limit = map(int, sys.argv[1:])
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what submitted code prints must not reach the replies
    sys.stdout, sys.stdin = os.fdopen(1, "w", buffering=1, errors="replace"), os.fdopen(0)
    die_with(parent, bool(follows))
    sys.breakpointhook = no_debugger
    trace_on_signal()
    in_force = limit_memory(limit)
    sys.path[:] = [p for p in sys.path if os.path.realpath(p) != str(_root)]
    server = Server()
    write_frame(replies, encode(in_force))
    printed = sys.stdout
    while (frame := read_frame(requests)) is not None:
        reply = server.answer(frame)
        with contextlib.suppress(ValueError, OSError):  # it may have been closed
            printed.flush()
        write_frame(replies, reply)


if __name__ == "__main__":
    main()
