"""A worker ends when it must, takes what it started with it, and begins again with the same code."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_stage import load, run, wait_until

from grader.codec import CodecError, decode, encode
from grader.course import ROOT
from grader.remote import RemoteError, Session
from grader.worker import HEAD_BYTES, TAIL_BYTES, LocalWorker, Worker, WorkerLost, WorkerTimeout

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and process groups")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def steady():
    """One worker for tests that leave it alive."""
    worker = Worker()
    yield worker
    worker.close()


def answer(worker, source, seconds=20.0):
    """Run source in a worker; return the value of its last line."""
    answered, reply = decode(run(worker, source, seconds))
    assert answered, reply
    return reply


def failure(worker, source):
    answered, reply = decode(run(worker, source))
    assert not answered
    return reply


def is_alive(pid):
    """Whether a process runs: one that is dead and not yet collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return sys.platform != "linux"


def is_gone(pid, seconds=5.0):
    return wait_until(lambda: not is_alive(pid), seconds)


# Deadlines.


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(60)",
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import signal\nfor s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "9 ** 9 ** 9",
    ],
    ids=["sleep", "loop", "loop that swallows", "deaf loop", "deadlock", "one long operation"],
)
def test_a_request_that_does_not_finish_is_ended_at_its_deadline(worker, source):
    pid = answer(worker, "import os\nos.getpid()")
    start = time.monotonic()
    with pytest.raises(WorkerTimeout) as caught:
        run(worker, source, seconds=0.3)
    assert 0.3 <= time.monotonic() - start < 5
    assert caught.value.status == "timeout"
    assert caught.value.why == "The code did not finish in time."
    assert is_gone(pid)
    assert not isinstance(caught.value, Exception)  # nothing that shrinks may catch it


BUSY = r"""
import time
def outer(what):
    return inner(what)
def inner(what):
    if what == "loop":
        while True: pass
    if what == "sleep":
        time.sleep(60)
    if what == "long":
        9 ** 9 ** 9
    if what == "deaf":
        import signal
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        while True: pass
    import glob, os
    [trace] = glob.glob(".*")
    if what == "pipe":
        os.remove(trace)
        os.mkfifo(trace)
    if what == "garbage":
        os.remove(trace)
        with open(trace, "wb") as file:
            file.write(b'  File "lab.py", line 99999999 in f\n\xff\x00' * 10_000)
    while True: pass
"""


@posix
@pytest.mark.parametrize(
    ("what", "lines"),
    [("loop", [4, 7]), ("sleep", [4, 9]), ("long", [4, 11]), ("deaf", []), ("pipe", []), ("garbage", [])],
)
def test_when_the_time_is_up_one_knows_where_the_code_was(worker, tmp_path, what, lines):
    folder = tmp_path / "café"
    folder.mkdir()
    session = load(worker, folder, lab=BUSY)
    session.stage.outer  # noqa: B018 - the file loads
    session.patience = 0.3
    with pytest.raises(WorkerTimeout) as caught:
        session.stage.outer(what)
    names = ["outer", "inner"][: len(lines)]
    assert caught.value.frames == tuple(("lab.py", line, name) for line, name in zip(lines, names))


@posix
def test_the_children_of_a_request_that_does_not_finish_end_with_it(worker):
    child = answer(
        worker, "import subprocess\nchild = subprocess.Popen(['sleep', '300'])\nchild.pid"
    )
    fork = answer(
        worker,
        "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(300)\n    os._exit(0)\npid",
    )
    assert is_alive(child)
    assert is_alive(fork)
    with pytest.raises(WorkerTimeout):
        run(worker, "while True: pass", seconds=0.2)
    assert is_gone(child)
    assert is_gone(fork)


@posix
def test_the_children_end_when_the_worker_is_closed(worker):
    child = answer(
        worker, "import subprocess\nchild = subprocess.Popen(['sleep', '300'])\nchild.pid"
    )
    worker.close()
    assert is_gone(child)


def test_a_request_within_its_deadline_is_left_alone(worker):
    assert answer(worker, "import time\ntime.sleep(0.3)\n1", seconds=10) == 1
    pid = answer(worker, "import os\nos.getpid()", seconds=1.0)
    time.sleep(1.2)  # a deadline that was met is none for the time between requests
    assert answer(worker, "import os\nos.getpid()") == pid


def test_starting_python_is_not_the_learners_time(worker, monkeypatch):
    session = Session(worker)
    session.patience = 1.0
    start = worker.start
    monkeypatch.setattr(worker, "start", lambda: (time.sleep(1.1), start()))
    assert session.request("run", "import time\ntime.sleep(0.4)\n1") == 1


