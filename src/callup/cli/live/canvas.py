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


def left(text: str, width: int) -> str:
    """The text in exactly this many columns; what is too long ends in an ellipsis."""
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def beside(blocks: Sequence[Sequence[Line]], width: int, gap: int) -> list[Line]:
    """Blocks of lines next to each other, each in this many columns."""
    lines: list[Line] = []
    for row in range(max(map(len, blocks))):
        line: Line = []
        for block in blocks:
            words = block[row] if row < len(block) else []
            used = sum(cell_len(text) for text, _ in words)
            line += [*words, (" " * (width - used + gap), "")]
        lines.append(line)
    return lines
