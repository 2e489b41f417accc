"""The judge's side of a worker: a process that runs submitted code, and ends when told to.

A worker that dies or does not answer in time ends the example by a BaseException,
which hypothesis neither catches nor shrinks.
"""

import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from grader.codec import MAX_FRAME, CodecError, decode, encode
from grader.server import TRACE, Server

SERVER = Path(__file__).with_name("server.py")
START_SECONDS = 60.0  # starting Python is not the learner's time
MEMORY_BYTES = 2 * 2**30
HEAD_BYTES, TAIL_BYTES = 10_000, 2_000
SETTLE_SECONDS = 2.0
FOREVER = float("inf")
TRACE_SECONDS = 1.0  # how long a worker may take to write down where it is
TRACE_BYTES = 50_000
TRACE_ENDS = (b"in <module>\n", b"  ...\n")
Frame = tuple[str, int, str]  # file, line, function


class WorkerLost(BaseException):
    """The worker is gone; `why` is a sentence for the learner.

    `frames` say where the code was when the time was up, if that is known.
    """

    status = "crashed"
    frames: tuple[Frame, ...] = ()

    def __init__(self, why: str):
        super().__init__(why)
        self.why = why


class WorkerTimeout(WorkerLost):
    """The worker did not answer in time."""

    status = "timeout"

    def __init__(self, why: str, frames: tuple[Frame, ...] = ()):
        super().__init__(why)
        self.frames = frames


class Worker:
    """One process under a watchdog. `load` gives it code, `ask` sends a request and waits.

    Attributes:
        mechanisms: the limits that are in force in it.
        printed: what the submitted code wrote to stdout and stderr since `clear_printed`.
    """

    def __init__(self, memory: int = MEMORY_BYTES):
        self.memory = memory
        self.process: subprocess.Popen[bytes] | None = None
        self.loaded: list[Any] | None = None
        self.mechanisms: list[str] = []
        self.deadline = FOREVER
        self.printed = Printed()
        self.folder = ""

    def load(self, stage: str, folders: Mapping[str, Path], files: Mapping[str, str]) -> None:
        """Start afresh with the stage packages in `folders`; `files` maps public names to files."""
        self.loaded = ["load", stage, {k: str(v) for k, v in folders.items()}, dict(files)]
        if self.process is not None:
            self.exchange(encode(self.loaded), time.monotonic() + START_SECONDS)

    def settle(self) -> None:
        """Wait until what the submitted code has printed is here: it comes by a way of its own."""
        mark = os.urandom(8).hex().encode()
        self.ask(encode(["mark", mark]), time.monotonic() + SETTLE_SECONDS)
        self.printed.wait_for(mark, SETTLE_SECONDS)

    @property
    def process_id(self) -> int:
        """The worker's process, once it has been started."""
        assert self.process is not None
        return self.process.pid

    def ensure(self) -> None:
        """Start the process if there is none. (What that takes is not the learner's time.)"""
        if self.process is None:
            self.start()

    def ask(self, frame: bytes, deadline: float) -> bytes:
        """Send a request and return the reply; the worker is killed at `deadline` (monotonic)."""
        self.ensure()
        return self.exchange(frame, deadline)

    def start(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="gradwright-worker-")
        command = [sys.executable, "-I", "-B", "-X", "utf8", str(SERVER)]
        self.process = subprocess.Popen(
            [*command, str(os.getpid()), str(int(in_main_thread())), str(self.memory)],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(),
            start_new_session=os.name == "posix",
        )
        self.printed.follow(self.process.stderr)
        threading.Thread(target=self.watch, args=[self.process], daemon=True).start()
        self.mechanisms = decode(self.receive(time.monotonic() + START_SECONDS))
        if self.loaded is not None:
            self.exchange(encode(self.loaded), time.monotonic() + START_SECONDS)

    def exchange(self, frame: bytes, deadline: float) -> bytes:
        assert self.process is not None
        assert self.process.stdin is not None
        self.deadline = deadline
        try:
            self.process.stdin.write(struct.pack(">I", len(frame)) + frame)
            self.process.stdin.flush()
        except OSError:
            raise self.lost(deadline) from None
        return self.receive(deadline)

    def receive(self, deadline: float) -> bytes:
        assert self.process is not None
        assert self.process.stdout is not None
        self.deadline = deadline
        header = self.process.stdout.read(4)
        if len(header) < 4:
            raise self.lost(deadline)
        (length,) = struct.unpack(">I", header)
        if length > MAX_FRAME:
            self.close()
            raise WorkerLost("the code sent more than can be read")
        frame = self.process.stdout.read(length)
        if len(frame) < length or time.monotonic() > deadline:
            raise self.lost(deadline)
        self.deadline = FOREVER
        return frame

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the worker, and all it started, once its deadline is past."""
        while process.poll() is None:
            if time.monotonic() > self.deadline and process is self.process:
                self.ask_for_trace(process)
                kill(process)
            time.sleep(0.02)

    def ask_for_trace(self, process: subprocess.Popen[bytes]) -> None:
        """Let a worker write down where it is, if it can."""
        if not hasattr(signal, "SIGUSR1"):
            return
        end = time.monotonic() + TRACE_SECONDS
        try:
            process.send_signal(signal.SIGUSR1)
            while process.poll() is None and time.monotonic() < end:
                if read_some(os.path.join(self.folder, TRACE)).endswith(TRACE_ENDS):
                    return
                time.sleep(0.01)
        except OSError:
            pass

    def frames(self) -> tuple[Frame, ...]:
        """Return where in the stages' files the worker says that it was, the innermost last."""
        text = read_some(os.path.join(self.folder, TRACE)).decode("ascii", "replace")
        folders = self.loaded[2].values() if self.loaded else ()
        escaped = {folder.encode("ascii", "backslashreplace").decode() for folder in folders}
        found = re.findall(r'  File "([^"\n]+)", line (\d{1,7}) in ([^\n]{1,100})\n', text)
        return tuple(
            (os.path.basename(path), int(line), name)
            for path, line, name in reversed(found[:200])
            if os.path.dirname(path) in escaped
        )

    def lost(self, deadline: float) -> WorkerLost:
        """Bury a worker that has stopped answering and say how it ended."""
        assert self.process is not None
        late = time.monotonic() > deadline
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = 0
        frames = self.frames() if late else ()
        self.close()
        if late:
            return WorkerTimeout("The code did not finish in time.", frames)
        if code < 0:
            return WorkerLost(
                f"The code brought the Python interpreter down ({signal_name(-code)})."
            )
        return WorkerLost(f"The code ended the Python process (exit status {code}).")

    def close(self) -> None:
        """End the worker; the next request starts a new one with the same code."""
        if self.process is not None:
            kill(self.process)
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                try:
                    stream.close()  # type: ignore[union-attr]
                except OSError:
                    pass
            self.process = None
            shutil.rmtree(self.folder, ignore_errors=True)
        self.deadline = FOREVER


