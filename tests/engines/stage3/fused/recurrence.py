"""Recurrent layers whose step is one node, from x_t and the whole state to the next whole state."""

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, concat, record, stack

from .functional import logistic
from .layers import uniform
from .module import Module


class Recurrent(Module):
    """The state is one Tensor (B, S), of which the first H columns are shown."""

    gates = 1

    def __init__(self, input_size, hidden_size, *, generator):
        super().__init__()
        self.hidden_size = hidden_size
        rows, bound = self.gates * hidden_size, max(hidden_size, 1) ** -0.5
        self.weight_ih = uniform((rows, input_size), bound, generator)
        self.weight_hh = uniform((rows, hidden_size), bound, generator)
        self.bias_ih = uniform((rows,), bound, generator)
        self.bias_hh = uniform((rows,), bound, generator)

    def forward(self, x, state=None):
        if x.ndim != 3 or x.shape[1] == 0:
            raise ValueError("sequences (B, T, D), please, with T > 0")
        state = self.packed(state, x)
        shown = []
        for t in range(x.shape[1]):
            state = self.node(x[:, t, :], state)
            shown.append(state[:, : self.hidden_size])
        return stack(shown, axis=1), self.unpacked(state)

    def packed(self, state, x):
        return Tensor(np.zeros((len(x), self.hidden_size), x.dtype)) if state is None else state

    def unpacked(self, state):
        return state

    def node(self, x, state):
        """Return the next state; `step` gives it, and how gradients go back through it."""
        n = self.hidden_size
        parts = (x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        x_, state_, w_ih, w_hh, b_ih, b_hh = (p.data for p in parts)
        seen, recalled = x_ @ w_ih.T + b_ih, state_[:, :n] @ w_hh.T + b_hh
        out, back = self.step(seen, recalled, state_)

        def gradient(g):
            in_seen, in_recalled, in_state = back(g)
            in_state = in_state.copy()
            in_state[:, :n] += in_recalled @ w_hh
            found = (
                in_seen @ w_ih, in_state, in_seen.T @ x_, in_recalled.T @ state_[:, :n],
                in_seen.sum(axis=0), in_recalled.sum(axis=0),
            )  # fmt: skip
            return [f.astype(p.dtype) for f, p in zip(found, parts)]

        return record(out, parts, gradient)


class RNN(Recurrent):
    def step(self, seen, recalled, h):
        out = np.tanh(seen + recalled)

        def back(g):
            inside = g * (1 - out**2)
            return inside, inside, np.zeros_like(g)

        return out, back


class LSTM(Recurrent):
    gates = 4

    def packed(self, state, x):
        if state is None:
            return Tensor(np.zeros((len(x), 2 * self.hidden_size), x.dtype))
        return concat(state, axis=1)

    def unpacked(self, state):
        return state[:, : self.hidden_size], state[:, self.hidden_size :]

    def step(self, seen, recalled, state):
        n = self.hidden_size
        a = seen + recalled
        i, f, o = (logistic(a[:, k * n : k * n + n]) for k in (0, 1, 3))
        news, old = np.tanh(a[:, 2 * n : 3 * n]), state[:, n:]
        c = f * old + i * news
        t = np.tanh(c)

        def back(g):
            in_h, in_c = g[:, :n], g[:, n:]
            in_c = in_c + in_h * o * (1 - t * t)
            slopes = [
                in_c * news * i * (1 - i), in_c * old * f * (1 - f),
                in_c * i * (1 - news * news), in_h * t * o * (1 - o),
            ]  # fmt: skip
            inside = np.hstack(slopes)
            return inside, inside, np.hstack([np.zeros_like(in_h), in_c * f])

        return np.hstack([o * t, c]), back


class GRU(Recurrent):
    gates = 3

    def step(self, seen, recalled, h):
        n = self.hidden_size
        r, z = (logistic(seen[:, s] + recalled[:, s]) for s in (slice(n), slice(n, 2 * n)))
        old = recalled[:, 2 * n :]
        news = np.tanh(seen[:, 2 * n :] + r * old)

        def back(g):
            in_news = g * (1 - z) * (1 - news * news)
            in_z = g * (h - news) * z * (1 - z)
            in_r = in_news * old * r * (1 - r)
            return np.hstack([in_r, in_z, in_news]), np.hstack([in_r, in_z, in_news * r]), g * z

        return (1 - z) * news + z * h, back
