from .layers import BatchNorm1d, LayerNorm, RMSNorm  # noqa: F401
