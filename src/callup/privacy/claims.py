"""One line on what a mode promises: against whom, how much, who can decrypt, and when it breaks. Nothing less."""

from __future__ import annotations

from callup.privacy.modes import Mode

_HIDDEN = (
    "only the selector can decrypt; the server learns no count unless it colludes with the selector; the selector gets "
    "the {rows} out of the inner products, up to the names of the classes"
)


def claims(mode: Mode) -> str:
    """Adjacency and epsilon, who can decrypt, and what collusion or curiosity breaks."""
    if mode.epsilon is None:
        noise, rows, still = "no noise, so no epsilon", "label counts", ""
    else:
        noise = (
            f"epsilon {mode.epsilon:g} for one record replaced by another (sizes known), one release per data version"
        )
        rows = "noised label counts"
        still = "; epsilon holds whoever colludes, and does not hide what kind of client it is"
    open_to_all = f"nothing is encrypted; the server and the selector see every client's {rows}"
    seen = open_to_all if mode.protection == "plain" else _HIDDEN.format(rows=rows)
    return f"{mode.name}: {noise}; {seen}{still}"
