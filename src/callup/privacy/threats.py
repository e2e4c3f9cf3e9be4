"""Who sees what, per mode and per method: the rows of the threat-model page, so that the page cannot fall behind."""

from __future__ import annotations

from dataclasses import dataclass

from callup.core.registry import Card
from callup.core.signals import Ask, Need
from callup.privacy.modes import LABELS


@dataclass(frozen=True)
class Threat:
    """One way to handle label statistics, honest-but-curious parties throughout."""

    mode: str
    server: str
    selector: str
    clients: str
    breaks: str
    remains: str


THREATS = (
    Threat(
        "`plain`",
        "every client's label counts; who was picked",
        "the same",
        "nothing",
        "the server or the selector is curious",
        "everything",
    ),
    Threat(
        "`dp`",
        "label counts with noise, epsilon for one record; who was picked",
        "the same",
        "nothing",
        "for a record: never, even if all collude; for a client's profile: at once",
        "what kind of client it is; with few classes per client a good guess at the counts",
    ),
    Threat(
        "`fhe` (Fed-CBS as published)",
        "ciphertexts; who was picked",
        "inner products S, and from them the label counts up to class names",
        "nothing",
        "server and selector collude; the selector knows B − 1 clients, or runs B of its own",
        "the log of picks; a lying client can spoil its neighbours' entries",
    ),
    Threat(
        "`shared`",
        "uniform shares and ciphertexts; who was picked",
        "S, and from it the label counts up to class names",
        "nothing",
        "as `fhe`",
        "the log of picks; a lying client can spoil only its own entries",
    ),
    Threat(
        "`shared+dp`, `fhe+dp`",
        "as without dp",
        "S of noised counts, and from it the noised counts up to class names",
        "nothing",
        "for a record: never, even if all collude; for a profile: as `shared`",
        "what kind of client it is, to the selector; the log of picks",
    ),
    Threat(
        "FedEMD, self-selecting",
        "all counts together, the counts of those who joined (never of fewer than the minimum), who joined",
        "–",
        "the same sums",
        "a client lies about its coin",
        "how often each one joins",
    ),
    Threat(
        "FedACS, `insight=skewness`",
        "one number per participant and round; the sum of gradients under secure aggregation",
        "–",
        "the mean gradient",
        "cohorts are small or differ by one client",
        "numbers add up over rounds, and so does their epsilon",
    ),
    Threat(
        "SimHash, secret key, turned bits",
        "bits it cannot look up, each deniable; the same bits every time, so a client can be recognised",
        "–",
        "the key",
        "one client tells the key: then the bits can be looked up, and only their epsilon is left",
        "likeness of clients",
    ),
)


def threat_table() -> list[str]:
    """The rows as a table in Markdown."""
    head = [
        "| how | server sees | selector sees | other clients see | breaks if | what remains |",
        "|---|---|---|---|---|---|",
    ]
    return head + ["| " + " | ".join(vars(t).values()) + " |" for t in THREATS]


def method_table(cards: list[Card]) -> list[str]:
    """What each method shows without protection, what each mode changes, and whether updates may be summed unseen."""
    head = [
        "| method | asks for | `plain` reveals | `dp` | `shared`, `fhe` | secure aggregation |",
        "|---|---|---|---|---|---|",
    ]
    return head + ["| " + " | ".join(_cells(card)) + " |" for card in cards]


def _cells(card: Card) -> tuple[str, ...]:
    asked = ", ".join(f"`{need}`" for need in card.needs).replace("|", "\\|") or "–"
    must = [need for need in card.needs if not need.optional]
    reveals = "; ".join(dict.fromkeys(need.any_of[0].signal.reveals for need in must)) or "nothing"
    about_labels = [need for need in card.needs if need.any_of[0].signal.name in LABELS]
    if not about_labels:
        noised, hidden = "does not touch it", "do not touch it"
    elif all(_from_inner_products(need) for need in about_labels):
        noised, hidden = "noise on label counts", "inner products, to the selector alone"
    else:
        noised, hidden = "noise on label counts", "refused"
    if not must:
        noised = hidden = "–"
    return f"[`{card.name}`](methods/{card.name}.md)", asked, reveals, noised, hidden, _under_aggregation(card)


def _from_inner_products(need: Need) -> bool:
    return any(ask.signal.name in LABELS[1:] for ask in need.any_of)


def _under_aggregation(card: Card) -> str:
    """Whether every need has an alternative that looks at nobody's own vector or model."""
    must = [need for need in card.needs if not need.optional]
    fits = [[ask for ask in need.any_of if _only_numbers(ask)] for need in must]
    if all(fits):
        first = all(need.any_of[0] == ok[0] for need, ok in zip(must, fits, strict=True))
        return "yes" if first else "with " + ", ".join(f"`{ok[0].signal.name}`" for ok in fits)
    return "no"


def _only_numbers(ask: Ask) -> bool:
    """What the server works out, it works out from single replies."""
    return ask.time != "server" and "incompatible" not in ask.signal.reveals
