from torch import nn

from .functional import conv2d, dropout  # noqa: F401
from .module import Layer, Module, layer, ours

SAME = "ReLU LeakyReLU Tanh Sigmoid GELU SiLU Softplus Linear Embedding Flatten LayerNorm BatchNorm1d BatchNorm2d Conv2d MaxPool2d AvgPool2d"
globals().update({name: layer(getattr(nn, name)) for name in SAME.split()})
RMSNorm = layer(nn.RMSNorm, eps=1e-6)
Softmax = lambda axis=-1: layer(nn.Softmax)(axis)

class Dropout(Module):
    def __init__(self, p=0.5, *, generator):
        super().__init__()
        self.forward = lambda x: dropout(x, p, self.training, generator=generator)

each = lambda f, state: tuple(map(f, state)) if isinstance(state, tuple) else f(state)

class Recurrent(Layer):
    def __init__(self, *sizes, generator):
        super().__init__(*sizes, generator=generator)
        self._parameters = {name.removesuffix("_l0"): x for name, x in self._parameters.items()}
    def forward(self, x, *state):  # torch's has an axis of layers in front
        outputs, end = self.layer(x.t, *(each(lambda s: s.t[None], s) for s in state))
        return ours(outputs), each(lambda s: ours(s[0]), end)

RNN, LSTM, GRU = (layer(kind, Recurrent, batch_first=True) for kind in (nn.RNN, nn.LSTM, nn.GRU))
