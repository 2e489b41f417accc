"""Modules: parts of a network, which find their parameters and map inputs to outputs."""

from solutions.stage2_tensor.tensor import Tensor, array_of


class Parameter(Tensor):
    """A Tensor to be trained: it requires a gradient, and the Module it is assigned to finds it."""

    __slots__ = ()

    def __init__(self, data):
        """Hold a copy of `data`: a floating array or Tensor in its dtype, numbers as float32.

        TypeError for arrays of whole numbers: no gradient reaches those.
        """
        super().__init__(data.data if isinstance(data, Tensor) else data, requires_grad=True)


class Module:
    """A part of a network. A subclass writes `forward`; its users call the module itself.

    What is assigned to an attribute belongs to the module, where it is a
    Parameter or a Module; so does what a ModuleList or a ModuleDict holds. Plain
    lists, tuples and dicts are not searched. A subclass calls `super().__init__()`
    before it assigns any. A name such as "encoder.0.weight" is the way to a part.

    Attributes:
        training: True at first; dropout and batch normalisation obey it.
    """

    def __init__(self):
        self.training = True
        self._parts = {}  # name: Parameter, Module or buffer, in order of assignment
        self._hooks = {}  # handle: hook

    # What belongs to a module

    def __setattr__(self, name, value):
        """Set an attribute; a Parameter, a Module, or a new Tensor for a buffer, is a part of self.

        Another value takes a part's place away, but TypeError for a plain Tensor
        in the place of a Parameter, which would no longer be trained.
        AttributeError for a part before `super().__init__()`; ValueError for a
        Module that contains self.
        """
        part = vars(self).get("_parts", {}).get(name)
        if isinstance(value, Parameter | Module) or (is_buffer(part) and isinstance(value, Tensor)):
            self._register(name, value)
        elif isinstance(part, Parameter) and isinstance(value, Tensor):
            raise TypeError(f"{name} is a Parameter: assign a Parameter, or change {name}.data")
        elif part is not None:
            del self._parts[name]
        super().__setattr__(name, value)

    def __delattr__(self, name):
        """Delete an attribute; a part no longer belongs to self."""
        super().__delattr__(name)
        self._parts.pop(name, None)

    def __getattr__(self, name):  # asked only for what does not exist
        """Say what is missing: AttributeError."""
        kind = type(self).__name__
        if "_parts" not in vars(self):
            raise AttributeError(f"{kind}.__init__ must call super().__init__() first ({name})")
        raise AttributeError(f"{kind} has no attribute {name!r}")

    def _register(self, name, part):
        """Make `part` belong to self. ValueError: a dot in the name, a Module containing self."""
        if not name or "." in name:
            raise ValueError(f"a part's name is not empty and has no dot, unlike {name!r}")
        if isinstance(part, Module) and any(inner is self for inner in part.modules()):
            raise ValueError(f"{name} contains the {type(self).__name__} that is to contain it")
        self._parts[name] = part

    def register_buffer(self, name, tensor):
        """Make `tensor` an attribute that is saved with the parameters, but not trained.

        TypeError unless it is a Tensor and no Parameter; ValueError where
        another attribute has the name.
        """
        if not is_buffer(tensor):
            raise TypeError(f"a buffer is a Tensor and no Parameter, unlike {name}")
        if hasattr(self, name) and not is_buffer(self._parts.get(name)):
            raise ValueError(f"{type(self).__name__} has an attribute {name!r} already")
        self._register(name, tensor)
        super().__setattr__(name, tensor)

    # Finding parts: a generator each. What is shared comes once, under its first name.

    def children(self):
        """Yield the modules that belong to self directly, in order of assignment."""
        yield from {id(m): m for m in self._parts.values() if isinstance(m, Module)}.values()

    def named_modules(self, remove_duplicate=True):
        """Yield (name, module): self, whose name is "", then its children, depth first.

        Without `remove_duplicate`, a shared module comes under every name.
        """
        seen, waiting = set(), [("", self)]
        while waiting:
            name, module = waiting.pop()
            if remove_duplicate and id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            parts = reversed(module._parts.items())  # so that the first child is popped first
            waiting += [(dotted(name, n), m) for n, m in parts if isinstance(m, Module)]

    def _named(self, kind):
        """Yield (name, part) for the parts of which `kind(part)` is true."""
        seen = set()
        for prefix, module in self.named_modules():
            for name, part in module._parts.items():
                if kind(part) and id(part) not in seen:
                    seen.add(id(part))
                    yield dotted(prefix, name), part

    def named_parameters(self):
        """Yield (name, Parameter): self's own in order of assignment, then its children's."""
        yield from self._named(is_parameter)

    def named_buffers(self):
        """Yield (name, Tensor) in the order of `named_parameters`."""
        yield from self._named(is_buffer)

    def modules(self):
        """Yield what `named_modules` names."""
        yield from (module for _, module in self.named_modules())

    def parameters(self):
        """Yield what `named_parameters` names."""
        yield from (parameter for _, parameter in self.named_parameters())

    def buffers(self):
        """Yield what `named_buffers` names."""
        yield from (buffer for _, buffer in self.named_buffers())

    # Training

    def train(self, mode=True):
        """Set `training` on self and all modules in it; return self."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Leave training: `train(False)`; return self."""
        return self.train(False)

    def zero_grad(self):
        """Forget the gradients of all parameters: they are None."""
        for parameter in self.parameters():
            parameter.grad = None

    # Saving

    def _saved(self):
        """Return a dict name: Tensor of what a state holds; a shared one under every name."""
        return {
            dotted(prefix, name): part
            for prefix, module in self.named_modules(remove_duplicate=False)
            for kind in (is_parameter, is_buffer)
            for name, part in module._parts.items()
            if kind(part)
        }

    def state_dict(self):
        """Return a dict name: array of all parameters and buffers, copied.

        Module by module: its own parameters, its own buffers, then its children.
        What is shared comes under every name.
        """
        return {name: tensor.data.copy() for name, tensor in self._saved().items()}

    def load_state_dict(self, state, strict=True):
        """Copy the arrays of `state` into the parameters and buffers, which stay the same objects.

        ValueError that lists what does not fit, before anything is changed: wrong
        shapes, and, where `strict`, names that are missing or unexpected.
        """
        own, new = self._saved(), {name: array_of(value) for name, value in state.items()}
        wrong = []
        if strict:
            wrong += [f"{name} is missing" for name in own if name not in new]
            wrong += [f"{name} is unexpected" for name in new if name not in own]
        both = [name for name in own if name in new]
        for name in both:
            if new[name].shape != own[name].shape or new[name].dtype.kind not in "biuf":
                found = f"{new[name].dtype} of shape {new[name].shape}"
                wrong.append(f"{name} is {found}, not numbers of shape {own[name].shape}")
        if wrong:
            raise ValueError("cannot load this state: " + "; ".join(wrong))
        for name in both:
            own[name].data[...] = new[name]

    # Calling

    def forward(self, *inputs):
        """Return the output; a subclass says how. TypeError here: there is nothing to compute."""
        raise TypeError(f"{type(self).__name__} cannot be called: it defines no forward(self, ...)")

    def __call__(self, *inputs, **options):
        """Return what `forward` returns, or what the hooks made of it."""
        output = self.forward(*inputs, **options)
        for hook in list(self._hooks.values()):
            changed = hook(self, inputs, output)
            output = output if changed is None else changed
        return output

    def register_forward_hook(self, hook):
        """Call `hook(module, inputs, output)` after every `forward`; return a Handle.

        What it returns, unless None, takes the output's place. `inputs` is a tuple.
        """
        handle = Handle(self._hooks)
        self._hooks[handle] = hook
        return handle

    def __repr__(self):
        """Return a line per module, indented by depth, with the shapes of its own parameters."""
        lines = []
        for name, module in self.named_modules(remove_duplicate=False):
            own = {n: p.shape for n, p in module._parts.items() if is_parameter(p)}
            line = f"{type(module).__name__}({', '.join(f'{n} {s}' for n, s in own.items())})"
            depth, last = name.count(".") + bool(name), name.rpartition(".")[2]
            lines.append("  " * depth + (f"{last}: " if last else "") + line)
        return "\n".join(lines)


