from .layers import GRU, LSTM, RNN  # noqa: F401
