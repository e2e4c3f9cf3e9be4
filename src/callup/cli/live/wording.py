"""Numbers in few characters."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def clock(seconds: float) -> str:
    """`0:07`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def rounds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}".removesuffix(".0")


def bar(share: float, width: int) -> tuple[str, str]:
    """A bar as its full part and the rest, which differ in weight as well as in colour."""
    full = min(int(share * width), width)
    return "━" * full, "─" * (width - full)


def spark(values: Sequence[float], width: int, top: float) -> str:
    """A curve in `width` characters, from 0 to `top`, the last value last."""
    if not values or top <= 0:
        return ""
    picked = [values[round(i * (len(values) - 1) / max(width - 1, 1))] for i in range(width)]
    shown = picked if len(values) >= width else values
    return "".join(_BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] for value in shown)
