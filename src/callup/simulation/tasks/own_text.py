"""Next-word prediction on texts of your own, in the forms in which the papers' texts are published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from callup.simulation.data.text.leaf import read_leaf
from callup.simulation.data.text.posts import Post, Source
from callup.simulation.data.text.stack_exchange import read_stack_exchange
from callup.simulation.data.text.yelp import read_yelp
from callup.simulation.task import TASKS
from callup.simulation.tasks.text import NCCB, SMALL, Origin, TextTask


@TASKS.add("text-leaf", paper="Caldas et al., LEAF, 2018", presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class LeafText(TextTask):
    """The next word in texts of yours in LEAF's JSON; `path` is a file, or a folder of them."""

    path: str

    def origin(self) -> Origin:
        return at, (read_leaf, self.path)


@TASKS.add("text-stackexchange", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class StackExchangeDump(TextTask):
    """The next word in a Stack Exchange dump of yours; `path` is a Posts.xml or a Comments.xml.

    With Superuser's dump and posts=150 this is the setting of NCCB.
    """

    path: str

    def origin(self) -> Origin:
        return at, (read_stack_exchange, self.path)


@TASKS.add("text-yelp", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class YelpReviews(TextTask):
    """The next word in Yelp's reviews, if you have them; `path` is the file of reviews as JSON lines.

    With posts=150 and layers=5 this is the setting of NCCB.
    """

    path: str

    def origin(self) -> Origin:
        return at, (read_yelp, self.path)


def at(read: Callable[[Path], Iterator[Post]], path: str) -> Source:
    return partial(read, Path(path).expanduser())
