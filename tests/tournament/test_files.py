"""The tournament as data: every selector plays, every world can be read, and the page says what is stored."""

import importlib.util
from pathlib import Path

import pytest

from callup.core.catalogue import SELECTORS
from callup.core.errors import InputError
from callup.core.spec import parse_spec
from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.cup import read_cup
from callup.experiments.tournament.entry import at_scale

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "papers" / "tournament"
CUPS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def test_every_selector_of_callup_plays():
    playing = {parse_spec(method.settings["selector"])[0] for method in read_cup(FOLDER).methods}
    assert playing == {card.name for card in SELECTORS.cards()}


def test_the_worlds_of_all_papers_are_there():
    places = {place.name for world in read_cup(FOLDER).worlds if not world.held_out for place in world.places}
    for alpha in (0.1, 0.2, 0.5):
        for world in ("fashion", "cifar"):
            assert f"{world}-dirichlet: alpha={alpha}" in places
    for skew in ("low", "high"):
        assert {f"fashion-layered: {skew}", f"cifar-layered: {skew}"} <= places
    for count, kind in ((1, "exclusive"), (2, "exclusive"), (3, "exclusive"), (2, "shared"), (3, "shared")):
        for variant in ("average", "average, 20 % lost", "by quantity"):
            assert f"fashion-mavericks: {count} {kind}, {variant}" in places
    assert {"fashion-heterogeneity: by client", "fashion-heterogeneity: by class", "writers: by writer"} <= places


@pytest.mark.parametrize("name", CUPS)
@pytest.mark.parametrize("scale", ["check", "small"])
def test_every_cell_has_valid_settings_and_a_name_of_its_own(name, scale, tmp_path):
    cup = at_scale(read_cup(FOLDER, name), scale)
    board = Board(cup, Results(tmp_path))
    cells = [
        board.cell(place, method, seed)
        for place in board.places
        for method in cup.playing(place.world)
        for seed in range(cup.seeds)
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    assert all(cell.seconds > 0 for cell in cells)
    names = {method.name for method in cup.methods}
    assert set(cup.check.methods) <= {method.name for method in read_cup(FOLDER, name).methods}
    for world in cup.worlds:
        # The last fifth has four evaluations or more.
        assert world.base["rounds"] / world.base["evaluate_every"] >= 20 or scale == "check"
        assert scale == "check" or name != "tournament" or {*world.absent, *world.presets} <= names


def test_mistakes_in_a_file_are_told_with_its_name(tmp_path):
    (tmp_path / "worlds").mkdir()
    head = 'title = "t"\n[check]\nworlds = []\nmethods = []\nsettings = {}\n'
    random = '[[methods]]\nname = "random"\nselector = "random"\n'
    cases = {
        "title = ": "tournament.toml is damaged",
        head: "tournament.toml: no method is called 'random'",
        head.replace('"t"\n', '"t"\nworlds = ["x"]\n') + random: "tournament.toml: no world is called 'x'",
        head.replace('"t"\n', '"t"\nseeds = 1\n') + random: "first is 2, more than all seeds, 1",
        head + random + random: "two methods have the same name",
        head.replace("title", "titel") + random: "cup has no parameter 'titel'; did you mean 'title'",
    }
    for text, said in cases.items():
        (tmp_path / "tournament.toml").write_text(text)
        with pytest.raises(InputError, match=said):
            read_cup(tmp_path)
    (tmp_path / "tournament.toml").write_text(head + random)
    whole = 'title = "t"\nseconds = 1.0\nafter = "x"\n[sources]\n[base]\n[[environments]]\nname = "e"\n'
    (tmp_path / "worlds" / "w.toml").write_text(whole)
    with pytest.raises(InputError, match="w comes after 'x', which is no world that comes first"):
        read_cup(tmp_path)
    for text, said in {"title = 1": "world: title must be text", "environments = [{}]": "needs a name"}.items():
        (tmp_path / "worlds" / "w.toml").write_text(text)
        with pytest.raises(InputError, match=f"w.toml.*{said}"):
            read_cup(tmp_path)


def test_a_cup_may_have_few_places(tmp_path):
    (tmp_path / "worlds").mkdir()
    for name, seconds in (("dear", 2.0), ("cheap", 1.0)):
        text = f'title = "t"\nseconds = {seconds}\n[sources]\n[base]\n[[environments]]\nname = "e"\n'
        (tmp_path / "worlds" / f"{name}.toml").write_text(text)
    rest = '[check]\nworlds = []\nmethods = []\nsettings = {}\n[[methods]]\nname = "random"\nselector = "random"\n'

    def places(line):
        (tmp_path / "tournament.toml").write_text(f'title = "t"\n{line}\n{rest}')
        return [place.name for world in read_cup(tmp_path).worlds for place in world.places]

    assert places("") == ["cheap: e", "cheap: e, 20 % lost", "dear: e", "dear: e, 20 % lost"]
    assert places('worlds = ["dear"]') == ["dear: e", "dear: e, 20 % lost"]
    assert places('places = ["dear: e, 20 % lost", "cheap: e"]') == ["cheap: e", "dear: e, 20 % lost"]
    with pytest.raises(InputError, match="no place is called 'dear: f'; did you mean 'dear: e'"):
        places('places = ["dear: f"]')
    with pytest.raises(InputError, match="worlds and places are both given"):
        places('worlds = ["dear"]\nplaces = ["dear: e"]')


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("tournament_page", ROOT / "docs" / "tournament.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.render(), "run python docs/tournament.py"
