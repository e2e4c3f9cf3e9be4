"""Evaluation by clients: drawn by the seed among nodes that are idle, never waiting for more; bad answers set aside."""

from __future__ import annotations

from collections.abc import Iterable
from logging import WARNING

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common import log
from flwr.serverapp import Grid

from callup.core.randomness import stream
from callup.flower.bad_reply import BadReply
from callup.flower.forms import bring_into_form
from callup.flower.replies import Checks
from callup.flower.session import Session
from callup.flower.shown import ShownGrid, all_of, setting


def ask_to_evaluate(
    session: Session, index: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
) -> list[Message]:
    """As many as the strategy is set to, of those who can."""
    fraction = float(setting(session.strategy, "fraction_evaluate", 1.0))
    if fraction == 0:
        return []
    crew, roster = session.crew, session.crew.known.roster
    busy = crew.busy.nodes(grid)
    known = {roster.client(node): node for node in grid.get_node_ids() if node not in busy}
    idle = {client: node for client, node in known.items() if client is not None and crew.allowed(client)}
    out = session.watch.out(index, np.array(sorted(idle), np.int64))
    ready = {client: node for client, node in idle.items() if client not in out}
    least = int(setting(session.strategy, "min_evaluate_nodes", 1))
    number = min(len(ready), max(int(len(ready) * fraction), least))
    if number == 0:
        return []
    order = stream(session.options.seed, "evaluate", index).permutation(sorted(ready))
    nodes = [ready[int(client)] for client in order[:number]]
    with all_of(session.strategy, number):
        messages = list(session.strategy.configure_evaluate(index, arrays, config, ShownGrid(grid, nodes)))
    for message in messages:
        message.metadata.ttl = session.options.lifetime
    return sorted(messages, key=lambda message: nodes.index(message.metadata.dst_node_id))


def evaluated(session: Session, index: int, replies: Iterable[Message]) -> MetricRecord | None:
    """The strategy's own summary of the answers that can be used."""
    checks = Checks(session.checks.weight_key)
    good: dict[str, Message] = {}
    for reply in replies:
        try:
            content = checks.content(reply)
            checks.examples(checks.metrics(content), None)
            good.setdefault(reply.metadata.reply_to_message_id, reply)
        except BadReply as bad:
            log(WARNING, "callup: an evaluation is set aside: %s", bad.reason)
    replies_by_number = dict(enumerate(good.values()))
    odd = bring_into_form(replies_by_number, None)
    alike = [reply for number, reply in replies_by_number.items() if number not in odd]
    return session.strategy.aggregate_evaluate(index, alike) if alike else None
