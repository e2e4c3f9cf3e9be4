"""The study FedEMD starts from, on fashion14-mlp: when it calls a Maverick, and what a Maverick is worth by round.

`python docs/studies/fedemd.py` runs it (about ten minutes on two cores) and writes fedemd.md and its pictures.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from callup.aggregation.contribution import Measure
from callup.report.curves import Curve
from callup.report.lines import line_chart
from callup.report.standalone import standalone
from callup.report.styles import style
from callup.selectors.fedemd import FedEmd
from callup.simulation.maverick_study import Worth, maverick_calls, maverick_study

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parent / "methods" / "pictures"
BETAS = (0.008, 0.01, 0.1, "auto")
SEEDS, ROUNDS = 20, 200
STUDY_SEEDS, COHORTS = 8, 2


def chances(beta: float | str) -> tuple[np.ndarray, np.ndarray]:
    seen = maverick_calls(FedEmd(beta=beta), rounds=ROUNDS, seeds=range(SEEDS))  # type: ignore[arg-type]
    return seen.chance, seen.called


def worth(metric: str) -> Worth:
    return maverick_study(seeds=range(STUDY_SEEDS), cohorts=COHORTS, measure=Measure(metric=metric))  # type: ignore[arg-type]


def curve(n: int, name: str, rounds: np.ndarray, table: np.ndarray) -> Curve:
    """A line through the mean of each row, with a band of one standard error either way."""
    mean = table.mean(axis=1)
    spread = table.std(axis=1) / np.sqrt(table.shape[1])
    parts = (rounds, mean, np.maximum(mean - spread, 0), mean + spread)
    x, middle, low, high = (tuple(part.tolist()) for part in parts)
    return Curve(n, name, style(n), x, middle, low, high, table.shape[1], False)


def draw(name: str, title: str, curves: list[Curve], target: float | None = None) -> str:
    (PICTURES / f"{name}.svg").write_text(standalone(line_chart(curves, title, True, target)), encoding="utf-8")
    return f"![{title}](pictures/{name}.svg)"


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        values = dict(zip(("loss", "accuracy"), pool.map(worth, ("loss", "accuracy")), strict=True))
        calls = dict(zip(BETAS, pool.map(chances, BETAS), strict=True))
    when = np.array([0, 49, 99, 199])
    lines = [
        "## When it calls a Maverick",
        "",
        f"One of 50 clients owns a whole class of fashion14-mlp; five are called in each of {ROUNDS} rounds, everybody",
        f"online, {SEEDS} seeds. Random selection would call the Maverick 5 times in 50 rounds; 1/N is .02.",
        "",
        draw(
            "fedemd-chance",
            "Chance of the Maverick in a single draw, by round",
            [curve(n, f"beta={b}", np.arange(1, ROUNDS + 1), calls[b][0].T) for n, b in enumerate(BETAS)],
        ),
        "",
        "| beta | chance in round 1, 50, 100, 200 | mean chance | calls in rounds 1-50, 51-100, 101-150, 151-200 |",
        "|---|---|---|---|",
    ]
    for beta, (chance, called) in calls.items():
        at = ", ".join(f"{v:.4f}" for v in chance.mean(axis=0)[when])
        quarters = ", ".join(f"{v:.1f}" for v in called.reshape(SEEDS, 4, 50).sum(axis=2).mean(axis=0))
        lines.append(f"| {beta} | {at} | {chance.mean():.4f} | {quarters} |")
    rounds = values["loss"].rounds
    lines += [
        "",
        "## What a Maverick is worth",
        "",
        "Its relative Shapley value within a cohort of it and four random others, from 0 for the least to 1 for the",
        "greatest, under random selection with the authors' local training and the weighted average,",
        f"{STUDY_SEEDS} seeds of {COHORTS} cohorts each. In brackets the mean of the whole cohort, the dotted line of",
        "the paper's Figure 2.",
        "",
        draw(
            "fedemd-worth",
            "Relative Shapley value of the Maverick and mean of its cohort, by round",
            [
                curve(0, "Maverick, by loss", rounds, values["loss"].relative),
                curve(1, "Maverick, by accuracy", rounds, values["accuracy"].relative),
                curve(2, "cohort, by loss", rounds, values["loss"].average),
            ],
        ),
        "",
        "| round | by loss | by accuracy |",
        "|---|---|---|",
    ]
    for row, index in enumerate(rounds):
        cells = (
            f"{w.relative[row].mean():.2f} ({w.average[row].mean():.2f})" for w in (values["loss"], values["accuracy"])
        )
        lines.append(f"| {index} | " + " | ".join(cells) + " |")
    (HERE / "fedemd.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
