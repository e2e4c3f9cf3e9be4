"""A client's label counts as every mode takes them: whole, not negative, small enough to be exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from callup.core.errors import InputError


def whole_counts(counts: Sequence[float] | np.ndarray, client: int, cap: int | None = None) -> np.ndarray:
    """One row of label counts as int64; what cannot be used is refused, and no message repeats a count.

    cap: the most samples one client may hold, where inner products are kept modulo a number.
    """
    row = np.asarray(counts)
    if row.ndim != 1 or not len(row) or row.dtype.kind not in "biuf":
        raise InputError(f"client {client}: label counts must be one row of numbers, got {row.dtype} of {row.shape}")
    if not np.isfinite(row).all() or (row < 0).any() or (row != np.floor(row)).any() or (row >= 2**53).any():
        raise InputError(f"client {client}: label counts must be whole numbers of at least 0")
    whole = row.astype(np.int64)
    if cap is not None and int(whole.sum()) > cap:
        raise InputError(
            f"client {client} holds more than {cap:,} samples, the most that inner products stay exact for; "
            f"have the selector keep wider numbers, count a sample of the data, or use the mode dp"
        )
    return whole
