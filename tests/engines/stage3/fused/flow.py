"""The instrument: a tap behind each layer, its readings in an array."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record


@dataclass(frozen=True)
class Row:
    name: str
    kind: str
    norm: float
    ratio: float
    state: str


class GradientFlow:
    def __init__(self, model, vanished, exploded):
        self.vanished, self.exploded = vanished, exploded
        self.passes = [[]]
        self.over = False
        leaves = [(n, m) for n, m in model.named_modules() if not [*m.children()]]
        self.handles = [m.register_forward_hook(partial(self.tap, n)) for n, m in leaves]
        self.handles += [model.register_forward_hook(self.finish)]

    def finish(self, *_):
        self.over = True

    def tap(self, name, layer, inputs, output):
        if not (isinstance(output, Tensor) and output.requires_grad):
            return None
        if self.over:
            self.passes, self.over = [[]], False
        reading = {"name": name, "kind": type(layer).__name__, "norm": 0.0}
        self.passes[-1].append(reading)
        return record(output.data, [output], partial(self.read, reading))

    def read(self, reading, g):
        largest = np.abs(g).max(initial=0).astype(float)
        if np.isfinite(largest) and largest > 0:  # scaled, so that no square overflows
            largest = largest * np.sqrt(np.square(g / largest, dtype=float).sum())
        reading["norm"], self.over = float(largest), True
        return [g]

    @property
    def rows(self):
        readings = self.passes[-1]
        sound = [r["norm"] for r in readings if 0 < r["norm"] < float("inf")] or [1.0]
        return [
            Row(**r, ratio=r["norm"] / sound[-1], state=self.state(r["norm"], r["norm"] / sound[-1]))
            for r in readings
        ]

    def state(self, norm, ratio):
        tests = {
            "nan": np.isnan(norm),
            "exploded": norm == np.inf or ratio > self.exploded,
            "vanished": norm == 0 or ratio < self.vanished,
            "ok": True,
        }
        return next(word for word, holds in tests.items() if holds)

    @property
    def first_bad(self):
        for row in self.rows[::-1]:
            if row.state != "ok":
                return row
        return None

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __iter__(self):
        return iter(self.rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def __str__(self):
        return "\n".join(str(row) for row in self.rows)


def gradient_flow(model, vanished=1e-4, exploded=1e4):
    return GradientFlow(model, vanished, exploded)
