"""Which clients step together, and in which form they keep their first layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from callup.simulation.local import LocalTraining

_GROUP_BYTES = 64 * 2**20  # bounds the memory of a group; the time hardly depends on it
_TOGETHER = 5  # clients: more gain nothing, and fewer groups than workers leave some without work
_SMALL = 256  # samples: below, a place left empty costs less than a group more


@dataclass(frozen=True)
class Group:
    """Positions of clients, most samples first, and so most steps first."""

    members: list[int]
    spanned: bool


def group_clients(samples: Sequence[int], local: LocalTraining, largest: int, sizes: tuple[int, ...]) -> list[Group]:
    """Clients of like size and one form; those without samples are in no group."""
    groups: list[Group] = []
    for client in sorted(range(len(samples)), key=lambda i: -samples[i]):
        if samples[client] == 0:
            break
        spanned = spanning_pays(samples[client], local, largest, sizes)
        if not groups or groups[-1].spanned != spanned or _is_full(groups[-1], samples, samples[client], sizes):
            groups.append(Group([], spanned))
        groups[-1].members.append(client)
    return [part for group in groups for part in _parts(group)]


def spanning_pays(samples: int, local: LocalTraining, largest: int, sizes: tuple[int, ...]) -> bool:
    """Whether the spanned form needs fewer multiplications; it cannot be had for samples that change at each visit."""
    if local.augment != "none":
        return False
    features, outputs = sizes[:2]
    visits = local.steps(samples, largest) * min(samples, local.batch)
    direct = 2 * visits * features * outputs  # forward and backward
    ends = 2 * samples * features * outputs  # outputs of the received weights; the weights in the end
    spanned = ends + samples * samples * features / 2 + visits * samples * outputs
    return spanned < direct


def _parts(group: Group) -> list[Group]:
    """Of even size, for several workers; the same ones when there is only one, so that results are."""
    number = math.ceil(len(group.members) / _TOGETHER)
    ends = [len(group.members) * part // number for part in range(number + 1)]
    return [Group(group.members[start:end], group.spanned) for start, end in pairwise(ends)]


def _is_full(group: Group, samples: Sequence[int], newcomer: int, sizes: tuple[int, ...]) -> bool:
    most = samples[group.members[0]]
    each = 4 * (most + 1) * (most + sizes[1]) if group.spanned else 8 * sizes[0] * sizes[1]
    crowded = (len(group.members) + 1) * each > _GROUP_BYTES
    return crowded or (group.spanned and most > max(2 * newcomer, _SMALL))
