"""torch.nn.Module registers torch's tensors; each remembers, as `ours`, the one Tensor around it."""
import torch
from torch import nn

from solutions.stage2_tensor.tensor import Tensor, unwrap, wrap

Tensor.data = Tensor.data.setter(lambda self, array: setattr(self.t, "data", torch.tensor(array)))
Tensor.grad = Tensor.grad.setter(lambda self, grad: setattr(self.t, "grad", grad))

class Parameter(Tensor):
    def __init__(self, data):
        super().__init__(data.data if isinstance(data, Tensor) else data)
        self.t = nn.Parameter(self.t)
        self.t.ours = self

def ours(x):
    if isinstance(x, torch.Tensor) and not hasattr(x, "ours"):  # a buffer, or made by torch's layer
        x.ours = wrap(x)
        x.ours.__class__ = Parameter if isinstance(x, nn.Parameter) else Tensor
    return x.ours if isinstance(x, torch.Tensor) else x

def listing(of_torch):
    return lambda *args, **options: ((name, ours(x)) for name, x in of_torch(*args, **options))

class Module(nn.Module):
    named_parameters, named_buffers = listing(nn.Module.named_parameters), listing(nn.Module.named_buffers)
    __getattr__ = lambda self, name: ours(nn.Module.__getattr__(self, name))
    register_buffer = lambda self, name, x, *more: nn.Module.register_buffer(self, name, unwrap(x), *more)
    load_state_dict = lambda self, state, strict=True: nn.Module.load_state_dict(
        self, {name: torch.tensor(x) for name, x in state.items()}, strict)
    def __setattr__(self, name, x):
        is_part = isinstance(x, Parameter) or (isinstance(x, Tensor) and name in vars(self).get("_buffers", ()))
        super().__setattr__(name, x.t if is_part else x)

    def state_dict(self, **options):
        found = super().state_dict(**options)  # calls that of the children, with options
        return found if options else {name: x.numpy().copy() for name, x in found.items()}

HOLDERS = nn.ModuleList, nn.ModuleDict, nn.Sequential
ModuleList, ModuleDict, Sequential = (type(holder.__name__, (Module, holder), {}) for holder in HOLDERS)

class Residual(Sequential):
    forward = lambda self, x: x + nn.Sequential.forward(self, x)

draws = lambda generator: torch.manual_seed(int(generator.integers(2**63)))

class Layer(Module):  # a layer of torch's computes, with the parameters that are registered here
    def __init__(self, *args, generator=None, **options):
        super().__init__()
        _ = generator and draws(generator)
        vars(self)["layer"] = layer = self.kind(*args, **self.defaults | options)
        self._parameters, self._buffers = layer._parameters, layer._buffers
    def forward(self, x):
        return wrap(self.layer.train(self.training)(unwrap(x)))

def layer(kind, base=Layer, **defaults):
    return type(kind.__name__, (base,), {"kind": kind, "defaults": defaults})
