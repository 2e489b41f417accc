"""An instrument: how large the gradient is where it arrives at each layer."""

from typing import NamedTuple

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record


class Row(NamedTuple):
    """One call of a layer, and the gradient that arrived at its output.

    `kind` is the layer's class, `norm` the gradient's Euclidean length, `ratio`
    that over the norm nearest to the loss, `state` "ok", "vanished", "exploded" or "nan".
    """

    name: str
    kind: str
    norm: float
    ratio: float
    state: str


class GradientFlow:
    """Watches the gradients of a model's layers, which are its modules without modules inside.

    After `loss.backward()`, iteration (or `rows`) gives a Row per call of a layer,
    in order of execution, and printing shows them as a table. The next forward
    pass begins a new table. `remove()`, or the end of a `with` block, takes the
    hooks off.
    """

    def __init__(self, model, vanished, exploded):
        self.vanished, self.exploded = vanished, exploded
        self.calls, self.complete = [], False  # calls: [name, kind, norm]
        layers = [(name, m) for name, m in model.named_modules() if not list(m.children())]
        self.handles = [m.register_forward_hook(self.watcher(name)) for name, m in layers]
        self.handles.append(model.register_forward_hook(self.end_of_pass))

    def watcher(self, name):
        """Return the hook of the layer `name`: it lets a gradient pass, and notes its norm."""

        def hook(layer, inputs, output):
            if not isinstance(output, Tensor) or not output.requires_grad:
                return None
            if self.complete:
                self.calls, self.complete = [], False
            call = [name, type(layer).__name__, 0.0]  # 0 unless a gradient arrives
            self.calls.append(call)

            def gradient(g):
                call[2], self.complete = float(np.linalg.norm(g.astype(np.float64))), True
                return (g,)

            return record(output.data, (output,), gradient)

        return hook

    def end_of_pass(self, model, inputs, output):
        """Let the next call of a layer begin a new table."""
        self.complete = True

    @property
    def rows(self):
        """A list of Rows, in order of execution."""
        sound = [norm for *_, norm in self.calls if 0 < norm < np.inf]
        nearest = sound[-1] if sound else 1.0
        return [
            Row(name, kind, norm, norm / nearest, self.state(norm, norm / nearest))
            for name, kind, norm in self.calls
        ]

    def state(self, norm, ratio):
        """Return the word for a gradient."""
        if np.isnan(norm):
            return "nan"
        if norm == np.inf or ratio > self.exploded:
            return "exploded"
        return "vanished" if norm == 0 or ratio < self.vanished else "ok"

    @property
    def first_bad(self):
        """The Row where the gradient, on its way from the loss, first was not "ok"; or None.

        At the next row's layer it was still good: that layer, or what lies
        between the two, is to blame.
        """
        return next((row for row in reversed(self.rows) if row.state != "ok"), None)

    def remove(self):
        """Take the hooks off the model."""
        for handle in self.handles:
            handle.remove()

    def __iter__(self):
        return iter(self.rows)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()

    def __str__(self):
        lines = [
            f"{r.name:16} {r.kind:12} {r.norm:9.2e} {r.ratio:9.2e}  {r.state}" for r in self.rows
        ]
        return "\n".join([f"{'layer':16} {'kind':12} {'norm':>9} {'ratio':>9}  state", *lines])


def gradient_flow(model, vanished=1e-4, exploded=1e4):
    """Return a GradientFlow that watches `model` from now on.

    A gradient has vanished where its norm is 0, or less than `vanished` times the
    norm at the layer nearest to the loss; it has exploded where it is infinite, or
    more than `exploded` times that norm.
    """
    return GradientFlow(model, vanished, exploded)
