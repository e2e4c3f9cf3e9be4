"""Numbers as people read them."""

from __future__ import annotations

import math

THIN = "\u202f"  # a narrow space that does not break, between a number and its unit
NONE = "–"


def percent(share: float | None, digits: int = 1) -> str:
    return NONE if share is None or not math.isfinite(share) else f"{100 * share:.{digits}f}{THIN}%"


def short_percent(share: float) -> str:
    """A target: no more digits than it needs."""
    return f"{100 * share:.4g}{THIN}%"


def number(value: float | None, digits: int = 1) -> str:
    """Thousands apart; no decimals where there are none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace(",", THIN).replace("-", "−")


def plural(count: float, word: str) -> str:
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"


def shortened(name: str) -> str:
    """A name that fits beside a picture; variants differ at their ends, so the end is kept."""
    return name if len(name) <= 22 else f"{name[:11]}…{name[-10:]}"


def seconds(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return NONE
    if value < 120:
        return f"{number(value, 1 if value < 10 else 0)}{THIN}s"
    if value < 7200:
        return f"{number(value / 60, 1)}{THIN}min"
    return f"{number(value / 3600, 1)}{THIN}h"


def size(count: float | None) -> str:
    """Bytes, in powers of a thousand."""
    if count is None or not math.isfinite(count):
        return NONE
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{number(count, 0 if count >= 100 else 1)}{THIN}{unit}"
        count /= 1000
    return f"{number(count)}{THIN}TB"
