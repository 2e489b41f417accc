"""Stages of a few lines, written by a test and loaded in a real worker."""

import ast
import time

from grader.codec import encode
from grader.remote import Session

FOLDER = "stage1_small"


def load(worker, folder, **files):
    """Give a worker the files of one stage, by name without ".py"; return a session with it."""
    names = {}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] = f"{name}.py"
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                names[node.targets[0].id] = f"{name}.py"
    worker.load(FOLDER, {FOLDER: folder}, names)
    session = Session(worker)
    session.names = names
    session.patience = 20.0
    return session


def run(worker, source, seconds=20.0):
    """Run source in a worker; return the reply frame."""
    return worker.ask(encode(["run", source]), time.monotonic() + seconds)


def wait_until(condition, seconds=10.0):
    """Say whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
