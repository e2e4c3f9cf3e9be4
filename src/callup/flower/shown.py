"""Shows a stock strategy only the chosen nodes, so that it addresses them and nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from callup.core.errors import UsageError
from callup.core.selector import Selector

if TYPE_CHECKING:  # words for the type checker; nothing undocumented is loaded
    from flwr.proto.node_pb2 import NodeInfo
    from flwr.supercore.run import Run

_FRACTIONS = ("fraction_train", "fraction_evaluate")
_SINGLE_UPDATES = {"update", "gradient", "kept", "contribution", "class_gradients"}
_MINIMUMS = ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes")


class ShownGrid(Grid):
    """A grid with some of its nodes; everything else passes through."""

    def __init__(self, grid: Grid, nodes: Sequence[int]) -> None:
        self._grid, self._nodes = grid, list(nodes)

    def get_node_ids(self) -> Iterable[int]:
        return list(self._nodes)

    def get_nodes(self) -> Iterable[NodeInfo]:
        shown = set(self._nodes)
        return [node for node in self._grid.get_nodes() if node.node_id in shown]

    def set_run(self, run: Run) -> None:
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        return self._grid.run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return self._grid.pull_messages(message_ids)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self._grid.send_and_receive(messages, timeout=timeout)


def layers(strategy: Strategy) -> list[Strategy]:
    """The strategy and those it wraps, from the outside in; Flower's privacy wrappers keep theirs in `.strategy`."""
    found: list[Strategy] = [strategy]
    while isinstance(inner := getattr(found[-1], "strategy", None), Strategy):
        found.append(inner)
    return found


def setting(strategy: Strategy, name: str, otherwise: Any) -> Any:
    """A setting of the strategy or of one it wraps."""
    return next((getattr(layer, name) for layer in layers(strategy) if hasattr(layer, name)), otherwise)


@contextmanager
def all_of(strategy: Strategy, count: int) -> Iterator[None]:
    """For its length the strategy addresses every node it is shown: left alone it would draw some of them, or wait
    for more than there are, for ever. What it was set to comes back afterwards."""
    kept = [(layer, name, value) for layer in layers(strategy) for name, value in _settings(layer)]
    try:
        for layer, name, _ in kept:
            setattr(layer, name, 1.0 if name in _FRACTIONS else count)
        yield
    finally:
        for layer, name, value in kept:
            setattr(layer, name, value)


def _settings(layer: Strategy) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(layer, name)) for name in (*_FRACTIONS, *_MINIMUMS) if name in vars(layer))


def refuse_what_cannot_work(strategy: object, selector: Selector) -> None:
    """Before a run begins, with the reason."""
    if not isinstance(strategy, Strategy):
        name = f"{type(strategy).__module__}.{type(strategy).__name__}"
        raise UsageError(f"Selecting wraps a strategy of flwr.serverapp.strategy, got {name}.{_old(name, selector)}")
    for layer in layers(strategy):
        if type(layer).__name__ == "FedXgbCyclic":
            raise UsageError(
                "FedXgbCyclic cannot be combined with a selector: it is a schedule of its own and trains one client "
                "after another; FedXgbBagging works"
            )


def _old(name: str, selector: Selector) -> str:
    if not name.startswith(("flwr.server.", "flwr.compat.")):
        return ""
    reads = [signal for signal in selector.needs.names("reply", "server") if signal in _SINGLE_UPDATES]
    hidden = f" {selector.card.name} reads '{reads[0]}', which SecAgg+ hides from the server." if reads else ""
    return f" It belongs to Flower's old API, the only one with SecAgg+.{hidden}"
