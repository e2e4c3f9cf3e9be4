"""A whole federation in one process: unmodified Flower apps run at the speed of a function call.

For tests and fast runs. It is the one module that needs something Flower does not document: a Message may only be
made inside a task, so the task's identity is set here.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from callup.core.errors import UsageError
from callup.core.randomness import stream

NodeConfig = Mapping[str, str | int | float | bool]
Delay = Callable[[int, Message], float]
"""From the position of a node and the message to the seconds until its reply arrives; inf: never."""
_RAISED = 2  # Flower's code for a ClientApp that raised an exception
_SERVER = 1  # the node id of the server


class LocalGrid(Grid):
    """Nodes that live in this process. Their ids are random 64-bit numbers, as Flower's are."""

    def __init__(
        self,
        app: ClientApp,
        nodes: int | Sequence[NodeConfig],
        *,
        run_config: Mapping[str, Any] | None = None,
        seed: int = 0,
        delay: Delay = lambda node, message: 0.0,  # noqa: ARG005
    ) -> None:
        if isinstance(nodes, int):
            nodes = [{"partition-id": i, "num-partitions": nodes} for i in range(nodes)]
        ids = stream(seed, "node ids").integers(2**62, 2**64, len(nodes), dtype="uint64")
        self.app, self.delay = app, delay
        self.node_ids = [int(i) for i in ids]
        self.online = set(self.node_ids)
        self.contexts = {
            node: Context(1, node, dict(config), RecordDict(), dict(run_config or {}))
            for node, config in zip(self.node_ids, nodes, strict=True)
        }
        self.sent: list[Message] = []
        """Every message pushed so far."""
        self._replies: dict[str, tuple[float, Message]] = {}
        self._numbers = itertools.count(1)
        self._run = Run.create_empty(1)

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in self.node_ids if node in self.online]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return [self._deliver(message) for message in messages]

    def _deliver(self, message: Message) -> str:
        name = f"message-{next(self._numbers)}"
        message.metadata.__dict__["_message_id"] = name
        self.sent.append(message)
        node = message.metadata.dst_node_id
        if node not in self.contexts:
            raise UsageError(f"there is no node {node} in this grid")
        wait = self.delay(self.node_ids.index(node), message)
        if node in self.online and math.isfinite(wait):
            self._replies[name] = (time.monotonic() + wait, self._reply(copy.deepcopy(message), node))
        return name

    def _reply(self, message: Message, node: int) -> Message:
        """What the client sends back; its exceptions become error replies, as in Flower."""
        try:
            return copy.deepcopy(self.app(message, self.contexts[node]))
        except Exception as problem:
            return Message(Error(_RAISED, f"{type(problem)}:<'{problem}'>"), reply_to=message)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        now = time.monotonic()
        ready = [name for name in message_ids if name in self._replies and self._replies[name][0] <= now]
        return [self._replies.pop(name)[1] for name in ready]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        waiting = list(self.push_messages(messages))
        ends = time.monotonic() + (math.inf if timeout is None else timeout)
        replies: list[Message] = []
        while waiting:
            pulled = list(self.pull_messages(waiting))
            answered = {reply.metadata.reply_to_message_id for reply in pulled}
            waiting = [name for name in waiting if name not in answered]
            replies += pulled
            if not waiting or time.monotonic() >= ends:
                break
            time.sleep(0.01)
        return replies


def run_local(
    server: ServerApp,
    client: ClientApp,
    nodes: int | Sequence[NodeConfig],
    run_config: Mapping[str, Any] | None = None,
    **grid: Any,
) -> LocalGrid:
    """Runs a ServerApp against a ClientApp on this many nodes, here and now."""
    made = LocalGrid(client, nodes, run_config=run_config, **grid)
    with server_task():
        server(made, Context(1, _SERVER, {}, RecordDict(), dict(run_config or {})))
    return made


@contextmanager
def server_task() -> Iterator[None]:
    """For its length this process is a server task and may make messages."""
    names = ("_task_id", "_run_id", "_node_id")
    before = {name: getattr(TaskIdentity, name) for name in names}
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, _SERVER
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(TaskIdentity, name, value)
