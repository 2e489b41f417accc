import torch.nn.functional as F

from solutions.stage2_tensor.tensor import unwrap, wrap

from .module import draws


def function(f):
    return lambda *xs, **options: wrap(f(*map(unwrap, xs), **{k: unwrap(x) for k, x in options.items()}))

SAME = "leaky_relu gelu silu softplus conv2d cross_entropy mse_loss l1_loss binary_cross_entropy_with_logits"
globals().update({name: function(getattr(F, name)) for name in SAME.split()})
softmax, log_softmax = (lambda x, axis=-1, f=f: wrap(f(x.t, axis)) for f in (F.softmax, F.log_softmax))
logsumexp = lambda x, axis=-1, keepdims=False: wrap(x.t.logsumexp(axis, keepdims))

def dropout(x, p, training, *, generator):
    draws(generator)
    return wrap(F.dropout(x.t, p, training))
