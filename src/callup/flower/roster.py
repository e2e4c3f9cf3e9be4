"""Who is who: Flower's node ids are random and change; clients have numbers that stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from callup.core.errors import InputError
from callup.flower.exchange import printable


@dataclass(frozen=True)
class Introduction:
    """A node and what it goes by: a number of its own, or a name."""

    node: int
    name: str | int


class Roster:
    """Client numbers by name, and the node behind each client at present.

    A client that says its number keeps it: `partition-id=3` is client 3, as in the simulator. Others are numbered in
    the order of their names, from the lowest number that is free; numbers once given are never given to anybody else.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._lowest_free = 0
        self._nodes: dict[int, int] = {}  # client -> node
        self._clients: dict[int, int] = {}  # node -> client

    def admit(self, introductions: Iterable[Introduction], online: Iterable[int]) -> dict[int, str]:
        """Takes nodes in; returns those refused with the reason. Who comes first does not matter, names decide."""
        here = set(online)
        refused: dict[int, str] = {}
        arrived = sorted(introductions, key=lambda i: (isinstance(i.name, str), i.name, i.node))
        for one in arrived:
            client = self._number(one.name)
            before = self._nodes.get(client)
            if before is not None and before != one.node and before in here:
                refused[one.node] = f"two nodes say they are client '{one.name}'"
                continue
            if before is not None:
                self._clients.pop(before, None)
            self._nodes[client], self._clients[one.node] = one.node, client
        return refused

    def _number(self, name: str | int) -> int:
        key = str(name)
        if key not in self._numbers:
            while self._lowest_free in self._names:
                self._lowest_free += 1
            free = isinstance(name, int) and name not in self._names
            self._numbers[key] = int(name) if free else self._lowest_free
            self._names[self._numbers[key]] = key
        return self._numbers[key]

    def client(self, node: int) -> int | None:
        return self._clients.get(node)

    def node(self, client: int) -> int:
        return self._nodes[int(client)]

    def name(self, client: int) -> str:
        return self._names.get(int(client), str(client))

    def number(self, name: str | int) -> int | None:
        """The client of this name, if it is known."""
        return self._numbers.get(str(name))

    def __len__(self) -> int:
        return len(self._numbers)

    def plain(self) -> dict[str, int]:
        """Names and numbers, as JSON can hold them."""
        return dict(self._numbers)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Roster:
        made = cls()
        numbers = list(values.values())
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers):
            raise InputError("a roster maps names to whole numbers from 0")
        if len(set(numbers)) != len(numbers):
            raise InputError("a roster gives one number to two clients")
        made._numbers = dict(values)
        made._names = {number: name for name, number in values.items()}
        return made


def name_of(note: Mapping[str, Any], registered: str, node: int) -> str | int:
    """What a node goes by: its own client-id, its partition, the name it was registered under, or its node id."""
    for given in (note.get("client-id"), note.get("partition-id")):
        if isinstance(given, bool) or not isinstance(given, (str, int)):
            continue
        if isinstance(given, int) and 0 <= given < 2**31:
            return given
        if isinstance(given, str) and given:
            return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else printable(given)
    return printable(registered) if registered else f"node-{node}"