# Death.


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\nos._exit(0)", "The code ended the Python process (exit status 0)."),
        ("import os\nos._exit(3)", "The code ended the Python process (exit status 3)."),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "(SIGSEGV)"),
        ("import os\nos.kill(os.getpid(), 9)", "(SIGKILL)"),
        ("import os\nos.abort()", "(SIGABRT)"),
        ("import ctypes\nctypes.string_at(0)", "(SIGSEGV)"),
    ],
    ids=["exit 0", "exit 3", "segfault", "killed", "abort", "null pointer"],
)
@posix
def test_code_that_ends_the_process_is_told_how(worker, source, why):
    with pytest.raises(WorkerLost) as caught:
        run(worker, source)
    assert caught.value.status == "crashed"
    assert why in caught.value.why
    assert not isinstance(caught.value, WorkerTimeout)
    assert answer(worker, "1 + 1") == 2


@pytest.mark.parametrize("leave", ["import sys\nsys.exit()", "exit()", "raise SystemExit(0)"])
def test_sys_exit_is_an_exception_like_any_other(steady, leave):
    if leave == "exit()":
        leave = "import site\n" + leave
    pid = answer(steady, "import os\nos.getpid()")
    assert failure(steady, leave)["type"] == "SystemExit"
    assert answer(steady, "import os\nos.getpid()") == pid


@posix
def test_a_worker_that_died_between_requests_is_noticed(worker):
    os.kill(answer(worker, "import os\nos.getpid()"), signal.SIGKILL)
    assert wait_until(lambda: worker.process.poll() is not None)
    with pytest.raises(WorkerLost, match="SIGKILL"):
        run(worker, "1")
    assert answer(worker, "1 + 1") == 2


def test_a_large_request_to_a_worker_that_is_gone_ends_as_well(worker):
    answer(worker, "import os, threading\nthreading.Timer(0.05, os._exit, [0]).start()")
    assert wait_until(lambda: worker.process.poll() is not None)
    with pytest.raises(WorkerLost):
        worker.ask(encode(["run", "x" * 10**7]), time.monotonic() + 5)


def test_after_a_death_the_next_request_meets_the_same_code(worker, tmp_path):
    code = "import os\nstate = []\ndef die():\n    os._exit(0)\ndef count():\n    state.append(1)\n    return len(state)"
    session = load(worker, tmp_path, lab=code)
    assert session.stage.count() == 1
    assert session.stage.count() == 2
    first = worker.process.pid
    with pytest.raises(WorkerLost):
        session.stage.die()
    session.begin()
    assert session.stage.count() == 1
    assert worker.process.pid != first


def test_loading_again_after_a_death_gives_the_new_code(worker, tmp_path):
    session = load(worker, tmp_path, lab="import os\ndef f():\n    os._exit(0)")
    with pytest.raises(WorkerLost):
        session.stage.f()
    assert load(worker, tmp_path, lab="def f():\n    return 2").stage.f() == 2


def test_closing_twice_is_closing_once(worker):
    answer(worker, "1")
    worker.close()
    worker.close()
    assert answer(worker, "2") == 2


HEADERS = {
    "a size beyond all limits": b"\xff\xff\xff\xff",
    "more than comes": b"\x00\x00\x00\x10abc",
    "nothing": b"",
}


@posix
@pytest.mark.parametrize("written", HEADERS.values(), ids=HEADERS)
def test_a_worker_that_writes_replies_of_its_own_is_lost_not_believed(worker, written):
    source = f"import os\nfor fd in range(3, 9):\n    try: os.write(fd, {written!r})\n    except OSError: pass\nos._exit(0)"
    with pytest.raises(WorkerLost):
        run(worker, source)
    assert answer(worker, "1 + 1") == 2


# Its grader's end.

GRADER = """
import sys, threading, time
from grader.codec import encode
from grader.worker import Worker

worker = Worker()
worker.ask(encode(["op", "neg", 1]), time.monotonic() + 60)
print(worker.process.pid, flush=True)
worker.ask(encode(["run", sys.argv[1]]), time.monotonic() + 600)
"""


