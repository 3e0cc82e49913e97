"""The pages of the documentation keep their word: their examples run."""

import pathlib
import re

import pytest

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
