import math
from functools import partial
from types import SimpleNamespace as Row


class gradient_flow:  # by torch's hooks: one on each layer, one on each output
    def __init__(self, model, vanished=1e-4, exploded=1e4):
        self.vanished, self.exploded, self.calls = vanished, exploded, []
        layers = [(name, m) for name, m in model.named_modules() if not list(m.children())]
        self.handles = [m.register_forward_hook(partial(self.see, name)) for name, m in layers]
    def see(self, name, layer, inputs, output):
        if any(call.norm is not None for call in self.calls):
            self.calls = []
        self.calls.append(call := Row(name=name, kind=type(layer).__name__, norm=None))
        output.t.register_hook(lambda g: setattr(call, "norm", g.double().norm().item()))

    def row(self, call, unit):
        norm, ratio = call.norm or 0.0, (call.norm or 0.0) / unit
        low, high = norm == 0 or ratio < self.vanished, norm == math.inf or ratio > self.exploded
        state = "nan" if math.isnan(norm) else "exploded" if high else "vanished" if low else "ok"
        return Row(name=call.name, kind=call.kind, norm=norm, ratio=ratio, state=state)

    @property
    def rows(self):
        units = [call.norm for call in self.calls if 0 < (call.norm or 0) < math.inf]
        return [self.row(call, units[-1] if units else 1.0) for call in self.calls]
    first_bad = property(lambda self: next((row for row in self.rows[::-1] if row.state != "ok"), None))

    remove = lambda self: [handle.remove() for handle in self.handles] and None
