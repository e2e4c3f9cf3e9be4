"""docs/reproduction.md says what the stored results say."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "reproduction.py"


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("reproduction_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.render(), "run python docs/reproduction.py"
