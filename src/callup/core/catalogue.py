"""The registries, one for each kind of method; a module adds itself by decorating its class."""

from __future__ import annotations

from callup.core.registry import Registry
from callup.core.selector import Average, Filter, Selector

SELECTORS: Registry[Selector] = Registry("selector", "callup.selectors")
FILTERS: Registry[Filter] = Registry("filter", "callup.aggregation")
AVERAGES: Registry[Average] = Registry("average", "callup.aggregation")

DEFAULT = "lineup:keepers"
"""The selector for those who do not say which: the stored tournament says so, and a test holds it to that."""
