"""Texts with their authors, and who has written enough to be a client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from callup.core.errors import InputError


class Post(NamedTuple):
    """One text by one author; posts of one author are put in the order of `when`, as far as it tells them apart."""

    author: str
    text: str
    when: str = ""


Source = Callable[[], Iterator[Post]]
"""Reads the posts from the beginning, each time it is called."""


@dataclass(frozen=True)
class Author:
    """Everything one person wrote, oldest first."""

    name: str
    texts: tuple[str, ...]


def writers(source: Source, tokens: int, posts: int, what: str) -> list[Author]:
    """Authors of at least so many words, as spaces separate them, in at least so many posts; by name.

    The source is read twice, and only what is needed is kept: a file may be far larger than memory.
    """
    words, written = Counter[str](), Counter[str]()
    for post in source():
        words[post.author] += len(post.text.split())
        written[post.author] += 1
    chosen = {name for name in words if words[name] >= tokens and written[name] >= posts}
    if not chosen:
        raise InputError(
            f"{what}: none of {len(words):,} authors wrote {tokens:,} words or more in {posts:,} posts or more; "
            "lower tokens or posts"
        )
    kept: dict[str, list[Post]] = {name: [] for name in sorted(chosen)}
    for post in source():
        if post.author in kept:
            kept[post.author].append(post)
    return [
        Author(name, tuple(post.text for post in sorted(own, key=lambda post: post.when))) for name, own in kept.items()
    ]
