"""What the guard objects to, how much each objection weighs, and the sentence that explains it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Offence:
    """One kind of objection. A strike of 1 is what no honest client does; evidence that may be chance weighs less."""

    name: str
    strike: float
    sentence: str
    """Filled in with the value that was found."""
    refuses: bool = True
    """Whether the reply is set aside."""


OFFENCES: tuple[Offence, ...] = (
    Offence("not finite", 1.0, "sent {value:g} numbers that are not finite"),
    Offence("enormous update", 1.0, "sent an update {value:.3g} times as long as usual"),
    Offence("copied update", 1.0, "sent an update that {value:g} clients sent in this round"),
    Offence("replayed model", 1.0, "sent back the last change of the global model"),
    Offence("replayed update", 1.0, "sent the update it had sent before"),
    Offence("claimed labels", 0.5, "claims labels that its update contradicts: correlation {value:.2f}", refuses=False),
    Offence("wrong shape", 1.0, "sent numbers in the wrong shape"),
    Offence("out of range", 1.0, "sent a value that cannot be: {value:g}"),
    Offence("duplicate", 0.0, "replied more than once; the first reply counts"),
    Offence("late", 0.0, "replied to round {value:g}, which is over"),
    Offence("not asked", 0.5, "replied without being asked"),
    Offence("unknown client", 0.0, "is not a client of this federation"),
    Offence("quarantined", 0.0, "is not called before round {value:g}", refuses=False),
    Offence("released", 0.0, "may be called again", refuses=False),
    Offence("by hand", 0.0, "was set aside by the operator until round {value:g}", refuses=False),
)

_BY_NAME = {offence.name: code for code, offence in enumerate(OFFENCES)}


def code_of(name: str) -> int:
    """Where the offence stands in the list; saved states hold this number, so new offences are added at the end."""
    return _BY_NAME[name]


def offence(name: str) -> Offence:
    return OFFENCES[_BY_NAME[name]]
