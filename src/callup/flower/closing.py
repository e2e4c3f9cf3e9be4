"""The second half of a round: replies are counted, filtered and averaged, and the selector is told what came of it."""

from __future__ import annotations

from dataclasses import replace
from logging import WARNING

import numpy as np
from flwr.app import ArrayRecord, MetricRecord
from flwr.common import log

from callup.aggregation.blend import moved
from callup.core.randomness import stream
from callup.core.types import Feedback
from callup.flower.called import NO_REPLY, Called, as_replies
from callup.flower.models import flat, shaped
from callup.flower.replies import GoodReply
from callup.flower.session import Session
from callup.flower.story import Story
from callup.flower.watching import tell

Averaged = tuple[ArrayRecord | None, MetricRecord | None]


def close(session: Session, called: Called, story: Story) -> Averaged:
    """The next model and the metrics of training, or nothing when the round was in vain."""
    used = called.close()
    refused = session.watch.inspect(as_replies(used, called.vector), called.everything)
    called.failed |= refused
    used = _with_class_gradients(session, called, [reply for reply in used if reply.client not in refused])
    _account(session, called)
    quorum = session.options.quorum
    if len(used) < quorum:
        story.abandoned = f"{len(used)} good replies, a quorum of {quorum} is needed"
        log(WARNING, "callup: round %d is abandoned: %s", story.index, story.abandoned)
        called.failed |= {reply.client: "round abandoned" for reply in used}
        used = []
    return _learned(session, called, used, story)


def _with_class_gradients(session: Session, called: Called, used: list[GoodReply]) -> list[GoodReply]:
    """Replies with what the server measures of each model on its own, where the selector asked for it."""
    measure = session.judge.class_gradients
    if measure is None or not any(ask.signal.name == "class_gradients" for ask in session.crew.asks or ()):
        return used
    measured = []
    for reply in used:
        assert reply.model is not None  # kept for this
        row = np.ravel(np.asarray(measure(shaped(reply.model, called.start)), np.float64))
        if np.isfinite(row).all() and (row >= 0).all():
            measured.append(replace(reply, signals={**reply.signals, "class_gradients": row}))
        else:
            called.failed[reply.client] = "its class gradients are not finite"
    return measured


def _account(session: Session, called: Called) -> None:
    """Drop-out, and who is still at work."""
    crew = session.crew
    silent = {c for c, reason in called.failed.items() if reason == NO_REPLY or reason.startswith("error")}
    waiting = {} if called.exchange is None else {node: name for name, node in called.exchange.unanswered.items()}
    for node, client in called.nodes.items():
        # Whether those whom nobody waited for would have replied is not known yet; `busy` finds out.
        spared = node in waiting and client not in silent
        session.asked += not spared
        session.lost += client in silent
        if node in waiting:
            crew.busy.add(node, waiting[node], session.options.deadline, missed=not spared)
        else:
            crew.busy.answered(node)


def _learned(session: Session, called: Called, used: list[GoodReply], story: Story) -> Averaged:
    asks = session.crew.asks or []
    replies = as_replies(used, called.vector)
    keep, facts = session.judge.judge(story.index, replies, called.selection, called.everything, called.start, asks)
    declared = {a.signal.name for a in asks if a.time in ("reply", "server")}
    signals = {
        name: session.watch.heard(name, replies.ids, value)
        for name, value in replies.signals.items()
        if name in declared
    }
    if "duration" in declared:
        signals["duration"] = np.array([reply.seconds for reply in used])
    if "update" in declared:
        signals["update"] = session.watch.heard("update", replies.ids, replies.updates)
    feedback = Feedback(
        index=story.index,
        ids=replies.ids,
        signals={**signals, **facts},
        clients=called.now.clients,
        failed=called.failed,
        probed=called.probed,
        notes=called.selection.notes,
        rng=stream(session.options.seed, "update", story.index),
    )
    kept = [reply for reply, counts in zip(used, keep, strict=True) if counts]
    # All that is learned from was read before this: some strategies change the replies or use them up.
    arrays, metrics = _averaged(session, called, kept, story.index, called.selection.step(replies.ids, called.needed))
    if session.judge.needs_models:
        session.judge.learn(replies, keep, called.vector if arrays is None else flat(arrays))
    session.selector.update(feedback)
    story.guard = session.watch.learn(
        story.index,
        called.online,
        called.asked_for,
        called.selection,
        called.probed,
        called.blamed,
        session.crew.known.roster,
    )
    tell(story.guard)
    story.tell(called, feedback, kept)
    return arrays, metrics


def _averaged(session: Session, called: Called, kept: list[GoodReply], index: int, step: float) -> Averaged:
    if not kept:
        return None, None
    weights = called.selection.weights_of(np.array([reply.client for reply in kept], np.int64))
    if weights is not None:
        for reply, weight in zip(kept, weights, strict=True):
            content = called.messages[reply.client].content
            next(iter(content.metric_records.values()))[session.checks.weight_key] = float(weight)
    arrays, metrics = session.strategy.aggregate_train(index, [called.messages[reply.client] for reply in kept])
    if session.judge.average is not None and arrays is not None:
        model = session.judge.combined(as_replies(kept, called.vector), called.selection, called.everything)
        arrays = shaped(model, called.start)
    if arrays is not None and step < 1 and len(called.vector):  # trees have no way between two models
        arrays = shaped(moved(called.vector, flat(arrays), step), called.start)
    if arrays is not None and not all(_finite(array.numpy()) for array in arrays.values()):
        log(WARNING, "callup: the average of round %d is not finite; the model stays as it was", index)
        return None, metrics
    return arrays, metrics


def _finite(array: np.ndarray) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
