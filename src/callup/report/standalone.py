"""One picture as a file of its own: the page's drawing with its look inside, for documentation."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from callup.report import styles

_CSS = Path(__file__).parent / "templates" / "page.css"
_FONT = "svg { font-family: system-ui, sans-serif; font-variant-numeric: tabular-nums; background: var(--page); }"


def standalone(picture: Markup) -> str:
    """An SVG file that looks as it does in the report, on light and on dark pages."""
    shades = []
    for n, (light, dark) in enumerate([*styles.PALETTE, styles.GREY]):
        shades.append(f".s{n} {{ --c: {light}; }}")
        shades.append(f"@media (prefers-color-scheme: dark) {{ .s{n} {{ --c: {dark}; }} }}")
    look = "\n".join([_drawing_rules(_CSS.read_text(encoding="utf-8")), *shades, _FONT])
    head, _, rest = str(picture).partition(">")
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{look}</style>{rest}\n'


def _drawing_rules(css: str) -> str:
    """Colours, and the rules from the charts on up to the layout of panels."""
    colours = css[: css.index(':root[data-theme="dark"]')]
    return colours + css[css.index("svg text") : css.index(".panels {")]
