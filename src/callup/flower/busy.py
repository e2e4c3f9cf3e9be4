"""Who is still at work on an old round. A node does one thing at a time and cannot be called back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from flwr.serverapp import Grid


@dataclass(frozen=True)
class Work:
    """A message that a node has not answered, and when it counts as free again."""

    message: str
    until: float
    missed: bool
    """It was needed; otherwise the round was over before it could answer."""


@dataclass
class Busy:
    """Nodes that did not answer in time, each until its late reply is seen or patience with it is over."""

    came: int = 0
    gone: int = 0
    """Of those nobody waited for: how many answered after all, and how many never did."""
    _work: dict[int, Work] = field(default_factory=dict)
    _missed: dict[int, int] = field(default_factory=dict)

    def add(self, node: int, message: str, seconds: float, missed: bool) -> None:
        """Patience doubles with every round that was missed in a row, so a hopeless node costs ever fewer places."""
        if missed:
            self._missed[node] = min(self._missed.get(node, 0) + 1, 10)
        patience = seconds * 2 ** (self._missed.get(node, 1) - 1)
        self._work[node] = Work(message, time.monotonic() + patience, missed)

    def answered(self, node: int) -> None:
        self._missed.pop(node, None)

    def nodes(self, grid: Grid) -> set[int]:
        """Who is busy now. Late replies are taken from the grid and thrown away: their round is closed."""
        if self._work:
            waiting = {work.message: node for node, work in self._work.items()}
            for reply in list(grid.pull_messages(list(waiting))):
                node = waiting.get(reply.metadata.reply_to_message_id)
                # An error says that the message ran out, not that the work is done.
                if node in self._work and not reply.has_error():
                    self.came += not self._work.pop(node).missed
            now = time.monotonic()
            over = [node for node, work in self._work.items() if work.until <= now]
            self.gone += sum(not self._work.pop(node).missed for node in over)
        return set(self._work)
