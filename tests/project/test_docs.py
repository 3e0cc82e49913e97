"""The pages of the documentation keep their word: their examples run."""

import pathlib
import re

import pytest

from diffop.jets.expansion import alpha_of
from diffop.jets.planner import plan

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = {
    str(path.relative_to(DOCS)): blocks
    for path in sorted(DOCS.rglob("*.md"))
    if (blocks := re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE))
}


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_runs(page):
    names: dict = {}
    for number, block in enumerate(PAGES[page]):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


PRICED = {
    "∂_x∂_y": ["xy"],
    "∂_x²∂_y": ["xxy"],
    "∂_x²∂_y²": ["xxyy"],
    "∂_x∂_y∂_z": ["xyz"],
    "2D Korteweg-de Vries: seven derivatives": ["ty", "xxxy", "yy", "xy", "x", "xx", "y"],
    "2D Kadomtsev-Petviashvili: five": ["tx", "xxxx", "x", "xx", "yy"],
    "gradient-enhanced 1D Korteweg-de Vries: eight": [
        "t", "x", "xxx", "tt", "tx", "txxx", "xx", "xxxx",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PRICED)
def test_prices_of_plans(name):
    """The table of planning.md has the planner's own scores."""
    table = (DOCS / "devdocs" / "planning.md").read_text()
    wanted = [alpha_of(word) for word in PRICED[name]]
    scores = [plan(wanted, kind).cost.score for kind in ("nested", "power", "paper")]
    assert f"| {name} | {' | '.join(f'{score:.1f}' for score in scores)} |" in table
