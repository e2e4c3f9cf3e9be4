"""The first half of a round: who may be chosen, whom the selector names, and the strategy's messages to them."""

from __future__ import annotations

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from callup.core.errors import CallupError, ContractError
from callup.core.randomness import stream
from callup.core.types import Round
from callup.flower import wire
from callup.flower.called import Called
from callup.flower.crew import Muster
from callup.flower.models import flat
from callup.flower.probing import Prober
from callup.flower.session import Session
from callup.flower.shown import ShownGrid, all_of

_AT_SERVER = {"duration", "update"}  # facts of a reply that no client sends


def call(session: Session, index: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Called:
    """Chooses and writes the messages; nothing has been sent for training yet."""
    least = session.least()
    muster = session.crew.muster(grid, least)
    if muster is None:
        online = len(list(grid.get_node_ids()))
        raise CallupError(
            f"no node can be asked: {online} are connected and {least} are wanted after {session.options.wait:g} s; "
            f"start SuperNodes, or set wait= to more seconds"
        )
    session.begin(muster, index)
    called = _choose(session, muster, index, arrays, grid)
    if called.nodes:
        called.outgoing = _addressed(session, called, index, arrays, config, grid)
    for message in called.outgoing:
        message.metadata.ttl = session.options.lifetime
        if called.wanted:
            note = ConfigRecord({wire.WANT: list(called.wanted), wire.SERVER_ROUND: index})
            message.content = RecordDict({**message.content, wire.KEY: note})
    return called


def _choose(session: Session, muster: Muster, index: int, arrays: ArrayRecord, grid: Grid) -> Called:
    options, roster, asks = session.options, session.crew.known.roster, session.crew.asks or []
    prober = Prober(grid, roster, arrays, asks, index, options.deadline, session.watch.heard)
    number = session.how_many()
    out = session.watch.out(index, muster.available)
    online = np.array([client for client in muster.available if client not in out], np.int64)
    admitted = session.watch.admit(index, online, number)
    visible = muster.clients if session.visible is None else session.visible
    now = Round(index, admitted, visible, stream(options.seed, "select", index), prober.ask)
    selection = session.watch.ask(session.selector, now, number, online)
    wanted = [a.signal.name for a in asks if a.time == "reply" and a.signal.name not in _AT_SERVER]
    if session.judge.needs_steps and "local_steps" not in wanted:
        wanted.append("local_steps")
    return Called(
        now=now,
        everything=muster.everything,
        online=online,
        selection=selection,
        asked_for=number,
        needed=len(selection.ids) if session.selector.card.takes_everyone else min(options.k, len(selection.ids)),
        nodes={roster.node(int(client)): int(client) for client in selection.ids},
        start=arrays,
        vector=np.empty(0, np.float32) if session.trees else flat(arrays),
        wanted=wanted,
        models=session.models,
        keep_models=session.keeps_models(),
        probed=prober.heard,
    )


def _addressed(
    session: Session, called: Called, index: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
) -> list[Message]:
    """The strategy's own messages to the chosen nodes, and to them alone."""
    strategy, nodes = session.strategy, list(called.nodes)
    with all_of(strategy, len(nodes)):
        messages = list(strategy.configure_train(index, arrays, config, ShownGrid(grid, nodes)))
    addressed = [message.metadata.dst_node_id for message in messages]
    if sorted(addressed) != sorted(nodes):
        raise ContractError(
            f"{type(strategy).__name__} addressed {len(addressed)} nodes, {session.selector.card.name} chose "
            f"{len(nodes)}: a strategy that samples by itself cannot be combined with a selector"
        )
    return sorted(messages, key=lambda message: nodes.index(message.metadata.dst_node_id))
