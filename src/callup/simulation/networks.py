"""Convolutional networks of the papers, made to measure; torch is imported when one is made."""

from __future__ import annotations

from typing import Any, Literal

Norm = Literal["none", "batch"]
_VGG11 = (1, 0, 2, 0, 4, 4, 0, 8, 8, 0, 8, 8, 0)
"""Filters of each layer in units of the first layer's; 0 is pooling (Simonyan and Zisserman, configuration A)."""


def blocks(channels: int, side: int, filters: tuple[int, ...] = (16, 32), classes: int = 10) -> Any:
    """Blocks of 5 x 5 convolution, batch norm, ReLU and pooling, then one linear layer; FedEMD's network has two."""
    from torch import nn

    parts: list[Any] = []
    for many in filters:
        parts += [nn.Conv2d(channels, many, kernel_size=5, padding=2), nn.BatchNorm2d(many), nn.ReLU(), nn.MaxPool2d(2)]
        channels, side = many, side // 2
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * side * side, classes))


def vgg11(width: int = 64, norm: Norm = "none", classes: int = 10) -> Any:
    """Eight layers of 3 x 3 filters, then three linear ones, for 32 x 32 pixels; width is the first layer's filters."""
    from torch import nn

    parts: list[Any] = []
    channels = 3
    for times in _VGG11:
        if times == 0:
            parts.append(nn.MaxPool2d(2))
            continue
        many = times * width
        # A normalised layer has a shift of its own.
        parts.append(nn.Conv2d(channels, many, kernel_size=3, padding=1, bias=norm == "none"))
        if norm == "batch":
            parts.append(nn.BatchNorm2d(many))
        parts.append(nn.ReLU())
        channels = many
    head = [nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels), nn.ReLU()]
    net = nn.Sequential(*parts, nn.Flatten(), *head, nn.Linear(channels, classes))
    for layer in net:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            # Torch's own first weights shrink the signal in every layer, and eleven of them let nothing through.
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net
