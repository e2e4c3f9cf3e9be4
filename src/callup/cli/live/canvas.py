"""Lines of coloured words, drawn with as little work as possible: they are redrawn several times a second."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

Word = tuple[str, str]
"""Text and the style it is written in."""
Line = list[Word]


class Canvas:
    """Lines, each cut at the edge of the terminal."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            words = [Segment(text, Style.parse(style)) for text, style in line]
            yield from Segment.adjust_line_length(words, options.max_width, pad=False)
            yield Segment.line()


def cut(text: str, width: int) -> str:
    """The text in at most this many columns; what is too long ends in an ellipsis."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def left(text: str, width: int) -> str:
    """The text in exactly this many columns, at the left of them."""
    return set_cell_size(cut(text, width), width)


def right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def beside(blocks: Sequence[Sequence[Line]], gap: int) -> list[Line]:
    """Blocks of lines next to each other, all as wide as the widest line in any of them."""
    width = max(_length(line) for block in blocks for line in block)
    lines: list[Line] = []
    for row in range(max(map(len, blocks))):
        parts = [block[row] if row < len(block) else [] for block in blocks]
        lines.append([word for part in parts for word in (*part, (" " * (width - _length(part) + gap), ""))])
    return lines


def _length(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)
