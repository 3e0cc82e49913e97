"""The pages of the documentation keep their word: examples print what they say that they print,
pictures are there, and the site builds.
"""

import json
import os
import re
import runpy
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import diffop

from .formulas import unset
from .links import broken, broken_in_notebooks
from .pages import BLOCK, DOCS, agree, run, updated

PAGES = {
    str(path.relative_to(DOCS)): text
    for path in sorted(DOCS.rglob("*.md"))
    if BLOCK.search(text := path.read_text(encoding="utf-8"))
}
ELSEWHERE = re.compile(r"<(?:script|img|link rel=.?stylesheet)[^>]+(?:src|href)=.?(?:https?:)?//")
ADDRESS = "https://example.org/diffop/"
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")


TRAINS = re.compile(r"\bdo\.train\.(?:fit|solve)\(|\boptax\.")
CASES = [
    pytest.param(page, marks=pytest.mark.slow("trains networks") if trains else ())
    for page, text in PAGES.items()
    for trains in [any(TRAINS.search(block["code"]) for block in BLOCK.finditer(text))]
]


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("page", CASES)
def test_blocks_print_what_the_page_says(page, tmp_path, monkeypatch):
    """Where readers are: on one CPU, and not on the several devices of the tests."""
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for ran in run(PAGES[page], page, tmp_path):
        assert not ran.promised or agree(ran.printed, ran.promised), (
            f"block {ran.number} of {page} prints\n{ran.printed}instead of\n{ran.promised}"
            f"`python -m tests.project.pages docs/{page}` writes what it prints into the page"
        )
    for picture in (tmp_path / "pictures").glob("*.png"):
        assert f"(pictures/{picture.name})" in PAGES[page]


def test_what_agrees():
    assert agree("π is 3.1416", "π is 3.1415")
    assert not agree("π is 3.1416", "π is 3.1413")
    assert not agree("e is 2.72", "π is 2.72")
    assert agree("loss 2.0e-03 of 1,000", "loss 3.1e-03 of 1,000")
    assert not agree("loss 2.0e-03", "loss 4.1e-03")
    assert not agree("3 jets", "4 jets")


def test_outputs_are_written_into_a_page(tmp_path):
    page = 'a\n\n```python\nx = 2\nprint(x)\n```\n\n```text title="Output"\n3\n```\n\nb\n'
    new = updated(page, "page", tmp_path)
    assert new == page.replace("\n3\n", "\n2\n")
    assert updated(new, "page", tmp_path) == new


