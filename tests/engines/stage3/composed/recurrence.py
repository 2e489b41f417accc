"""Recurrent layers, each step by itself."""

import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, stack

from .layers import uniform
from .module import Module


class Recurrent(Module):
    gates = 1

    def __init__(self, input_size, hidden_size, *, generator):
        super().__init__()
        self.hidden_size = hidden_size
        rows, bound = self.gates * hidden_size, 1 / math.sqrt(max(hidden_size, 1))
        self.bias_hh = uniform((rows,), bound, generator)
        self.bias_ih = uniform((rows,), bound, generator)
        self.weight_hh = uniform((rows, hidden_size), bound, generator)
        self.weight_ih = uniform((rows, input_size), bound, generator)

    def forward(self, x, state=None):
        if x.ndim != 3 or x.shape[1] < 1:
            raise ValueError("sequences are (B, T, D)")
        state = self.start(x) if state is None else state
        shown = []
        for t in range(x.shape[1]):
            seen = x[:, t] @ self.weight_ih.T + self.bias_ih
            state = self.step(seen, state)
            shown.append(self.shown(state))
        return stack(shown, 1), state

    def start(self, x):
        return Tensor(np.zeros((x.shape[0], self.hidden_size), x.dtype))

    def shown(self, state):
        return state

    def recalled(self, h):
        return h @ self.weight_hh.T + self.bias_hh

    def parts(self, x):
        n = self.hidden_size
        return [x[:, i * n : i * n + n] for i in range(self.gates)]


class RNN(Recurrent):
    def step(self, seen, h):
        return (seen + self.recalled(h)).tanh()


class LSTM(Recurrent):
    gates = 4

    def start(self, x):
        return super().start(x), super().start(x)

    def shown(self, state):
        return state[0]

    def step(self, seen, state):
        h, c = state
        let_in, keep, news, show = self.parts(seen + self.recalled(h))
        c = c * keep.sigmoid() + news.tanh() * let_in.sigmoid()
        return c.tanh() * show.sigmoid(), c


class GRU(Recurrent):
    gates = 3

    def step(self, seen, h):
        (seen_r, seen_z, seen_n), (old_r, old_z, old_n) = self.parts(seen), self.parts(self.recalled(h))
        recall, keep = (seen_r + old_r).sigmoid(), (seen_z + old_z).sigmoid()
        return (1 - keep) * (seen_n + recall * old_n).tanh() + keep * h
