"""Modules with a dictionary for each kind of part; what is in one is no plain attribute."""

import itertools
from collections import OrderedDict

import numpy as np

from solutions.stage2_tensor.tensor import Tensor

KINDS = ("_parameters", "_buffers", "_modules")
serial = itertools.count()


class Parameter(Tensor):
    def __init__(self, data):
        super().__init__(data.detach().numpy() if isinstance(data, Tensor) else data)
        if self.dtype.kind != "f":
            raise TypeError("a Parameter holds floating numbers")
        self.requires_grad = True


class Module:
    training = True

    def __init__(self):
        for kind in (*KINDS, "_forward_hooks"):
            object.__setattr__(self, kind, OrderedDict())

    def __getattr__(self, name):
        for kind in KINDS:
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise AttributeError(f"{type(self).__name__} has no {name}; was super().__init__() called?")

    def __setattr__(self, name, value):
        home = next((kind for kind in KINDS if name in self.__dict__.get(kind, ())), None)
        if isinstance(value, Parameter):
            goal = "_parameters"
        elif isinstance(value, Module):
            goal = "_modules"
        elif isinstance(value, Tensor) and home == "_buffers":
            goal = home
        elif isinstance(value, Tensor) and home == "_parameters":
            raise TypeError(f"only a Parameter can replace the Parameter {name}")
        else:
            if home:
                del self.__dict__[home][name]
            object.__setattr__(self, name, value)
            return
        self.put(goal, name, value)
        if home and home != goal:
            del self.__dict__[home][name]

    def put(self, kind, name, part):
        if kind not in self.__dict__:
            raise AttributeError("super().__init__() comes first")
        if not name or "." in name:
            raise ValueError(f"{name!r} cannot be a part's name")
        if isinstance(part, Module) and self in set(part.modules()):
            raise ValueError("no module is in itself")
        self.__dict__.pop(name, None)
        self.__dict__[kind][name] = part

    def __delattr__(self, name):
        for kind in KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    def register_buffer(self, name, tensor):
        if isinstance(tensor, Parameter) or not isinstance(tensor, Tensor):
            raise TypeError("only Tensors can be buffers")
        if name not in self._buffers and hasattr(self, name):
            raise ValueError(f"{name} is taken")
        self.put("_buffers", name, tensor)

    # A search fills a dictionary id: (name, part), which keeps the first of equals.

    def search(self, kind, prefix="", found=None, seen=None):
        found, seen = {} if found is None else found, set() if seen is None else seen
        if self in seen:
            return found
        seen.add(self)
        for name, part in self.__dict__[kind].items():
            found.setdefault(id(part), (prefix + name, part))
        for name, module in self._modules.items():
            module.search(kind, f"{prefix}{name}.", found, seen)
        return found

    def named_parameters(self):
        yield from self.search("_parameters").values()

    def named_buffers(self):
        yield from self.search("_buffers").values()

    def parameters(self):
        for _, parameter in self.named_parameters():
            yield parameter

    def buffers(self):
        for _, buffer in self.named_buffers():
            yield buffer

    def children(self):
        yield from dict.fromkeys(self._modules.values())

    def named_modules(self, remove_duplicate=True):
        rows = [("", self)]
        for name, module in self._modules.items():
            for inner, found in module.named_modules(remove_duplicate):
                rows.append((f"{name}.{inner}" if inner else name, found))
        if remove_duplicate:
            first = {}
            for row in rows:
                first.setdefault(row[1], row)
            rows = list(first.values())
        yield from rows

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def train(self, mode=True):
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self):
        return self.train(False)

    def zero_grad(self):
        for parameter in self.parameters():
            parameter.grad = None

    def fill_state(self, state, prefix):
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            state[prefix + name] = tensor
        for name, module in self._modules.items():
            module.fill_state(state, f"{prefix}{name}.")
        return state

    def state_dict(self):
        return {k: t.data.copy() for k, t in self.fill_state(OrderedDict(), "").items()}

    def load_state_dict(self, state, strict=True):
        jobs, complaints = [], []
        own = self.fill_state({}, "")
        for name in sorted({*own, *state}):
            if name not in state or name not in own:
                complaints += [f"{name} on one side only"] * bool(strict)
                continue
            new = state[name].data if isinstance(state[name], Tensor) else np.asarray(state[name])
            if new.shape == own[name].shape and new.dtype.kind in "fiub":
                jobs.append((own[name].data, new))
            else:
                complaints.append(f"{name} is {new.shape}")
        if complaints:
            raise ValueError("; ".join(complaints))
        for array, new in jobs:
            np.copyto(array, new, casting="unsafe")

    def forward(self, *inputs):
        raise TypeError("a subclass says what forward does")

    def __call__(self, *inputs, **options):
        out = self.forward(*inputs, **options)
        for number in list(self._forward_hooks):
            new = self._forward_hooks[number](self, inputs, out)
            out = out if new is None else new
        return out

    def register_forward_hook(self, hook):
        number = next(serial)
        self._forward_hooks[number] = hook
        return Handle(self._forward_hooks, number)

    def __repr__(self):
        rows = []
        for name, module in self.named_modules():
            shapes = {n: p.shape for n, p in module._parameters.items()}
            rows.append("  " * (name.count(".") + (name != "")) + f"{name}: {type(module).__name__} {shapes}")
        return "\n".join(rows)


class Handle:
    def __init__(self, hooks, number):
        self.hooks, self.number = hooks, number

    def remove(self):
        if self.number in self.hooks:
            del self.hooks[self.number]


class ModuleList(Module):
    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def extend(self, modules):
        for module in modules:
            self.append(module)

    def append(self, module):
        self[len(self)] = module
        return self

    def __setitem__(self, index, module):
        if not isinstance(module, Module):
            raise TypeError("a ModuleList holds Modules")
        index = index + len(self) if index < 0 else index
        if not 0 <= index <= len(self):
            raise IndexError("no such place")
        self.put("_modules", str(index), module)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self).of([*self][index])
        return [*self][index]

    @classmethod
    def of(cls, modules):
        return cls(modules)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter([*self._modules.values()])


class ModuleDict(Module):
    def __init__(self, modules=()):
        super().__init__()
        for key, module in dict(modules).items():
            self[key] = module

    def __setitem__(self, key, module):
        if not isinstance(module, Module):
            raise TypeError("a ModuleDict holds Modules")
        self.put("_modules", key, module)

    def __getitem__(self, key):
        return self._modules[key]

    def __delitem__(self, key):
        del self._modules[key]

    def __contains__(self, key):
        return key in self._modules

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class Sequential(ModuleList):
    def __init__(self, *modules):
        super().__init__(modules)

    @classmethod
    def of(cls, modules):
        return cls(*modules)

    def forward(self, x):
        for name in self._modules:
            x = self._modules[name](x)
        return x


class Residual(Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x) + x
