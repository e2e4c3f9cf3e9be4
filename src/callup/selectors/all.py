"""All: everyone who is available trains."""

from __future__ import annotations

from dataclasses import dataclass

from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Round, Selection


@SELECTORS.add("all", paper="Fed-CBS, Zhang et al., ICML 2023, Section 5", cost="O(N)", takes_everyone=True)
@dataclass(repr=False)
class All(Selector):
    """Call every available client, whatever k says: the expensive reference."""

    def select(self, now: Round, k: int) -> Selection:  # noqa: ARG002
        return Selection(now.available)