@posix
@pytest.mark.parametrize(
    "source",
    ["while True: pass", "import time\ntime.sleep(600)", "9 ** 9 ** 9"],
    ids=["loop", "sleep", "one long operation"],
)
def test_a_worker_does_not_outlive_a_grader_that_was_killed(source):
    grader = subprocess.Popen(
        [sys.executable, "-c", GRADER, source], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        pid = int(grader.stdout.readline())
        time.sleep(0.1)
        assert is_alive(pid)
    finally:
        grader.kill()
        grader.wait()
        grader.stdout.close()
    assert is_gone(pid)


def test_a_worker_outlives_the_thread_that_started_it(worker):
    thread = threading.Thread(target=answer, args=[worker, "1"])
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert answer(worker, "2") == 2


# What is printed.


def printed(worker, until):
    assert wait_until(lambda: until in worker.printed.text()), worker.printed.text()[-300:]
    return worker.printed.text()


def test_what_is_printed_is_kept(worker):
    answer(worker, "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('thrée')")
    assert sorted(printed(worker, "thrée").split()) == ["one", "thrée", "two"]
    worker.printed.clear()
    assert worker.printed.text() == ""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_of_a_flood_the_head_and_the_tail_are_kept(worker, stream):
    source = f"""
import sys
out = sys.{stream}
out.write("HEAD\\n")
for i in range(20_000):
    out.write(f"line {{i}} " + "x" * 200 + "\\n")
out.write("TAIL")
out.flush()
"""
    answer(worker, source)
    text = printed(worker, "TAIL")
    assert len(text) <= HEAD_BYTES + TAIL_BYTES + 10
    assert text.startswith("HEAD\nline 0 xx")
    assert text.endswith("TAIL")
    assert text.count("\n...\n") == 1
    assert "line 19999 " in text
    assert "line 10000 " not in text


def test_a_flood_without_end_is_ended_at_the_deadline(worker):
    with pytest.raises(WorkerTimeout):
        run(worker, "while True: print('x' * 1000)", seconds=0.5)
    assert len(worker.printed.text()) <= HEAD_BYTES + TAIL_BYTES + 10


@pytest.mark.parametrize("length", [0, 1, HEAD_BYTES, HEAD_BYTES + 1, HEAD_BYTES + TAIL_BYTES])
def test_what_fits_is_kept_whole(worker, length):
    answer(worker, f"import sys\nsys.stdout.write('a' * {length} + 'Z')\nsys.stdout.flush()")
    text = printed(worker, "Z")
    if length + 1 <= HEAD_BYTES + TAIL_BYTES:
        assert text == "a" * length + "Z"
    else:
        assert "\n...\n" in text


def test_bytes_that_are_no_text_are_shown_as_such(worker):
    answer(worker, "import os\nos.write(1, b'caf\\xe9 END')")
    assert printed(worker, "END") == "caf\ufffd END"


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.stdout = None",
        "import sys\nsys.stdout.close()",
        "import sys, io\nsys.stdout = io.StringIO()",
        "import os\nos.close(1)",
    ],
    ids=["None", "closed", "replaced", "closed below"],
)
def test_code_that_takes_stdout_away_harms_only_its_own_output(worker, source):
    pid = answer(worker, "import os\nos.getpid()")
    answer(worker, source)
    assert answer(worker, "import os\nos.getpid()") == pid


# Memory.


@posix
def test_too_much_memory_is_a_memory_error_and_the_worker_goes_on():
    worker = Worker(memory=300 * 2**20)
    try:
        pid = answer(worker, "import os\nos.getpid()")
        if "rlimit_as" not in worker.mechanisms:
            pytest.skip("this system cannot limit the memory of a process")
        assert failure(worker, "x = bytearray(2**30)")["type"] == "MemoryError"
        assert (
            failure(worker, "x = []\nwhile True: x.append(bytearray(2**20))")["type"]
            == "MemoryError"
        )
        assert answer(worker, "import os\nx = bytearray(10 * 2**20)\nos.getpid()") == pid
    finally:
        worker.close()


@linux
def test_the_limits_in_force_are_known_and_leave_no_core_behind(steady):
    limits = answer(
        steady,
        "import resource as r\n[r.getrlimit(r.RLIMIT_AS), r.getrlimit(r.RLIMIT_CORE)]",
    )
    assert steady.mechanisms == ["rlimit_as"]
    assert limits == [(steady.memory, steady.memory), (0, 0)]


# What it can see.


def environment(worker):
    return answer(worker, "import os\ndict(os.environ)")


def test_the_environment_is_rebuilt(worker, monkeypatch):
    for name in (
        "SECRET_TOKEN",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTEST_ADDOPTS",
        "HOME",
        "LD_PRELOAD",
    ):
        monkeypatch.setenv(name, "x" if name != "LD_PRELOAD" else "")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    seen = environment(worker)
    assert set(seen) <= {
        "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TEMP", "TMP", "TMPDIR", "SYSTEMROOT",
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
        "MALLOC_MMAP_THRESHOLD_",
    }  # fmt: skip
    assert seen["OPENBLAS_CORETYPE"] == "Haswell"


