"""Clients that sent what no honest client sends are left out for a while; one strike may be an accident."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Quarantine:
    """Strikes by client, and until which round each one stays out."""

    strikes_allowed: int = 2
    rounds: int = 50
    """How long a client stays out; after that it starts with one strike less than it takes."""
    strikes: dict[int, int] = field(default_factory=dict)
    until: dict[int, int] = field(default_factory=dict)
    evidence: dict[int, str] = field(default_factory=dict)

    def strike(self, client: int, index: int, reason: str) -> bool:
        """Counts one bad reply; true if the client is out from now on."""
        self.strikes[client] = self.strikes.get(client, 0) + 1
        self.evidence[client] = f"round {index}: {reason}"
        if self.strikes[client] < self.strikes_allowed:
            return False
        self.until[client] = index + self.rounds
        self.strikes[client] = self.strikes_allowed - 1
        return True

    def out(self, index: int) -> set[int]:
        """Who may not be chosen in this round."""
        return {client for client, last in self.until.items() if index <= last}

    def plain(self) -> dict[str, dict[str, int | str]]:
        return {
            name: {str(client): value for client, value in getattr(self, name).items()}
            for name in ("strikes", "until", "evidence")
        }

    def load(self, values: dict[str, dict[str, int | str]]) -> None:
        for name in ("strikes", "until", "evidence"):
            setattr(self, name, {int(client): value for client, value in values.get(name, {}).items()})
