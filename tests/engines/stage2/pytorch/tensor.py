"""PyTorch in the course's clothes: the rules are its own; names, and a few dtypes, are ours."""

import numpy as np
import torch


class Tensor:
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, data, requires_grad=False, dtype=None):
        t = torch.tensor(data)
        if dtype is not None:
            t = t.to(dtype_of(dtype))
        elif t.dtype != torch.bool and not isinstance(data, np.ndarray):
            t = t.float()
        self.t = t.requires_grad_(requires_grad)

    data = property(lambda self: self.t.detach().numpy())
    dtype, shape, size, ndim = (property(lambda self, n=n: getattr(self.data, n)) for n in "dtype shape size ndim".split())
    is_leaf, requires_grad = (property(lambda self, n=n: getattr(self.t, n)) for n in ("is_leaf", "requires_grad"))
    T = property(lambda self: wrap(self.t.permute(*reversed(range(self.ndim)))))
    grad = property(lambda self: self.t.grad.numpy() if self.is_leaf and self.t.grad is not None else None)

    def backward(self, gradient=None, retain_graph=False):
        g = None if gradient is None else torch.as_tensor(unwrap(gradient), dtype=self.t.dtype)
        self.t.backward(g, retain_graph=retain_graph)


def wrap(t):
    """Return a Tensor that holds a torch tensor, and a list of them where torch has several."""
    if isinstance(t, tuple):
        return [wrap(part) for part in t]
    if not isinstance(t, torch.Tensor):
        return t
    out = Tensor.__new__(Tensor)
    out.t = t
    return out


def unwrap(x):
    """Return what torch takes for x: arrays and lists, too, as its tensors."""
    if isinstance(x, tuple) or (isinstance(x, list) and any(isinstance(y, Tensor) for y in x)):
        return tuple(map(unwrap, x))
    if isinstance(x, np.generic):
        return x.item()
    return x.t if isinstance(x, Tensor) else torch.tensor(x) if isinstance(x, np.ndarray | list) else x


def function(torch_function):
    return lambda *args, **options: wrap(torch_function(*map(unwrap, args), **options))


def dtype_of(dtype):
    return getattr(torch, np.dtype(dtype).name)


def floating(t):
    return t if t.is_floating_point() else t.float()


def power(a, b):
    below = not torch.result_type(a, b).is_floating_point and (torch.as_tensor(b) < 0).any()
    return floating(a) ** b if below else a**b


def product(a, b):
    return a.to(torch.result_type(a, b)) @ b.to(torch.result_type(a, b))


def chosen(choose):
    return lambda t, other: choose(t, torch.as_tensor(other, dtype=torch.result_type(t, other)))


def padded(t, widths, value=0.0):
    if len(widths) != t.ndim:
        raise ValueError("pad needs a pair for every axis")
    return torch.nn.functional.pad(t, widths.flip(0).flatten().tolist(), value=value)


def reduction(reduce, prepare=lambda t: t):
    def call(t, axis=None, keepdims=False, **options):
        axis = tuple(range(t.ndim)) if axis is None else axis
        return reduce(prepare(t), dim=axis, keepdim=keepdims, **options)

    return call


SAME = """exp log sqrt sin cos abs tanh sigmoid relu clip squeeze unsqueeze flatten reshape permute swapaxes
    gather masked_fill item numpy detach argmax __repr__ __len__ __bool__ __getitem__ __neg__
    __invert__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __rpow__
    __and__ __or__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__"""
OTHER = {
    "__pow__": power,
    "__matmul__": product,
    "__rmatmul__": lambda a, b: product(b, a),
    "astype": lambda t, dtype: t.to(dtype_of(dtype), copy=True),
    "expand": lambda t, *shape: t.expand(*shape) if shape else t,
    "transpose": lambda t, first=-2, second=-1: t.transpose(first, second),
    "flip": lambda t, axis=None: t.flip(tuple(range(t.ndim)) if axis is None else axis),
    "pad": padded,
    "split": lambda t, sizes, axis=0: t.split(sizes.tolist(), axis),
    "maximum": chosen(torch.maximum),
    "minimum": chosen(torch.minimum),
    "sum": reduction(torch.sum),
    "mean": reduction(torch.mean, floating),
    "var": reduction(torch.var, floating),
    "std": reduction(torch.std, floating),
    "max": reduction(torch.amax),
    "min": reduction(torch.amin),
}
no_grad, where, concat, stack = torch.no_grad, *map(function, (torch.where, torch.cat, torch.stack))
for name, known in ({name: getattr(torch.Tensor, name) for name in SAME.split()} | OTHER).items():
    setattr(Tensor, name, function(known))
