"""One exchange of messages that ends: at the deadline, when all have answered, or when enough have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_BY_FLOWER = {3, 4, 5}  # codes of errors that no client made: the message, its reply or the node is unavailable


@dataclass
class Exchange:
    """Messages on their way and the replies that have come, each once, in the order of their arrival."""

    waiting: dict[str, int]
    """Message id to node, of those without an answer."""
    replies: list[tuple[int, Message, float]] = field(default_factory=list)
    """Node, reply and seconds since it was asked. The node is the one asked: a reply made by the SuperLink on behalf
    of a lost node carries the SuperLink's own id."""
    unreachable: dict[str, int] = field(default_factory=dict)
    """The same for messages that Flower gave up: run out, or their node is gone. The node may still be at work."""
    began: float = 0.0

    @property
    def unanswered(self) -> dict[str, int]:
        return self.waiting | self.unreachable

    def take(self, messages: Iterable[Message]) -> list[tuple[int, Message, float]]:
        """Replies to what was asked; copies of one reply and replies to other questions are left lying."""
        taken = []
        took = time.monotonic() - self.began  # one time for all that come together: no order among them is made up
        for message in messages:
            node = self.waiting.pop(message.metadata.reply_to_message_id, None)
            if node is None:
                continue
            if message.has_error() and message.error.code in _BY_FLOWER:
                self.unreachable[message.metadata.reply_to_message_id] = node
            else:
                taken.append((node, message, took))
        self.replies += taken
        return taken


def sent(messages: Sequence[Message]) -> Exchange:
    """The exchange of messages that have been pushed."""
    waiting = {m.metadata.message_id: m.metadata.dst_node_id for m in messages}
    return Exchange(waiting, began=time.monotonic())


def push(grid: Grid, messages: Sequence[Message]) -> Exchange:
    """Sends the messages and waits for nothing."""
    began = time.monotonic()
    if messages:
        grid.push_messages(list(messages))  # a list: some grids go through it twice
    exchange = sent(messages)
    exchange.began = began
    return exchange


def listen(
    grid: Grid,
    exchange: Exchange,
    seconds: float,
    enough: Callable[[], bool] = lambda: False,
    hear: Callable[[int, Message, float], None] = lambda node, reply, took: None,  # noqa: ARG005
) -> Exchange:
    """Collects replies until all are there, `enough` says so, or the seconds since sending are over."""
    pause = _FIRST_PAUSE
    while exchange.waiting:
        taken = exchange.take(grid.pull_messages(list(exchange.waiting)))
        for node, reply, took in taken:
            hear(node, reply, took)
        left = exchange.began + seconds - time.monotonic()
        if enough() or left <= 0 or not exchange.waiting:
            break
        pause = _FIRST_PAUSE if taken else min(pause * 1.5, _LONGEST_PAUSE)
        time.sleep(min(pause, left))
    return exchange


def reason_of(reply: Message) -> str:
    """Why a reply is an error, in one line."""
    return printable(str(reply.error.reason or "no reason given"), 160)


def printable(text: str, most: int = 200) -> str:
    """One line of visible characters: what clients say reaches logs and terminals."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(line.split())
    return line if len(line) <= most else line[: most - 3] + "..."
