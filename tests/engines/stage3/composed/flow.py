"""The instrument, which listens at the gradient functions of the layers' outputs."""

import math
from collections import namedtuple

import numpy as np

from solutions.stage2_tensor.tensor import Tensor

Row = namedtuple("Row", "name kind norm ratio state")


class Call:
    """One call of a layer, and the sum of squares that came back."""

    def __init__(self, name, layer):
        self.name, self.kind, self.norm = name, type(layer).__name__, 0.0


class GradientFlow:
    def __init__(self, model, vanished, exploded):
        self.limits = vanished, exploded
        self.table, self.full = [], False
        self.handles = []
        for name, layer in model.named_modules():
            if next(layer.children(), None) is None:
                hook = lambda layer, inputs, output, name=name: self.listen(name, layer, inputs, output)
                self.handles.append(layer.register_forward_hook(hook))
        self.handles.append(model.register_forward_hook(self.close))

    def close(self, *_):
        self.full = True

    def listen(self, name, layer, inputs, output):
        if not isinstance(output, Tensor) or not output.requires_grad:
            return None
        if output.is_leaf or any(output is x for x in inputs):
            output = output * 1.0  # a node of its own
        if self.full:
            self.table, self.full = [], False
        call = Call(name, layer)
        self.table.append(call)
        onward = output.gradient

        def gradient(g):
            call.norm = math.sqrt(sum(np.square(g, dtype=float).ravel().tolist()))
            self.full = True
            return onward(g)

        output.gradient = gradient
        return output

    @property
    def rows(self):
        unit = 1.0
        for call in self.table:
            if math.isfinite(call.norm) and call.norm > 0:
                unit = call.norm
        return [Row(c.name, c.kind, c.norm, c.norm / unit, self.word(c.norm, unit)) for c in self.table]

    def word(self, norm, unit):
        vanished, exploded = self.limits
        if norm != norm:
            return "nan"
        if math.isinf(norm) or norm > exploded * unit:
            return "exploded"
        return "ok" if norm > 0 and norm >= vanished * unit else "vanished"

    @property
    def first_bad(self):
        bad = [row for row in self.rows if row.state != "ok"]
        return bad[-1] if bad else None

    def remove(self):
        while self.handles:
            self.handles.pop().remove()

    def __iter__(self):
        yield from self.rows

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def __str__(self):
        return "\n".join(f"{r.name} {r.kind} {r.norm:.2e} {r.ratio:.2e} {r.state}" for r in self.rows)


def gradient_flow(model, vanished=1e-4, exploded=1e4):
    return GradientFlow(model, vanished, exploded)
