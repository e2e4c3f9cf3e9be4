"""Next-word prediction on what people wrote: every author is a client, as in NCCB."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from callup.core.types import check_k
from callup.simulation.data.text.by_user import corpus
from callup.simulation.data.text.next_word import Prepared, prepare
from callup.simulation.data.text.posts import Source, writers
from callup.simulation.local import LocalTraining
from callup.simulation.task import TASKS, Loaded, Task, WordLstm

NCCB = "Cao, Pan, Zhu, Liu, Birds of a Feather Help"
SMALL = {"small": {"vocabulary": 2000, "embedding": 64, "hidden": 64, "layers": 1}}

Origin = tuple[Callable[..., Source], tuple[Any, ...]]
"""A function that finds texts, and its arguments: together they say which texts these are."""


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
        return _prepared(*self.origin(), self.card.name, *asked)

    @abstractmethod
    def origin(self) -> Origin:
        """Where the texts are."""


@dataclass(frozen=True, kw_only=True)
class CorpusTask(TextTask):
    """Texts by user, in the one form all four corpora have."""

    file: ClassVar[tuple[str, str]]
    """Its name, and where such texts come from."""

    def origin(self) -> Origin:
        return corpus, (self.card.name, *self.file)


@TASKS.add("chitchat", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class Chitchat(CorpusTask):
    """The next word in chat messages; of 1,315 people 251 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_chitchat_by_user.jsonl", "https://pypi.org/project/chitchat-dataset")


@TASKS.add("ubuntu-irc", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class UbuntuIrc(CorpusTask):
    """The next word in Ubuntu's support channel; of 17,008 nicks 222 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_ubuntu_irc_by_nick.jsonl", "https://irclogs.ubuntu.com")


@TASKS.add("stackexchange", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class StackExchange(CorpusTask):
    """The next word on nine small Stack Exchange sites; of 3,139 users 365 wrote 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the oldest for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_stackexchange_by_user.jsonl", "https://archive.org/details/stackexchange")


@TASKS.add("shakespeare", paper=NCCB, presets=SMALL)
@dataclass(frozen=True, kw_only=True)
class Shakespeare(CorpusTask):
    """The next word in Shakespeare's plays; of 1,340 roles 243 speak 1,000 words or more and are clients.

    Stop words are taken out, and everybody keeps equally many words: the first for training, the last for the test.
    Accuracy is over the words that the vocabulary has; the others are read but never asked.

    Differs from the paper: NCCB has other texts (Superuser, Yelp), takes authors of at least 150 posts, and trains at
    rate 0.002, too little for plain SGD on so few words.
    """

    file = ("text_shakespeare_by_role.jsonl", "https://www.gutenberg.org")


@functools.cache
def _prepared(
    find: Callable[..., Source],
    where: tuple[Any, ...],
    what: str,
    tokens: int,
    posts: int,
    vocabulary: int,
    length: int,
    stop_words: bool,
    validation: int,
) -> Prepared:
    authors = writers(find(*where), tokens, posts, what)
    return prepare(authors, vocabulary, length, stop_words, validation, what)
