"""Modules that keep no register: their parts are found by looking through `vars(self)`."""

import numpy as np

from solutions.stage2_tensor.tensor import Tensor


class Parameter(Tensor):
    def __init__(self, data):
        super().__init__(data.data if isinstance(data, Tensor) else data, requires_grad=True)


class Module:
    def __init__(self):
        self.training = True
        self._buffer_names = set()
        self._hooks = []

    # Parts

    def __setattr__(self, name, value):
        old = vars(self).get(name)
        if isinstance(value, Parameter | Module):
            if "_buffer_names" not in vars(self):
                raise AttributeError("call super().__init__() before you assign parts")
            self.check_part(name, value)
            if not isinstance(old, Parameter | Module):
                vars(self).pop(name, None)  # its place in the order is that of its first assignment
            self._buffer_names.discard(name)
        elif isinstance(value, Tensor):
            if isinstance(old, Parameter):
                raise TypeError(f"{name} is a Parameter, and so must be what takes its place")
        elif "_buffer_names" in vars(self):
            self._buffer_names.discard(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        super().__delattr__(name)
        self._buffer_names.discard(name)

    def check_part(self, name, part):
        if not name or "." in name:
            raise ValueError(f"{name!r} is no name for a part")
        if isinstance(part, Module) and any(m is self for m in part.modules()):
            raise ValueError("a module cannot contain itself")

    def register_buffer(self, name, tensor):
        if not isinstance(tensor, Tensor) or isinstance(tensor, Parameter):
            raise TypeError("a buffer is a Tensor, and no Parameter")
        if hasattr(self, name) and name not in self._buffer_names:
            raise ValueError(f"there is an attribute {name!r} already")
        self.check_part(name, tensor)
        setattr(self, name, tensor)
        self._buffer_names.add(name)

    def own_parameters(self):
        return [(n, v) for n, v in vars(self).items() if isinstance(v, Parameter)]

    def own_buffers(self):
        return [(n, v) for n, v in vars(self).items() if n in self._buffer_names]

    def own_modules(self):
        return [(n, v) for n, v in vars(self).items() if isinstance(v, Module)]

    # Recursions over them

    def children(self):
        seen = []
        for _, module in self.own_modules():
            if not any(module is other for other in seen):
                seen.append(module)
        return iter(seen)

    def walk(self, prefix, seen):
        """Yield (prefix, module) for self and all below; those in `seen`, unless None, only once."""
        if seen is not None:
            if id(self) in seen:
                return
            seen.add(id(self))
        yield prefix, self
        for name, module in self.own_modules():
            yield from module.walk(f"{prefix}{name}.", seen)

    def named_modules(self, remove_duplicate=True):
        for prefix, module in self.walk("", set() if remove_duplicate else None):
            yield prefix[:-1], module

    def named_parameters(self):
        seen = set()
        for prefix, module in self.walk("", set()):
            for name, parameter in module.own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield prefix + name, parameter

    def named_buffers(self):
        found = {}
        for prefix, module in self.walk("", set()):
            for name, buffer in module.own_buffers():
                found.setdefault(id(buffer), (prefix + name, buffer))
        return iter(found.values())

    def modules(self):
        return (module for _, module in self.named_modules())

    def parameters(self):
        return (parameter for _, parameter in self.named_parameters())

    def buffers(self):
        return (buffer for _, buffer in self.named_buffers())

    def train(self, mode=True):
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def zero_grad(self):
        for _, parameter in self.own_parameters():
            parameter.grad = None
        for child in self.children():
            child.zero_grad()

    # States

    def saved(self):
        """Return name: Tensor of what a state holds, by recursion; what is shared, several times."""
        found = dict(self.own_parameters() + self.own_buffers())
        for name, module in self.own_modules():
            found.update({f"{name}.{inner}": tensor for inner, tensor in module.saved().items()})
        return found

    def state_dict(self):
        return {name: np.array(tensor.data) for name, tensor in self.saved().items()}

    def load_state_dict(self, state, strict=True):
        own = self.saved()
        if strict and own.keys() != state.keys():
            raise ValueError(f"names that do not fit: {sorted(own.keys() ^ state.keys())}")
        arrays = {}
        for name in own.keys() & state.keys():
            value = state[name]
            array = np.array(value.data if isinstance(value, Tensor) else value)
            if array.shape != own[name].shape or array.dtype.kind not in "biuf":
                raise ValueError(f"{name} does not fit {own[name].shape}")
            arrays[name] = array.astype(own[name].dtype)
        for name, array in arrays.items():
            own[name].data = array

    # Calls

    def forward(self, *inputs):
        raise TypeError(f"{type(self).__name__} has no forward")

    def __call__(self, *inputs, **options):
        output = self.forward(*inputs, **options)
        for _, hook in tuple(self._hooks):
            answer = hook(self, inputs, output)
            if answer is not None:
                output = answer
        return output

    def register_forward_hook(self, hook):
        handle = Handle(self)
        self._hooks.append((handle, hook))
        return handle

    def __repr__(self):
        inside = [f"  {name}: {module!r}".replace("\n", "\n  ") for name, module in self.own_modules()]
        own = ", ".join(f"{name} {p.shape}" for name, p in self.own_parameters())
        return "\n".join([f"{type(self).__name__}({own})", *inside])


class Handle:
    def __init__(self, module):
        self.module = module

    def remove(self):
        self.module._hooks = [pair for pair in self.module._hooks if pair[0] is not self]


class ModuleList(Module):
    def __init__(self, modules=()):
        super().__init__()
        self._items = []
        for module in modules:
            self.append(module)

    def own_modules(self):
        return super().own_modules() + [(str(i), m) for i, m in enumerate(self._items)]

    def append(self, module):
        self._items.append(self.checked(module))
        return self

    def checked(self, module):
        if not isinstance(module, Module):
            raise TypeError("only Modules can be held")
        self.check_part("item", module)
        return module

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(tuple(self._items))

    def __getitem__(self, index):
        return ModuleList(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __setitem__(self, index, module):
        self._items[index] = self.checked(module)


class ModuleDict(Module):
    def __init__(self, modules=()):
        super().__init__()
        self._items = {}
        for key, module in dict(modules).items():
            self[key] = module

    def own_modules(self):
        return super().own_modules() + list(self._items.items())

    def __setitem__(self, key, module):
        if not isinstance(module, Module):
            raise TypeError("only Modules can be held")
        self.check_part(key, module)
        self._items[key] = module

    def __getitem__(self, key):
        return self._items[key]

    def __delitem__(self, key):
        del self._items[key]

    def __contains__(self, key):
        return key in self._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()


class Sequential(ModuleList):
    def __init__(self, *modules):
        super().__init__(modules)

    def __getitem__(self, index):
        return Sequential(*self._items[index]) if isinstance(index, slice) else self._items[index]

    def forward(self, x):
        return self.through(x, self._items)

    def through(self, x, modules):
        return self.through(modules[0](x), modules[1:]) if modules else x


class Residual(Module):
    def __init__(self, module):
        super().__init__()
        self.inner = module

    def forward(self, x):
        return self.inner(x) + x
