"""Random: every set of k available clients is equally likely."""

from __future__ import annotations

from dataclasses import dataclass

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Round, Selection


@SELECTORS.add("random", paper="McMahan et al., AISTATS 2017", cost="O(N)")
@dataclass(repr=False)
class Random(Selector):
    """Draw k clients uniformly, without replacement: the baseline every method must beat."""

    def select(self, now: Round, k: int) -> Selection:
        return Selection(draws.uniform(now.available, k, now.rng))
