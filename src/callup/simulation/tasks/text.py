"""Next-word prediction on what people wrote: every author is a client, as in NCCB."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from callup.core.types import check_k
from callup.simulation.data.text.by_user import corpus
from callup.simulation.data.text.leaf import read_leaf
from callup.simulation.data.text.next_word import Prepared, prepare
from callup.simulation.data.text.posts import Source, writers
from callup.simulation.data.text.stack_exchange import read_stack_exchange
from callup.simulation.data.text.yelp import read_yelp
from callup.simulation.local import LocalTraining
from callup.simulation.task import TASKS, Loaded, Task, WordLstm

_NCCB = "Cao, Pan, Zhu, Liu, Birds of a Feather Help"
_SMALL = {"small": {"vocabulary": 2000, "embedding": 64, "hidden": 64, "layers": 1}}


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """What all texts have in common: who takes part, what becomes of the words, and the model."""

    tokens: int = 1000
    """Authors of fewer words, as spaces separate them, are left out ..."""
    posts: int = 1
    """... and so are authors of fewer posts."""
    vocabulary: int = 10_000
    length: int = 10
    """Words in a sample."""
    stop_words: bool = False
    """Whether to keep them."""
    validation: int = 500
    """Samples, at most."""
    embedding: int = 200
    hidden: int = 200
    layers: int = 2

    def __post_init__(self) -> None:
        for name in ("tokens", "posts", "vocabulary", "length", "validation", "embedding", "hidden", "layers"):
            check_k(getattr(self, name), f"{self.card.name}: {name}")

    def load(self) -> Loaded:
        found = self.prepared()
        model = WordLstm(len(found.vocabulary), self.embedding, self.hidden, self.layers)
        return Loaded(found.data, model, LocalTraining(epochs=5, batch=20, rate=3.0, decay=0.9993, decay_per="epoch"))

    def prepared(self) -> Prepared:
        """The splits, and the word of each number."""
        asked = (self.tokens, self.posts, self.vocabulary, self.length, self.stop_words, self.validation)
        return _prepared(*self._origin(), self.card.name, *asked)

    def _origin(self) -> tuple[Callable[..., Source], tuple[str, ...]]:
        """A function that finds the texts, and its arguments."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CorpusTask(TextTask):
    """Texts by user, in the one form all four corpora have."""

    file: ClassVar[tuple[str, str]]
    """Its name, and where such texts come from."""

    def _origin(self) -> tuple[Callable[..., Source], tuple[str, ...]]:
        return corpus, (self.card.name, *self.file)


@TASKS.add("chitchat", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class Chitchat(CorpusTask):
    """The next word in chat messages; of 1,315 people 251 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_chitchat_by_user.jsonl", "https://pypi.org/project/chitchat-dataset")


@TASKS.add("ubuntu-irc", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class UbuntuIrc(CorpusTask):
    """The next word in Ubuntu's support channel; of 17,008 nicks 222 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_ubuntu_irc_by_nick.jsonl", "https://irclogs.ubuntu.com")


@TASKS.add("stackexchange", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class StackExchange(CorpusTask):
    """The next word on nine small Stack Exchange sites; of 3,139 users 365 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_stackexchange_by_user.jsonl", "https://archive.org/details/stackexchange")


@TASKS.add("shakespeare", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class Shakespeare(CorpusTask):
    """The next word in Shakespeare's plays; of 1,340 roles 243 speak 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the first for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_shakespeare_by_role.jsonl", "https://www.gutenberg.org")


@TASKS.add("text-leaf", paper="Caldas et al., LEAF, 2018", presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class LeafText(TextTask):
    """The next word in texts of yours in LEAF's JSON; `path` is a file, or a folder of them."""

    path: str

    def _origin(self) -> tuple[Callable[..., Source], tuple[str, ...]]:
        return _at, ("leaf", self.path)


@TASKS.add("text-stackexchange", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class StackExchangeDump(TextTask):
    """The next word in a Stack Exchange dump of yours; `path` is a Posts.xml or a Comments.xml.

    With Superuser's dump and posts=150 this is the setting of NCCB.
    """

    path: str

    def _origin(self) -> tuple[Callable[..., Source], tuple[str, ...]]:
        return _at, ("stack_exchange", self.path)


@TASKS.add("text-yelp", paper=_NCCB, presets=_SMALL)
@dataclass(frozen=True, kw_only=True)
class YelpReviews(TextTask):
    """The next word in Yelp's reviews, if you have them; `path` is the file of reviews as JSON lines.

    With posts=150 and layers=5 this is the setting of NCCB.
    """

    path: str

    def _origin(self) -> tuple[Callable[..., Source], tuple[str, ...]]:
        return _at, ("yelp", self.path)


_READERS = {"leaf": read_leaf, "stack_exchange": read_stack_exchange, "yelp": read_yelp}


def _at(form: str, path: str) -> Source:
    return functools.partial(_READERS[form], Path(path).expanduser())


@functools.cache
def _prepared(
    find: Callable[..., Source],
    where: tuple[str, ...],
    what: str,
    tokens: int,
    posts: int,
    *rest: Any,
) -> Prepared:
    authors = writers(find(*where), tokens, posts, what)
    vocabulary, length, stop_words, validation = rest
    return prepare(authors, vocabulary, length, stop_words, validation, what)