class LocalWorker:
    """The same server, called in this process: for `--debug`, where `breakpoint()` must work."""

    mechanisms: list[str] = []
    process_id = os.getpid()

    def __init__(self) -> None:
        self.server = Server()
        self.printed = Printed()

    def load(self, stage: str, folders: Mapping[str, Path], files: Mapping[str, str]) -> None:
        self.server.do_load(stage, {k: str(v) for k, v in folders.items()}, dict(files))

    def ensure(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def ask(self, frame: bytes, deadline: float) -> bytes:
        return self.server.answer(frame)

    def close(self) -> None:
        pass


class Printed:
    """The first and the last of what a worker printed, kept by a thread that drains its stderr."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.head, self.tail = b"", b""

    def follow(self, stream: IO[bytes] | None) -> None:
        threading.Thread(target=self.drain, args=[stream], daemon=True).start()

    def drain(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
                with self.lock:
                    room = HEAD_BYTES - len(self.head)
                    self.head += chunk[: max(room, 0)]
                    self.tail = (self.tail + chunk[max(room, 0) :])[-TAIL_BYTES - 1 :]
                    self.lock.notify_all()

    def wait_for(self, mark: bytes, seconds: float) -> None:
        """Wait until `mark` has arrived, so that all before it has, and take it out again."""
        with self.lock:
            self.lock.wait_for(lambda: mark in self.head + self.tail, seconds)
            self.head = self.head.replace(mark, b"")
            self.tail = self.tail.replace(mark, b"")

    def clear(self) -> None:
        with self.lock:
            self.head, self.tail = b"", b""

    def text(self) -> str:
        """Return what was printed, with an ellipsis where the middle is missing."""
        with self.lock:
            gap = b"\n...\n" if len(self.tail) > TAIL_BYTES else b""
            return (self.head + gap + self.tail[-TAIL_BYTES:]).decode("utf-8", "replace")


def clean_environment() -> dict[str, str]:
    """Return the environment of a worker: what Python needs to start, and one thread for BLAS.

    Arrays of a megabyte and more go back to the system as soon as they are freed, so that
    memory can be measured from outside.
    """
    wanted = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL")
    blas = {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
    kept = {name: os.environ[name] for name in wanted if name in os.environ}
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**kept, **blas, **one_thread, "MALLOC_MMAP_THRESHOLD_": str(2**20)}


def read_some(path: str) -> bytes:
    """Return the head of a file that untrusted code may have replaced; nothing if it is no file."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.read(descriptor, TRACE_BYTES) if regular else b""
        finally:
            os.close(descriptor)
    except OSError:
        return b""


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, where it leads a group, the group."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


AnyWorker = Worker | LocalWorker

__all__ = ["AnyWorker", "CodecError", "LocalWorker", "Worker", "WorkerLost", "WorkerTimeout"]
