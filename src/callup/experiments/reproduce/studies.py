"""Pictures that are not about accuracy: each study plays one cell and gives a few named numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from callup.experiments.metrics import METRICS
from callup.simulation.settings import Settings

Values = dict[str, float]


def shapley(settings: Settings) -> Values:
    """FedEMD's Figures 2 and 5: the relative Shapley value of client 0, a Maverick, in the rounds it takes part in,
    and that of all who take part in them; in the first half of the run and in the second."""
    from callup.simulation.audit import contributions

    _, rounds = contributions(settings, only=[0])
    half = settings.rounds // 2
    values: Values = {}
    for part, first, last in (("early", 1, half), ("late", half + 1, settings.rounds)):
        own = METRICS["normalised_shapley"](rounds, client=0, first=first, last=last)
        cohort = METRICS["average_shapley"](rounds, first=first, last=last)
        for name, found in ((f"Maverick, {part}", own), (f"cohort, {part}", cohort)):
            if found.value is not None:
                values[name] = found.value
    return values


def class_ratio(settings: Settings) -> Values:
    """Fed-CBS's Figure 2: how far Fed-cucb's estimate of label shares is from the truth, over all clients; half the
    summed difference, beside that of somebody who says that all classes are equally frequent."""
    from callup.simulation.class_ratio_study import estimate_class_ratios

    found = estimate_class_ratios(
        task=settings.task, partition=settings.partition, seed=settings.seed, local=settings.local
    ).compared()
    return {"estimate": float(found.distance.mean()), "blind": float(found.blind.mean())}


STUDIES: Mapping[str, Callable[[Settings], Values]] = {"shapley": shapley, "class-ratio": class_ratio}
