"""The server as a party: it takes shares, multiplies what it cannot read, and asks the selector for cohorts."""

from __future__ import annotations

from callup.core.errors import ContractError
from callup.privacy.multiplier import Multiplier
from callup.privacy.remote import Exchange, RemoteSelector
from callup.privacy.wire import Message


class ServerParty:
    """Never holds a key that decrypts, nor a count. `selector` goes wherever a selector goes."""

    def __init__(self, spec: str, exchange: Exchange) -> None:
        self._exchange = exchange
        self._multiplier = Multiplier(exchange(Message("hello").encode()))
        self.selector = RemoteSelector(spec, exchange)

    @property
    def client_terms(self) -> bytes:
        """What clients need to know."""
        return self._multiplier.terms.for_client().encode()

    @property
    def roster(self) -> tuple[int, ...]:
        """The clients that the selector expects."""
        return self._multiplier.terms.roster

    def take(self, share: bytes) -> int:
        """One client's share."""
        return self._multiplier.shares.take(share)

    def pass_on(self, sealed: bytes) -> None:
        """One client's sealed share for the selector, which the server cannot read."""
        Message.decode(self._exchange(sealed), "taken")

    def compute(self) -> list[int]:
        """The inner products, at the selector; returns whose they are."""
        tiles = self._multiplier.tiles(self._exchange(self._multiplier.present()))
        ready = Message.decode(self._exchange(tiles), "ready").numbers("ids")
        if not set(ready) <= set(self._multiplier.shares.ids):
            raise ContractError("the selector speaks of clients whose shares are not here")
        return ready
