"""PyTorch as the other side: found or not, and with as many threads as numpy's BLAS."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

MISSING = "theirs       not installed: pip install -e '.[compare]'"


def load_torch():
    """Return the module torch, or None where it, or what sets numpy's threads, is not installed."""
    try:
        import_module("threadpoolctl")
        return import_module("torch")
    except ImportError:
        return None


@contextmanager
def threads(count: int, torch) -> Iterator[None]:
    """Let both sides use `count` threads inside the block; without torch, as many as they like."""
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    with import_module("threadpoolctl").threadpool_limits(count):
        yield
    torch.set_num_threads(before)


def opponent(torch) -> str:
    """Return the line that says what runs on the other side."""
    if torch is None:
        return MISSING
    product = "MKL" if torch.backends.mkl.is_available() else "no MKL"
    return f"theirs       torch {torch.__version__}, {product}, {torch.backends.cpu.get_cpu_capability()}"


def threads_line(counts: str, torch) -> str:
    """Return the line that says how many threads the sides use."""
    return f"threads      {counts if torch else 'as many as numpy likes'}"
