"""Who computes label statistics and who sees them. Selection knows nothing of this, and this nothing of selection."""

from callup.privacy.modes import LABELS, Mode, parse_mode
from callup.privacy.provide import provide

__all__ = ["LABELS", "Mode", "parse_mode", "provide"]
