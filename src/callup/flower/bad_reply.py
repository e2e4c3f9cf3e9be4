"""A reply that is set aside, and why."""

from __future__ import annotations


class BadReply(Exception):
    """`blame`: it can only come of a broken or lying client, not of bad luck."""

    def __init__(self, reason: str, blame: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.blame = reason, blame
