"""What the compiled kernels can train: convolutions with ReLU and pooling of 2 x 2, then linear layers with ReLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.simulation.backends.torch_net import seeded
from callup.simulation.task import Module


@dataclass(frozen=True)
class Filters:
    """One convolution without padding and the pictures it reads."""

    channels: int
    height: int
    width: int
    out: int
    size: int

    @property
    def pooled(self) -> tuple[int, int, int]:
        """Channels, height and width after pooling."""
        return self.out, (self.height - self.size + 1) // 2, (self.width - self.size + 1) // 2


@dataclass(frozen=True)
class Plan:
    """The network in numbers; its flat vector is that of the torch module."""

    convolutions: tuple[Filters, ...]
    sizes: tuple[int, ...]
    """Of the linear layers: features first, classes last."""


def find_plan(model: Module, image: tuple[int, ...]) -> Plan:
    """The plan of a task's model; refused where the kernels do not know it, or cannot be compiled here."""
    with seeded(np.random.default_rng(0)):  # its weights are not used, and torch's own randomness is left alone
        plan = read_plan(model.make(), image)
    if plan is None:
        raise UsageError(
            "backend 'compiled' knows convolutions with ReLU and pooling of 2 x 2, then linear layers with ReLU, and "
            "this model is another; use backend 'torch' or 'auto' for this task"
        )
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise InputError(f"the compiled backend needs numba: pip install callup[fast] ({error})") from error
    return plan


def read_plan(module: Any, image: tuple[int, ...]) -> Plan | None:
    """The plan of a torch module that takes images of this shape; None where it has anything else in it."""
    from torch import nn

    parts: list[Any] = list(module) if type(module) is nn.Sequential else []
    kinds = [type(part) for part in parts]
    depth = 0
    while kinds[3 * depth : 3 * depth + 3] == [nn.Conv2d, nn.ReLU, nn.MaxPool2d]:
        depth += 1
    flatten, linear = parts[3 * depth : 3 * depth + 1], parts[3 * depth + 1 :: 2]
    head = [nn.Flatten, *[nn.Linear, nn.ReLU] * len(linear)][:-1]
    plain = map(_is_plain, parts[0 : 3 * depth : 3], parts[2 : 3 * depth : 3])
    if not depth or not linear or kinds[3 * depth :] != head or not all(plain) or len(image) != 3:
        return None
    if not all(layer.bias is not None for layer in linear) or (flatten[0].start_dim, flatten[0].end_dim) != (1, -1):
        return None
    if not all(parameter.requires_grad for parameter in module.parameters()):
        return None
    convolutions = []
    for part in parts[0 : 3 * depth : 3]:
        convolutions.append(Filters(*image, part.out_channels, part.kernel_size[0]))
        image = convolutions[-1].pooled
    return Plan(tuple(convolutions), (linear[0].in_features, *(layer.out_features for layer in linear)))


def _is_plain(convolution: Any, pool: Any) -> bool:
    """Square, every pixel, no border, all channels together, with biases; pooled two by two."""
    plain = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    pooling = [pool.kernel_size, pool.stride, pool.padding, pool.dilation, pool.ceil_mode, pool.return_indices]
    return (
        all(getattr(convolution, name) == value for name, value in plain.items())
        and convolution.kernel_size[0] == convolution.kernel_size[1]
        and convolution.bias is not None
        and pooling == [2, 2, 0, 1, False, False]
    )
