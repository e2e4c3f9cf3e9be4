"""Label statistics for a simulated federation, protected as a mode says: what a selector's profile may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import MissingSignal
from callup.privacy.fhe import PaperClient, PaperSelector, PaperServer
from callup.privacy.field import CAP
from callup.privacy.keyholder import Keyholder
from callup.privacy.modes import LABELS, Mode, parse_mode
from callup.privacy.multiplier import Multiplier
from callup.privacy.sharing import split
from callup.privacy.simulated import simulated_release


def provide(mode: str | Mode, clients: Clients, names: Iterable[str], seed: int) -> dict[str, np.ndarray]:
    """These columns as a selector may see them under the mode; columns that hold no label statistics are as they are.

    All parties run in this process and the protocol is the real one, but for the noise: it comes from the seed, so
    that a run can be repeated. With one seed `dp` and `shared+dp` have the same noise.
    """
    settled = mode if isinstance(mode, Mode) else parse_mode(mode)
    wanted = sorted(set(names))
    refused = [name for name in wanted if name in LABELS and name not in settled.offers]
    if refused:
        raise MissingSignal(f"privacy mode '{settled.name}' does not give {refused[0]}; it gives {settled.offers[0]}")
    columns = {name: clients.all(name) for name in wanted if name not in LABELS}
    statistics = [name for name in wanted if name in LABELS]
    if statistics:
        counts = clients.all("label_counts")
        if settled.epsilon is not None:
            counts = simulated_release(clients, settled.epsilon, seed)
        columns |= _statistics(settled, clients.ids, counts, statistics)
    return columns


def _statistics(mode: Mode, ids: np.ndarray, counts: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    if mode.protection == "plain":
        made: dict[str, Callable[[], np.ndarray]] = {
            "label_counts": lambda: counts,
            "label_gram": lambda: counts @ counts.T,
            "global_counts": lambda: counts.sum(axis=0),
        }
        return {name: made[name]() for name in names}
    if mode.protection == "fhe":
        return {"label_gram": encrypted_gram(ids, counts, mode.minimum)}
    selector, server = share_out(ids, counts, mode.minimum)
    found: dict[str, np.ndarray] = {}
    if "label_gram" in names:
        found["label_gram"] = selector.gram(server.tiles(selector.encrypted_shares(server.present())))[1]
    if "global_counts" in names:
        found["global_counts"] = selector.global_counts(server.sum_of_shares())
    return found


def share_out(ids: np.ndarray, counts: np.ndarray, minimum: int) -> tuple[Keyholder, Multiplier]:
    """A selector and a server that have everyone's shares."""
    # Sizes are known to all, so whether one prime is enough is no secret.
    wide = bool((counts.sum(axis=1) > CAP).any())
    selector = Keyholder(counts.shape[1], ids, minimum, wide=wide)
    server = Multiplier(selector.invitation())
    for client, row in zip(ids.tolist(), counts, strict=True):
        for_server, for_selector = split(row, client, selector.terms)
        server.shares.take(for_server)
        selector.shares.take(for_selector)
    return selector, server


def encrypted_gram(ids: np.ndarray, counts: np.ndarray, minimum: int) -> np.ndarray:
    """The inner products by the paper's topology."""
    selector = PaperSelector(counts.shape[1], ids, minimum)
    server = PaperServer(selector.invitation())
    for client, row in zip(ids.tolist(), counts, strict=True):
        server.take(PaperClient(client, selector.client_key()).encrypt(row))
    return selector.gram(server.tiles())[1]
