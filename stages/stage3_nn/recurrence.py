# Generated from solutions/stage3_nn/recurrence.py. The bodies are yours to write.
"""Recurrent layers: x (B, T, D) is read step by step; a state (B, H) is carried along.

Each returns the states after every step, (B, T, H), and the last state. Names and
order of the gates are PyTorch's, whose documentation states the formulas.
"""

import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, stack

from .layers import drawn
from .module import Module


class Recurrent(Module):
    """What the layers share: parameters, and the loop over time. A subclass writes `step`.

    Attributes:
        weight_ih, weight_hh: Parameters (G H, D) and (G H, H), for G gates.
        bias_ih, bias_hh: Parameters (G H,).
    """

    gates = 1

    def __init__(self, input_size, hidden_size, *, generator):
        """Draw all parameters uniformly from within 1 / sqrt(hidden_size) of 0."""
        super().__init__()
        self.hidden_size = hidden_size
        rows, bound = self.gates * hidden_size, 1 / math.sqrt(max(hidden_size, 1))
        self.weight_ih = drawn((rows, input_size), bound, generator)
        self.weight_hh = drawn((rows, hidden_size), bound, generator)
        self.bias_ih = drawn((rows,), bound, generator)
        self.bias_hh = drawn((rows,), bound, generator)

    def forward(self, x, state=None):
        """Return (outputs, state): the states (B, T, H) and the last one, (B, H).

        `state` is where to begin: zeros unless given. ValueError for T = 0.
        """
        raise NotImplementedError("3.11 Recurrent.forward")

    def first_state(self, batch, dtype):
        """Return zeros (B, H)."""
        return Tensor(np.zeros((batch, self.hidden_size), dtype))

    def output(self, state):
        """Return what a state shows, (B, H)."""
        return state

    def recur(self, h):
        """Return what the last output h (B, H) sends to the gates, (B, G H)."""
        return h @ self.weight_hh.T + self.bias_hh

    def step(self, inputs, state):
        """Return the next state."""
        raise TypeError(f"{type(self).__name__} defines no step(self, inputs, state)")


class RNN(Recurrent):
    """h' = tanh(input + W_hh h + b_hh). Elman, Finding Structure in Time (1990)."""

    def step(self, inputs, h):
        """Return h' (B, H)."""
        raise NotImplementedError("3.11 RNN.step")


class LSTM(Recurrent):
    """Gates i (let in), f (keep), o (show) and news g move a cell c; the state is (h, c).

    Hochreiter and Schmidhuber, Long Short-Term Memory (1997).
    """

    gates = 4

    def first_state(self, batch, dtype):
        """Return zeros twice."""
        zeros = super().first_state(batch, dtype)
        return zeros, zeros

    def output(self, state):
        """Return h."""
        return state[0]

    def step(self, inputs, state):
        """Return the next (h, c), (B, H) each."""
        raise NotImplementedError("3.11 LSTM.step")


class GRU(Recurrent):
    """Gates r (recall) and z (keep): h' = (1 - z) n + z h, where n is the news.

    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014),
    with r after the matrix, as in PyTorch.
    """

    gates = 3

    def step(self, inputs, h):
        """Return h' (B, H)."""
        raise NotImplementedError("3.11 GRU.step")


def steps(x):
    """Return a list of the T steps (B, F) of x (B, T, F).

    Halves of halves: the gradient of a slice is as large as what it was cut from,
    so that T slices of x would cost T times x, and these log2(T) times.
    """
    pieces = [x]
    while len(pieces) < x.shape[1]:
        halves = []
        for piece in pieces:
            length = piece.shape[1]
            cut = length // 2
            halves += piece.split([cut, length - cut], axis=1) if cut else [piece]
        pieces = halves
    return [piece.squeeze(1) for piece in pieces]
