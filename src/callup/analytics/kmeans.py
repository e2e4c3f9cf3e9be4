"""k-means: rows that are alike share a centre. The same rows and generator give the same groups on every machine."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from callup.core.errors import InputError

_BLOCK = 1 << 18  # distances at a time: 2 MB
_SAMPLE = 64  # rows for each centre are enough to place it


class Groups(NamedTuple):
    """Which group each row is in, and the centre of each group; no group is empty."""

    labels: np.ndarray
    centres: np.ndarray


class Rows(Protocol):
    """A table of numbers, or whatever can hand out parts of one."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray | slice, /) -> np.ndarray: ...


def kmeans(rows: Rows, groups: int, rng: np.random.Generator, iterations: int = 25) -> Groups:
    """Lloyd's rounds from the seeds of k-means++ (Arthur and Vassilvitskii, SODA 2007).

    Fewer groups come back when there are fewer different rows. With more than 64 rows for each group, the centres are
    found on a random sample; then every row joins the nearest. Rows are rounded to about 20 bits of the largest
    entry, and then all sums are exact: nothing hangs on the order in which a processor adds.
    """
    largest = _largest(rows) if len(rows.shape) == 2 and len(rows) else np.nan
    if not np.isfinite(largest):
        raise InputError(f"k-means needs a table of finite numbers with at least one row, got shape {rows.shape}")
    if groups < 1:
        raise InputError(f"k-means needs at least one group, got {groups}")
    unit = _unit(largest, rows.shape[1])
    sampled = len(rows) > _SAMPLE * groups
    chosen = np.sort(rng.choice(len(rows), _SAMPLE * groups, replace=False)) if sampled else slice(None)
    part = np.rint(rows[chosen] / unit)
    centres = _seeds(part, groups, rng)
    if len(centres) < min(groups, len(rows)) and sampled:
        part = np.rint(rows[:] / unit)  # the sample held too few different rows
        centres = _seeds(part, groups, rng)
    for _ in range(iterations):
        moved = _means(part, _assigned(part, centres))
        if np.array_equal(moved, centres):
            break
        centres = moved
    used, labels = np.unique(_assigned(rows, centres, unit), return_inverse=True)
    return Groups(labels, centres[used] * unit)


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The centre nearest to each row, by Euclidean distance."""
    unit = _unit(max(_largest(rows), _largest(centres)), rows.shape[1])
    return _distances(rows, np.rint(centres / unit), unit)[0]


def _largest(rows: Rows) -> float:
    """Of all entries, without their signs; not finite when one of them is not."""
    step = max(1, _BLOCK // max(rows.shape[1], 1))
    blocks = (rows[at : at + step] for at in range(0, len(rows), step))
    return float(np.max([np.abs(block).max(initial=0.0) for block in blocks], initial=0.0))


def _unit(largest: float, columns: int) -> float:
    """A power of two such that in multiples of it squared distances are whole numbers below 2^53."""
    bits = min(20, (50 - int(np.ceil(np.log2(columns + 1)))) // 2)
    _, exponent = np.frexp(largest)
    return float(np.ldexp(1.0, max(int(exponent) - bits, -1000)))  # of the tiniest numbers none is left


def _seeds(rows: np.ndarray, groups: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: each next centre is a row drawn in proportion to its squared distance from those there are."""
    chosen = [int(rng.integers(len(rows)))]
    squares = np.square(rows).sum(axis=1)
    apart = np.full(len(rows), np.inf)
    while len(chosen) < groups:
        last = rows[chosen[-1]]
        np.minimum(apart, squares - 2 * (rows @ last) + last @ last, out=apart)
        reach = np.cumsum(apart)
        if reach[-1] == 0:
            break
        chosen.append(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")))
    return np.asarray(rows[chosen])


def _assigned(rows: Rows, centres: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """The nearest centre of each row; a centre that nobody is near takes the row that is farthest from its own."""
    labels, apart = _distances(rows, centres, unit)
    sizes = np.bincount(labels, minlength=len(centres))
    for empty in np.flatnonzero(sizes == 0):
        row = int(np.where(sizes[labels] > 1, apart, 0).argmax())
        if apart[row] > 0 and sizes[labels[row]] > 1:
            sizes[labels[row]] -= 1
            sizes[empty], labels[row], apart[row] = 1, empty, 0
    return labels


def _distances(rows: Rows, centres: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """The nearest centre of each row and the squared distance to it, in whole units, a block of rows at a time."""
    labels, apart = np.empty(len(rows), np.intp), np.empty(len(rows))
    own, twice = np.square(centres).sum(axis=1), (-2 * centres).T
    step = max(1, _BLOCK // len(centres))
    room = np.empty((min(step, len(rows)), len(centres)))
    for at in range(0, len(rows), step):
        block = np.rint(rows[at : at + step] / unit)
        # |row - centre|^2 without |row|^2, which is the same for every centre.
        relative = np.matmul(block, twice, out=room[: len(block)])
        relative += own
        best = relative.argmin(axis=1)
        labels[at : at + step] = best
        apart[at : at + step] = relative[np.arange(len(block)), best] + np.square(block).sum(axis=1)
    return labels, apart


def _means(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean row of each group that has rows, rounded to whole units."""
    order = np.argsort(labels, kind="stable")
    _, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(rows[order], starts)
    sizes = np.diff(np.append(starts, len(rows)))
    return np.asarray(np.rint(sums / sizes[:, None]))