def test_lines_are_counted():
    """Those of five problems as three libraries write them, on the page for who comes from one."""
    text = PAGES["how_to/migrating.md"]
    table = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    sections = re.split("^### ", text[text.index("## Systems and cond") :], flags=re.MULTILINE)[1:]
    for row, section in zip(table, sections, strict=True):
        blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        counts = [sum(bool(line.strip()) for line in block.splitlines()) for block in blocks]
        given = blocks[0].startswith(("def solution", "places = "))  # to all three
        ours, theirs, jinns = counts[given : given + 3]
        assert row == (str(theirs), str(jinns), str(ours))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_pictures_are_there(page):
    for link in PICTURE.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / link).is_file(), link


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly: a link that leads nowhere, a name that is not documented or a
    formula that cannot be set is an error.
    """
    path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": ADDRESS}
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return path


def test_the_site_needs_nothing_from_elsewhere(site):
    """No page loads a script, a style or a font from another host."""
    for page in site.rglob("*.html"):
        assert not ELSEWHERE.search(page.read_text(encoding="utf-8")), page
    assert "fonts/mathematics.woff" in (site / "style.css").read_text(encoding="utf-8")
    assert (site / "fonts" / "mathematics.woff").read_bytes()[:4] == b"wOFF"


def test_every_link_leads_somewhere(site):
    assert list(broken(site)) == []
    assert list(broken_in_notebooks(site, ADDRESS)) == []


def test_formulas_are_set(site):
    """None stands as plain text, on the pages or in what the reference takes from docstrings."""
    pages = sorted(site.rglob("*.html"))
    found = {page.name: lines for page in pages if (lines := list(unset(page.read_text("utf-8"))))}
    assert not found, "put $…$ around formulas, and backticks around code"
    assert (site / "devdocs" / "probes.html").read_text("utf-8").count("<math") > 10


def test_what_is_an_unset_formula():
    for line in ("u_t + u u_x", "e^θ", "the slope ∂x", "|x|² is", "about 1/√d", "a $x", "u_(i)"):
        assert list(unset(f"<p>so {line}</p>")) == [f"so {line}"]
        assert not list(unset(f"<p>so <code>{line}</code> and <math><mi>{line}</mi></math></p>"))
    assert not list(unset("<h3><span class='doc doc-object-name'>null_shape</span></h3>"))
    assert not list(unset("<p>H₂ in 4 dimensions, a line - of text, x = 1</p>"))


@pytest.mark.parametrize(
    ("unicode", "latex"),
    {
        "∂_x² log F": r"∂_x^{2} \log  F",
        "u_xxx": r"u_{xxx}",
        "Σᵢ aᵢ": r"\sum _{i} a_{i}",
        "1/√(c/(a + b))": r"1/\sqrt{(c/(a + b))}",
        "R̂²": r"\hat{R}^{2}",
        "½ tr(σσᵀ)": r"\tfrac{1}{2} \operatorname{tr}(σσ^{T})",
        "d = 100,000": "d = 100{,}000",
        r"D^2u \to \frac12": r"D^2u \to \frac12",
    }.items(),
)
def test_unicode_in_formulas(unicode, latex):
    assert runpy.run_path(str(DOCS / "hooks" / "formulas.py"))["_as_latex"](unicode) == latex


def test_links_that_lead_nowhere_are_found(tmp_path):
    pages = {
        "index.html": '<a href="a/b.html#there">1</a><a href="a/b.html#nowhere">2</a>',
        "a/b.html": '<i id="there"></i><a href="..">3</a><img src="c.png"><a href="../../x">4</a>',
    }
    (tmp_path / "a").mkdir()
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    found = ["a/b.html: ../../x", "a/b.html: c.png", "index.html: a/b.html#nowhere"]
    assert sorted(broken(tmp_path)) == found


def test_links_of_a_notebook_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<i id="there"></i>')
    links = [f"{ADDRESS}a.html#there", f"{ADDRESS}a.html#nowhere", "a.html", "drawn.png", "not.png"]
    text = " ".join(f"[1]({link})" for link in links)
    cells = [{"source": [text]}, {"cell_type": "code", "source": ['savefig("drawn.png")']}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    found = [f"a.ipynb: {ADDRESS}a.html#nowhere", "a.ipynb: a.html", "a.ipynb: not.png"]
    assert sorted(broken_in_notebooks(tmp_path, ADDRESS)) == sorted(found)


PRICED = {
    "$∂_x∂_y$": ["xy"],
    "$∂_x²∂_y$": ["xxy"],
    "$∂_x²∂_y²$": ["xxyy"],
    "$∂_x∂_y∂_z$": ["xyz"],
    "2D Korteweg-de Vries: seven derivatives": ["ty", "xxxy", "yy", "xy", "x", "xx", "y"],
    "2D Kadomtsev-Petviashvili: five": ["tx", "xxxx", "x", "xx", "yy"],
    "gradient-enhanced 1D Korteweg-de Vries: eight": [
        "t", "x", "xxx", "tt", "tx", "txxx", "xx", "xxxx",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PRICED)
def test_prices_of_plans(name):
    """The table of planning.md has the plans' own numbers."""
    table = (DOCS / "devdocs" / "planning.md").read_text()
    counts = [[word.count(letter) for letter in "txyz"] for word in PRICED[name]]
    joint = diffop.exact([diffop.Mixed(tuple(each)) for each in counts])
    plans = [
        joint.jets(jnp.ones(4), plan=kind) for kind in ("nested", "power", diffop.baselines.paper)
    ]
    numbers = [plan.coefficients for plan in plans]
    assert f"| {name} | {' | '.join(map(str, numbers))} |" in table
