"""Every runtime asks methods through here, so a broken one is stopped before the wrong clients train or count."""

from __future__ import annotations

import numpy as np

from callup.core.errors import ContractError, InputError
from callup.core.index import Index
from callup.core.selector import Filter, Selector, Workbench
from callup.core.types import Replies, Round, Selection, check_k


def check_size(selector: Selector, clients: int) -> None:
    """Refuses a federation larger than the method is made for; runtimes ask before `start`."""
    limit = selector.max_clients
    if limit is not None and clients > limit:
        card = selector.card
        wider = [name for name, values in card.presets.items() if type(selector)(**values).max_clients is None]
        instead = f"; use {card.name}:{wider[0]}" if wider else ""
        raise InputError(f"{card.name} is made for up to {limit:,} clients, this federation has {clients:,}{instead}")


def ask(selector: Selector, now: Round, k: int) -> Selection:
    """The selector's choice, checked: the right number of distinct, available clients."""
    card = selector.card
    k = check_k(k)
    check_size(selector, len(now.clients))
    if len(now.available) == 0:
        return Selection(np.empty(0, np.int64))
    selection = selector.select(now, k)
    _, here = Index(now.available).find(selection.ids)
    strangers = selection.ids[~here]
    if len(strangers):
        raise ContractError(f"{card.name} chose client {strangers[0]}, which is not available in round {now.index}")
    most = len(now.available) if card.takes_everyone else min(k, len(now.available))
    least = 1 if card.with_replacement else most
    if not least <= len(selection.ids) <= most:
        raise ContractError(f"{card.name} chose {len(selection.ids)} clients in round {now.index}, expected {most}")
    return selection


def kept(rule: Filter, replies: Replies, bench: Workbench) -> np.ndarray:
    """The filter's choice, checked: one truth value for each reply."""
    mask = np.asarray(rule.keep(replies, bench))
    if mask.shape != (len(replies.ids),) or mask.dtype != np.bool_:
        raise ContractError(
            f"{type(rule).__name__}.keep must return {len(replies.ids)} truth values, got {mask.dtype} of {mask.shape}"
        )
    return mask
