"""Stack Exchange's dumps: Posts.xml, where a row has an OwnerUserId and a Body, or Comments.xml with UserId and Text.

A file may come from anywhere, so declarations of its own, which is how XML is made to explode or to read other files,
are refused.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from callup.core.errors import InputError
from callup.simulation.data.files import opened
from callup.simulation.data.text.posts import Post

_CHUNK = 1 << 20
_BLOCKS_OF_CODE = re.compile(r"<pre\b.*?</pre>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_WRITTEN = {"1", "2"}  # questions and answers; other types are the site's own pages


def read_stack_exchange(path: Path) -> Iterator[Post]:
    """Questions, answers or comments whose author is known, without mark-up and without blocks of code."""
    waiting: deque[Post] = deque()
    rows = 0

    def refuse(*_: object) -> NoReturn:
        raise InputError(f"{path}: declares a document type or entities, which Stack Exchange's dumps never do")

    def start(name: str, found: dict[str, str]) -> None:
        nonlocal rows
        if name == "row":
            rows += 1
            if post := _post(found):
                waiting.append(post)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    with opened(path) as (stream, _):
        while True:
            chunk = stream.read(_CHUNK)
            try:
                parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                raise InputError(f"{path}: is not whole XML ({error}); it may be cut short, fetch it again") from error
            yield from _drained(waiting)
            if not chunk:
                break
    if not rows:
        raise InputError(f"{path}: has no rows; expected Posts.xml or Comments.xml of a Stack Exchange dump")


def _post(row: dict[str, str]) -> Post | None:
    author = row.get("OwnerUserId") or row.get("UserId")
    text = row.get("Body") or row.get("Text")
    if not author or not text or row.get("PostTypeId", "1") not in _WRITTEN:
        return None
    plain = html.unescape(_TAG.sub(" ", _BLOCKS_OF_CODE.sub(" ", text))) if "Body" in row else text
    return Post(author, plain, row.get("CreationDate", ""))


def _drained(waiting: deque[Post]) -> Iterator[Post]:
    while waiting:
        yield waiting.popleft()
