import torch

from . import tensor

einsum = tensor.function(torch.einsum)
