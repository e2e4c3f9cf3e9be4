"""Numbers as the tournament's tables show them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from callup.analytics.student import Gap
from callup.experiments.metrics import Measured

NONE = "–"


def points(gap: Gap | None) -> str:
    """In points; an interval only where there is one."""
    if gap is None:
        return NONE
    ends = f" [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
    return f"{100 * gap.mean:+.1f}" + (ends if math.isfinite(gap.low) else "")


def ratio(relative: Gap | None) -> str:
    """A relative difference as a ratio: 0.1 more is 1.10."""
    if relative is None:
        return NONE
    if math.isinf(relative.mean):
        return "not in every seed"
    ends = f" [{1 + relative.low:.2f}, {1 + relative.high:.2f}]"
    return f"{1 + relative.mean:.2f}" + (ends if math.isfinite(relative.high) else "")


def value(measured: Measured, scale: float, form: str) -> str:
    return NONE if measured.value is None else f"{scale * measured.value:{form}}"


def percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.0%}".replace("%", " %")


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def by_reason(reasons: Mapping[str, str]) -> str:
    """Names that have the same reason together: `all, random: a reference; oort: too dear`."""
    together: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        together.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in together.items())


def after_first_line(text: str | None) -> str:
    return (text or "").partition("\n\n")[2].strip()
