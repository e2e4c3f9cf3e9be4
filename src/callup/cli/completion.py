"""What the shell offers after Tab; where it offers nothing, the shell goes on with files."""

from __future__ import annotations


def selectors(incomplete: str) -> list[str]:
    """Names; after a colon the presets."""
    from callup.core.catalogue import SELECTORS

    cards = SELECTORS.cards()
    known = [f"{card.name}:{preset}" for card in cards for preset in card.presets] if ":" in incomplete else []
    return _beginning([*known, *(card.name for card in cards)], incomplete)


def cards(incomplete: str) -> list[str]:
    """Everything that has a page."""
    from callup.cli.cards import registries
    from callup.core.signals import SIGNALS

    return _beginning([*(card.name for one in registries().values() for card in one.cards()), *SIGNALS], incomplete)


def kinds(incomplete: str) -> list[str]:
    """What `callup list` lists."""
    from callup.cli.cards import SIGNAL_KIND, registries

    return _beginning([*registries(), SIGNAL_KIND], incomplete)


def _beginning(known: list[str], incomplete: str) -> list[str]:
    return sorted({name for name in known if name.startswith(incomplete)})