def test_blas_has_one_thread_whatever_the_graders_environment_says(worker, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    seen = environment(worker)
    assert seen["OPENBLAS_NUM_THREADS"] == seen["OMP_NUM_THREADS"] == "1"


@linux
def test_a_product_of_matrices_starts_no_threads(steady):
    threads = "import os\nlen(os.listdir('/proc/self/task'))"
    before = answer(steady, threads)
    answer(steady, "import numpy\nx = numpy.ones((300, 300))\nfloat((x @ x).sum())")
    assert answer(steady, threads) == before <= 2


def test_only_the_stages_it_was_given_can_be_imported(worker, tmp_path):
    session = load(
        worker,
        tmp_path,
        lab="def f():\n    from solutions.stage1_small import lab\n    return lab.f is f",
    )
    assert session.stage.f() is True
    for name in (
        "solutions.stage1_autodiff",
        "solutions.stage1_autodiff.autodiff",
        "solutions.stage2_tensor",
        "solutions.faults",
        "solutions.stage1_small.other",
        "stages",
        "stages.stage1_autodiff.checks",
        "benchmarks",
        "tests",
        "conftest",
        "autodiff",
        "lab",
    ):
        reply = failure(worker, f"import {name}")
        assert reply["type"] == "ModuleNotFoundError", (name, reply)


def test_earlier_stages_are_importable_where_they_are_given(worker, tmp_path):
    early, late = tmp_path / "early", tmp_path / "late"
    early.mkdir()
    late.mkdir()
    (early / "one.py").write_text("def one():\n    return 1\n", encoding="utf-8")
    (late / "two.py").write_text(
        "from solutions.stage1_early.one import one\ndef two():\n    return one() + 1\n",
        encoding="utf-8",
    )
    worker.load("stage2_late", {"stage1_early": early, "stage2_late": late}, {"two": "two.py"})
    source = "from solutions.stage2_late.two import two\ntwo()"
    assert answer(worker, source) == 2
    worker.load("stage2_late", {"stage2_late": late}, {"two": "two.py"})
    assert failure(worker, source)["type"] == "ModuleNotFoundError"


def test_the_course_is_not_on_the_path_of_modules(worker):
    path = answer(worker, "import sys\nlist(sys.path)")
    assert str(ROOT) not in {os.path.realpath(p) for p in path}
    assert str(ROOT / "grader") not in {os.path.realpath(p) for p in path}
    assert "" not in path
    assert os.getcwd() not in {os.path.realpath(p) for p in path if p}


def test_files_beside_the_grader_are_not_imported(worker, tmp_path, monkeypatch):
    for name in ("numpy", "json", "msgpack", "sitecustomize", "usercustomize", "struct"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('hijacked')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert answer(worker, "import json, numpy\nnumpy.__file__").find(str(tmp_path)) == -1


def test_no_byte_code_is_written_beside_the_learners_files(worker, tmp_path):
    assert load(worker, tmp_path, lab="def f():\n    return 1").stage.f() == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lab.py"]


# The same in this process.


def test_debugging_runs_the_same_requests_in_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    code = (
        "import os\ndef pid():\n    return os.getpid()\ndef fail():\n    raise ValueError('here')"
    )
    session = load(LocalWorker(), tmp_path, lab=code)
    assert session.stage.pid() == os.getpid()
    with pytest.raises(RemoteError, match="ValueError: here"):
        session.stage.fail()
    for name in [n for n in sys.modules if re.match(r"solutions\b", n)]:
        monkeypatch.delitem(sys.modules, name)


def test_garbage_from_a_worker_is_a_failure_not_an_error_of_the_grader(
    worker, monkeypatch, tmp_path
):
    session = load(worker, tmp_path, lab="def f():\n    return 1")
    for garbage in (
        b"",
        b"\xc1",
        b"\x90",
        b"\x92\x01\x02",
        b"\x92\xc2\x80",
        b"\x92\xc2\xc0",
        encode([False, {"type": 1}]),
    ):
        monkeypatch.setattr(worker, "ask", lambda frame, deadline, garbage=garbage: garbage)
        with pytest.raises(RemoteError) as caught:
            session.request("op", "neg", 1)
        assert caught.value.failure.type == CodecError.__name__
