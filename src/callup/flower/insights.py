"""FedACS as an analysis of its own: a live federation is asked once for gradients, and nobody trains."""

from __future__ import annotations

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp import Grid

from callup.analytics.skewness import Skewness, analyse
from callup.core.errors import MissingSignal
from callup.core.signals import Ask, signal
from callup.flower.greeting import Acquaintances
from callup.flower.probing import Prober
from callup.flower.roster import Roster


def ask_insights(grid: Grid, arrays: ArrayRecord, deadline: float = 600.0) -> tuple[Skewness, Roster]:
    """Who is skewed, as far as one gradient of each client tells; and who is who. Two exchanges, no training."""
    known = Acquaintances()
    online = list(grid.get_node_ids())
    known.greet(grid, online, ["num_examples"], deadline)
    known.hear(grid, online, deadline)
    able = np.array(sorted(c for c, card in known.cards.items() if "gradient" in card.answers), np.int64)
    if len(able) < 3:
        raise MissingSignal(
            f"skewness needs the gradient of at least 3 clients, {len(able)} answer it. Add to the client app: "
            f"callup.flower.answer(app, gradient=lambda arrays, context: ...)"
        )
    prober = Prober(grid, known.roster, arrays, [Ask(signal("gradient"), "probe")], 1, deadline)
    vectors = prober.ask("gradient", able)
    heard = np.isfinite(vectors).all(axis=1)
    ids = able[heard]
    sizes = [known.cards[int(c)].facts.get("num_examples") for c in ids]
    given = None if any(size is None for size in sizes) else np.array(sizes, np.float64)
    return analyse(vectors[heard], ids, given), known.roster


def skewness_table(skewness: Skewness, roster: Roster) -> str:
    """The ranking as text, the least skewed first."""
    rows = {int(client): row for row, client in enumerate(skewness.ids)}
    lines = ["rank  client                distance from the mean"]
    for rank, client in enumerate(skewness.ranking, 1):
        lines.append(f"{rank:4d}  {roster.name(int(client)):20.20s}  {skewness.distance[rows[int(client)]]:.6g}")
    return "\n".join(lines)
