"""Tutorials as notebooks: the code of each is that of its page; and the list of examples."""

import importlib.util
import json
import re

import pytest

from .pages import BLOCK, DOCS

TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
EXAMPLES = DOCS.parent / "examples"


def hook():
    path = DOCS / "hooks" / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_code_is_that_of_the_page(page):
    text = page.read_text(encoding="utf-8")
    made = hook().notebook(text)
    cells = json.loads(made)["cells"]
    prepared, *code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    compile(prepared, "the first cell", "exec")
    assert code == [block["code"].rstrip("\n") for block in BLOCK.finditer(text)]
    assert "%%" not in made and 'title=\\"Output\\"' not in made
    words = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert words[0].startswith("# ")
    assert made == hook().notebook(text)


def test_links_lead_to_the_site_or_are_left_out():
    page = "# A\n\n[`b`](c.md), [`d`][], [e][f], ![g](h.png), `x[i](j)`, $a[k](l)$\n"

    def words(address) -> str:
        return "".join(json.loads(hook().notebook(page, address))["cells"][1]["source"])

    assert words(lambda link: f"there/{link}").splitlines()[2] == (
        "[`b`](there/c.md), [`d`](there/d), [e](there/f), ![g](there/h.png), `x[i](j)`, $a[k](l)$"
    )
    assert words(lambda _: None).splitlines()[2] == "`b`, `d`, e, g, `x[i](j)`, $a[k](l)$"


def test_every_example_is_listed():
    listed = re.findall(r"\(examples/(\S+)\)", (DOCS / "examples.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("*.py"))
