from functools import partial

import torch
from torch.nn import init

from .module import draws


def filled(fill, kaiming, parameter, gain=None, fan="in", *, generator):
    options = {"mode": f"fan_{fan}", "nonlinearity": "linear"} if kaiming else {}
    fill(parameter.t, **options, generator=draws(generator)).data.mul_(gain or (2**0.5 if kaiming else 1))
    return parameter

fan_in_and_out = lambda shape: init._calculate_fan_in_and_fan_out(torch.empty(shape))
xavier_uniform, xavier_normal = (partial(filled, f, False) for f in (init.xavier_uniform_, init.xavier_normal_))
kaiming_uniform, kaiming_normal = (partial(filled, f, True) for f in (init.kaiming_uniform_, init.kaiming_normal_))
