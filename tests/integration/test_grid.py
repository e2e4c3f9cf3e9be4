"""Grids of runs: the same histories for any number of processes, failures told by name, nothing lost on Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import pytest

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.experiments.grid import Cell, CellFailed, run_grid
from callup.experiments.race import SCENARIOS, race_cells
from callup.simulation.run import RoundRecord
from callup.simulation.settings import Settings
from callup.simulation.store import load_runs, write_config

SMALL = Settings(partition="dirichlet:clients=20,alpha=0.5", k=4, rounds=3, local={"epochs": 1})


class Notebook:
    """A watcher that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def started(self, cell: Cell, clients: Clients) -> None:
        self.told.append(("started", cell.name))

    def round(self, cell: Cell, record: RoundRecord) -> None:
        self.told.append(("round", cell.name))

    def finished(self, cell: Cell) -> None:
        self.told.append(("finished", cell.name))

    def failed(self, cell: Cell, message: str) -> None:
        self.told.append(("failed", cell.name))


def cells() -> list[Cell]:
    return [
        Cell(f"{name}-{seed}", SMALL.but(selector=name, seed=seed)) for name in ("random", "fedacs") for seed in (0, 1)
    ]


def test_histories_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    books = [Notebook(), Notebook()]
    alone = run_grid(cells(), tmp_path / "one", 1, books[0])
    together = run_grid(cells(), tmp_path / "two", 2, books[1])
    assert [run.history for run in alone] == [run.history for run in together]
    assert sorted(books[0].told) == sorted(books[1].told)
    assert books[0].told.count(("round", "fedacs-1")) == 3


def test_one_failing_cell_is_named_and_the_others_are_run(tmp_path: Path) -> None:
    broken = Cell("broken", SMALL.but(partition="dirichlet:clients=100000,alpha=0.5"))
    book = Notebook()
    with pytest.raises(CellFailed, match="broken: ") as caught:
        run_grid([broken, *cells()], tmp_path, 2, book)
    assert caught.value.exit_code in (2, 3)  # the user's mistake, not a failed run
    assert ("failed", "broken") in book.told
    assert len(load_runs(tmp_path)) == 4


class Impatient(Notebook):
    """Presses Ctrl-C after the second round it hears of."""

    def round(self, cell: Cell, record: RoundRecord) -> None:
        super().round(cell, record)
        if sum(kind == "round" for kind, _ in self.told) == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_done_before_ctrl_c_is_on_disk(tmp_path: Path, jobs: int) -> None:
    long = [Cell(f"long-{seed}", SMALL.but(rounds=2000, seed=seed)) for seed in range(3)]
    with pytest.raises(KeyboardInterrupt):
        run_grid(long, tmp_path, jobs, Impatient())
    assert sum(len(run.history) for run in load_runs(tmp_path)) >= 2


def test_a_run_stopped_before_its_first_round_does_not_hide_the_others(tmp_path: Path) -> None:
    run_grid(cells(), tmp_path, 1, Notebook())
    write_config(tmp_path / "stopped", SMALL.plain())  # the first file of a run; Ctrl-C came before the second
    assert len(load_runs(tmp_path)) == 4
    with pytest.raises(InputError, match=r"clients\.safetensors is missing"):
        load_runs(tmp_path / "stopped")


def test_runs_that_were_all_stopped_too_soon_are_said_to_be(tmp_path: Path) -> None:
    write_config(tmp_path / "stopped", SMALL.plain())
    with pytest.raises(InputError, match=r"got to its first round; go on with: callup resume .*stopped"):
        load_runs(tmp_path)


def test_a_race_pairs_every_method_with_every_seed() -> None:
    made = race_cells(["random", "fed-cbs:sharp"], seeds=2, seed=5, quick=True)
    assert len(made) == 2 * 2 * len(SCENARIOS)
    assert len({cell.name for cell in made}) == len(made)
    assert {cell.settings.seed for cell in made} == {5, 6}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"methods": ["radnom"]}, "did you mean 'random'"),
        ({"scenarios": ["skewd"]}, "did you mean 'skewed'"),
        ({"seeds": 0}, "seeds must be"),
    ],
)
def test_a_typo_is_told_before_the_race(arguments: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        race_cells(**arguments)