class Handle:
    """Holds on to a hook: `remove()` takes it off; a second time, nothing happens."""

    def __init__(self, hooks):
        self.hooks = hooks

    def remove(self):
        """Take the hook off."""
        self.hooks.pop(self, None)


class ModuleList(Module):
    """A list whose modules belong to it, named "0", "1", ..."""

    def __init__(self, modules=()):
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module):
        """Add a module at the end; return self."""
        self._register(str(len(self)), checked(module))
        return self

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(list(self._parts.values()))

    def __getitem__(self, index):
        """Return the module at `index`, from the end if negative; for a slice, a ModuleList."""
        chosen = list(self)[index]
        return ModuleList(chosen) if isinstance(index, slice) else chosen

    def __setitem__(self, index, module):
        """Put a module in the place of the one at `index`."""
        self._register(str(range(len(self))[index]), checked(module))


class ModuleDict(Module):
    """A dict whose modules belong to it, named by their keys, which are strings."""

    def __init__(self, modules=()):
        super().__init__()
        for key, module in dict(modules).items():
            self[key] = module

    def __setitem__(self, key, module):
        """Put a module in under `key`, a string, or in the place of the one that is there."""
        self._register(key, checked(module))

    def __getitem__(self, key):
        return self._parts[key]

    def __delitem__(self, key):
        del self._parts[key]

    def __contains__(self, key):
        return key in self._parts

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(self.keys())

    def keys(self):
        """Return the keys, in order."""
        return self._parts.keys()

    def values(self):
        """Return the modules, in order."""
        return self._parts.values()

    def items(self):
        """Return (key, module) pairs, in order."""
        return self._parts.items()


class Sequential(ModuleList):
    """Modules in a row: each reads what the one before returned."""

    def __init__(self, *modules):
        super().__init__(modules)

    def __getitem__(self, index):
        """Return the module at `index`; for a slice, a Sequential."""
        chosen = super().__getitem__(index)
        return Sequential(*chosen) if isinstance(index, slice) else chosen

    def forward(self, x):
        """Return x after every module; without modules, x itself."""
        for module in self:
            x = module(x)
        return x


class Residual(Module):
    """x + module(x): the gradient reaches x past the module as well as through it.

    He et al., Deep Residual Learning for Image Recognition (2015), section 3.2.
    """

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        """Return x + module(x)."""
        return x + self.module(x)


def is_parameter(part):
    """Say whether `part` is trained."""
    return isinstance(part, Parameter)


def is_buffer(part):
    """Say whether `part` is saved, but not trained."""
    return isinstance(part, Tensor) and not isinstance(part, Parameter)


def dotted(prefix, name):
    """Return the name of a part of the module that is called `prefix`; self is called ""."""
    return f"{prefix}.{name}" if prefix else name


def checked(module):
    """Return `module`; TypeError if it is no Module."""
    if not isinstance(module, Module):
        raise TypeError(f"only Modules can be held here, not {type(module).__name__}")
    return module
