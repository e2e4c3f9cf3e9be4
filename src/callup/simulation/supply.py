"""What the simulator can tell a selector, and the answers to its probes."""

from __future__ import annotations

import math

import numpy as np

from callup.aggregation.contribution import measure_of
from callup.core.errors import ContractError, MissingSignal
from callup.core.index import Ids
from callup.core.selector import Selector
from callup.core.signals import Ask, Time, signal
from callup.privacy.modes import LABELS, parse_mode
from callup.simulation.run import Ledger
from callup.simulation.watch import Watch
from callup.simulation.world import World

_SUPPLIED: dict[Time, set[str]] = {
    "profile": {"num_examples", "latency", "features"},  # and the label statistics that the privacy mode offers
    "probe": {"loss", "batch_loss", "accuracy", "gradient"},
    "reply": {
        *("loss", "loss_rms", "accuracy", "train_loss", "gradient", "update", "skewness"),
        *("local_steps", "duration"),
    },
    "server": {"contribution", "class_gradients"},
}
_FORWARD_SHARE = 1 / 3  # of a training step: no backward pass


def supply(selector: Selector, *, filtered: bool, privacy: str = "plain") -> list[Ask]:
    """What this selector will be given; what it needs and cannot have is refused before the first round."""
    labels = parse_mode(privacy).offers

    def can(ask: Ask) -> bool:
        name = ask.signal.name
        offered = name in labels if name in LABELS else name in _SUPPLIED[ask.time]
        return offered or (name == "kept" and filtered)

    try:
        asks = selector.needs.settle(can, selector.card.name)
    except MissingSignal as missing:
        hint = (
            "" if privacy == "plain" else f"; of label statistics privacy '{privacy}' gives {', '.join(labels)} alone"
        )
        raise MissingSignal(f"{missing}{hint}") from missing
    for ask in asks:
        if ask.signal.name == "contribution":
            measure_of(ask)  # a misspelt option is refused here, not after the first round
    return asks


class Prober:
    """Answers one round's probes, prices them and remembers what was heard."""

    def __init__(
        self, world: World, model: np.ndarray, asks: list[Ask], index: int, ledger: Ledger, watch: Watch
    ) -> None:
        self._world, self._model, self._index, self._ledger, self._watch = world, model, index, ledger, watch
        self._declared = {ask.signal.name for ask in asks if ask.time == "probe"}
        self.heard: dict[str, tuple[Ids, np.ndarray]] = {}
        self.seconds = 0.0

    def ask(self, name: str, ids: Ids) -> np.ndarray:
        if name not in self._declared:
            raise ContractError(f"a selector probed '{name}' without declaring it; declared: {sorted(self._declared)}")
        world = self._world
        answers = world.backend.probe(self._model, name, ids, self._index).astype(np.float64)
        answers = self._watch.answer(self._index, name, ids, answers)
        silent = world.silent(ids, self._index, f"probe {name}")
        # An answer that cannot be true counts as none.
        sound = np.isfinite(answers) & (answers >= (-np.inf if (low := signal(name).lowest) is None else low))
        silent |= ~sound.reshape(len(ids), -1).all(axis=1)
        answers = np.where(silent if answers.ndim == 1 else silent[:, None], np.nan, answers)
        answers = self._watch.heard(name, ids, answers)
        sizes = world.clients.of("num_examples", ids)
        passes = np.array([1 if name == "batch_loss" else math.ceil(n / world.local.batch) for n in sizes])
        upload = world.megabytes if name == "gradient" else 0.0
        took = world.durations(ids, passes * _FORWARD_SHARE, world.megabytes + upload, self._index)
        self.seconds += float(took[~silent].max(initial=0.0))
        self._ledger.probes += len(ids)
        self._ledger.messages += 2 * len(ids) - int(silent.sum())
        self._ledger.bytes_down += round(len(ids) * world.megabytes * 1e6)
        self._ledger.bytes_up += round((~silent).sum() * (upload * 1e6 if upload else 8))
        before = self.heard.get(name, (ids[:0], answers[:0]))
        self.heard[name] = (np.concatenate([before[0], ids]), np.concatenate([before[1], answers]))
        return answers
