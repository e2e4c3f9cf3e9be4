"""The whole audit of one federation: each mode, each curious party, and what it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.core.spec import parse_spec
from callup.privacy.audit.known import with_known
from callup.privacy.audit.reconstruct import Guess, reconstruct, without_small
from callup.privacy.audit.score import Score, knows_nothing, named, score
from callup.privacy.audit.selections import same_class_auc, watched
from callup.privacy.counts import whole_counts
from callup.privacy.modes import Mode, parse_mode
from callup.privacy.simulated import simulated_release

_CLEANS = "selector that takes small counts for noise"


@dataclass(frozen=True)
class Finding:
    """What one party learns under one mode. `names`: whether it knows which class is which."""

    mode: str
    party: str
    sees: str
    names: bool
    score: Score


@dataclass(frozen=True)
class Watching:
    """What the log of picks and weights tells a server that sees no statistic: AUC of "same most frequent class?"."""

    mode: str
    rounds: int
    auc: float


@dataclass(frozen=True)
class Audit:
    """Everything found, and for the picture the true rows and those the selector ends up with."""

    truth: np.ndarray
    guesses: dict[str, np.ndarray]
    findings: list[Finding]
    watching: list[Watching]
    nothing: Score


def audit(
    clients: Clients,
    modes: Sequence[str],
    seed: int,
    known: Sequence[int] = (1, 3),
    k: int = 10,
    rounds: int = 300,
    method: str = "fed-cbs",
) -> Audit:
    """Attacks the label counts of these clients under each mode. No encryption is run: the results are exact anyway."""
    rows = clients.all("label_counts")
    truth = np.stack([whole_counts(row, client) for row, client in zip(rows, clients.ids.tolist(), strict=True)])
    if len(truth) < 3:
        raise InputError(f"an audit compares clients with each other: at least 3 are needed, got {len(truth)}")
    SELECTORS.make(method).needs.settle(
        lambda ask: ask.time == "profile" and ask.signal.name in ("label_counts", "num_examples"),
        f"{parse_spec(method)[0]}, watched without training,",
    )
    parsed = [parse_mode(spec) for spec in modes]
    names = [mode.name for mode in parsed]
    findings, watching, guesses = [], [], {}
    seen_by_epsilon: dict[float | None, float] = {}  # hiding the counts changes no pick
    for mode in parsed:
        name = mode.name if names.count(mode.name) == 1 else mode.spec
        released = truth if mode.epsilon is None else simulated_release(clients, mode.epsilon, seed)
        found, guesses[name] = _parties(mode, truth, released, known, seed)
        findings += [replace(finding, mode=name) for finding in found]
        if rounds and mode.epsilon not in seen_by_epsilon:
            seen = Clients(clients.ids, label_counts=released, num_examples=truth.sum(axis=1))
            log = watched(SELECTORS.make(method), seen, truth.shape[1], k, rounds, 0.3, seed)
            seen_by_epsilon[mode.epsilon] = same_class_auc(*log, truth)
        if rounds:
            watching.append(Watching(name, rounds, seen_by_epsilon[mode.epsilon]))
    return Audit(truth, guesses, findings, watching, knows_nothing(truth))


def _parties(
    mode: Mode, truth: np.ndarray, released: np.ndarray, known: Sequence[int], seed: int
) -> tuple[list[Finding], np.ndarray]:
    sizes = truth.sum(axis=1)
    if mode.protection == "plain":
        sees = "label counts" if mode.epsilon is None else "noised label counts"
        findings = [Finding(mode.name, "selector and server", sees, True, score(released, truth))]
        if mode.epsilon is not None:
            cleaned = score(without_small(released, sizes, mode.epsilon), truth)
            findings.append(Finding(mode.name, _CLEANS, sees, True, cleaned))
        return findings, released
    gram = released @ released.T
    guess = reconstruct(gram, sizes, truth.shape[1], stream(seed, "audit", "reconstruct"))
    best = named(guess.counts, truth)
    findings = [Finding(mode.name, "selector", "inner products", False, score(best, truth))]
    if mode.epsilon is not None:
        cleaned = score(without_small(best, sizes, mode.epsilon), truth)
        findings.append(Finding(mode.name, _CLEANS, "inner products", False, cleaned))
    findings += [_with_known(mode, guess, gram, truth, released, count, seed) for count in known]
    hides = "random shares" if mode.protection == "shared" else "ciphertexts"
    return [*findings, Finding(mode.name, "server", hides, True, knows_nothing(truth))], best


def _with_known(
    mode: Mode, guess: Guess, gram: np.ndarray, truth: np.ndarray, released: np.ndarray, count: int, seed: int
) -> Finding:
    """Clients that the selector controls tell it what they themselves released."""
    if not 1 <= count < len(truth):
        raise InputError(f"of {len(truth)} clients between 1 and {len(truth) - 1} can be known, got {count}")
    mine = stream(seed, "audit", "known", count).choice(len(truth), count, replace=False)
    all_rows = with_known(guess, gram, truth.sum(axis=1), mine, released[mine])
    others = np.setdiff1d(np.arange(len(truth)), mine)
    party = f"selector that knows {count} client{'s' if count > 1 else ''}"
    return Finding(mode.name, party, "inner products", True, score(all_rows[others], truth[others]))
