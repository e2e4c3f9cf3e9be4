"""Who is still at work on an old round. A node does one thing at a time and cannot be called back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid


@dataclass
class Busy:
    """Nodes that did not answer in time, each until its late reply is seen or patience with it is over."""

    _since: dict[int, tuple[str, float]] = field(default_factory=dict)
    """Node to the message it has not answered and the time at which it counts as free again."""
    _missed: dict[int, int] = field(default_factory=dict)

    def add(self, node: int, message_id: str, seconds: float, missed: bool) -> None:
        """Patience doubles with every round that was missed in a row, so a hopeless node costs ever fewer places."""
        if missed:
            self._missed[node] = min(self._missed.get(node, 0) + 1, 10)
        self._since[node] = (message_id, time.monotonic() + seconds * 2 ** (self._missed.get(node, 1) - 1))

    def answered(self, node: int) -> None:
        self._missed.pop(node, None)

    def nodes(self, grid: Grid) -> set[int]:
        """Who is busy now. Late replies are taken from the grid and thrown away: their round is closed."""
        if self._since:
            waiting = {message: node for node, (message, _) in self._since.items()}
            late: list[Message] = list(grid.pull_messages(list(waiting)))
            for reply in late:
                node = waiting.get(reply.metadata.reply_to_message_id)
                if (
                    node is not None and not reply.has_error()
                ):  # an error says that a message ran out, not that work did
                    self._since.pop(node, None)
            now = time.monotonic()
            self._since = {node: held for node, held in self._since.items() if held[1] > now}
        return set(self._since)
