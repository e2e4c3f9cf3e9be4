"""Templates filled in: whatever is put in is text, never markup, unless it was made as such here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from callup.report import wording

FOLDER = Path(__file__).parent / "templates"


def rendered(template: str, own: Path | None = None, **values: Any) -> str:
    """The template from the report's folder, or from one of the caller's own that may use the report's too."""
    return _environment(own).get_template(template).render(style=_style(), **values)


@cache
def _environment(own: Path | None) -> Environment:
    made = Environment(
        loader=FileSystemLoader([*([own] if own else []), FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {name: getattr(wording, name) for name in ("percent", "number", "size", "seconds")}
    return made


@cache
def _style() -> Markup:
    return Markup((FOLDER / "page.css").read_text(encoding="utf-8"))
