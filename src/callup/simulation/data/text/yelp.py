"""Yelp's reviews as published: JSON lines with user_id, text and date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from callup.simulation.data.text.json_lines import field, objects
from callup.simulation.data.text.posts import Post


def read_yelp(path: Path) -> Iterator[Post]:
    """Every review."""
    for number, found in objects(path):
        where = f"{path}, line {number:,}"
        yield Post(field(found, "user_id", str, where), field(found, "text", str, where), str(found.get("date", "")))
