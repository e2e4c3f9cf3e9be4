"""Which backend will train a run, and why, in a sentence for `--verbose`.

The choice follows the model, not a stopwatch: two backends differ in the last bits of a sum, and the same seed has to
give the same history on a busy machine and on a quiet one. Which of them is faster was measured once, see
docs/performance.md.
"""

from __future__ import annotations

from callup.core.errors import CallupError
from callup.simulation.backends.cores import hands
from callup.simulation.settings import Settings
from callup.simulation.task import TASKS, Loaded, Mlp, WordLstm

_SPREAD = {"numpy": "processes", "torch": "processes", "compiled": "threads"}
_SPREAD_WORDS = {"numpy": "threads"}


def explain(settings: Settings) -> str:
    """One sentence; loads the task's data, which the run then finds loaded."""
    task = TASKS.make(settings.task).load()
    name, why = chosen(settings.backend, task)
    kinds = _SPREAD_WORDS if isinstance(task.model, WordLstm) else _SPREAD
    number = hands(settings.workers)
    crew = "one core" if number == 1 or name not in kinds else f"{number} {kinds[name]}"
    if settings.workers == "auto" and crew != "one core":
        crew = f"one core, or {crew} where that is faster"
    return f"backend {name} for {settings.task} on {crew}: {why}"


def chosen(name: str, task: Loaded) -> tuple[str, str]:
    """The name that `auto` stands for, and the reason; another name is its own reason."""
    if name != "auto":
        return name, "asked for by name"
    if isinstance(task.model, Mlp):
        return "numpy", "all clients of a round train in batched products, faster than one after the other"
    if isinstance(task.model, WordLstm):
        return "numpy", "next-word models train in batched products, faster than torch"
    from callup.simulation.backends.compiled.plan import find_plan

    try:
        find_plan(task.model, task.data.train.x.shape[1:])
    except CallupError as reason:
        return "torch", f"the faster compiled kernels cannot be used: {reason}"
    return "compiled", "the kernels know this network and are faster than torch"
