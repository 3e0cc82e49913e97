"""The picture of the rooms, drawn from the table of what each may import.

python -m tests.project.rooms

An arrow leads from a room to each that it imports, but not to those that it reaches through others.
A new room needs a place here: a column, a row, and a few words.
"""

from pathlib import Path
from typing import NamedTuple

from .test_structure import ARROWS

PICTURE = Path(__file__).parents[2] / "docs" / "devdocs" / "pictures" / "rooms.svg"

_CENTRES, _WIDTHS = (100, 357, 628), (180, 210, 200)
_PITCH, _HEIGHT, _TOP = 70, 50, 34
_WIDTH = 740


class Place(NamedTuple):
    """Where a room is, in columns 0 to 2 and in rows, and what it says."""

    column: int
    row: int
    words: str
    is_engine: bool = False

    @property
    def centre(self) -> tuple[float, float]:
        return _CENTRES[self.column], _TOP + self.row * _PITCH

    @property
    def half(self) -> tuple[float, float]:
        return _WIDTHS[self.column] / 2, _HEIGHT / 2


PLACES = {
    "train": Place(1, 0, "loops, reports"),
    "runs": Place(1, 1, "settings, results"),
    "pde": Place(1, 2, "problems and samplers"),
    "storage": Place(2, 2, "whole files, digests"),
    "nn": Place(0, 3, "networks, ansätze"),
    "methods": Place(1, 3, "of minimising"),
    "least_squares": Place(1, 4, "derivatives, solvers"),
    "losses": Place(1, 5, "residuals and their squares"),
    "parallel": Place(2, 5, "devices, processes"),
    "baselines": Place(0, 5, "other ways to derivatives"),
    "equations": Place(1, 6, "what u satisfies"),
    "operators": Place(1, 7, "polynomials in ∂", is_engine=True),
    "compat": Place(2, 7, "interfaces of others"),
    "estimators": Place(1, 8, "draws, errors, the choice", is_engine=True),
    "quadrature": Place(2, 8, "what integrals go over"),
    "terms": Place(1, 9, "what operators consist of", is_engine=True),
    "probes": Place(1, 10, "random jets, moments", is_engine=True),
    "jets": Place(1, 11, "directions and weights", is_engine=True),
    "schemes": Place(2, 11, "plans and their costs"),
    "taylor": Place(1, 12, "pushes jets through u", is_engine=True),
    "algebra": Place(2, 12, "how few numbers carry it"),
    "coefficients": Place(1, 13, "arrays that know their places", is_engine=True),
    "kernels": Place(1, 14, "better ways on some devices", is_engine=True),
}
_QUESTIONS = {
    "what is the operator?": 7,
    "which jets compute it?": 11,
    "how are jets pushed?": 12,
    "what do they carry?": 13,
    "who computes it?": 14,
}
_TOWARDS = {
    ("pde", "baselines"): (222, _TOP + 2.6 * _PITCH),
    ("baselines", "estimators"): (214, _TOP + 7.45 * _PITCH),
    ("nn", "losses"): (226, _TOP + 4.6 * _PITCH),
}
"""The point towards which an arrow begins and from which it ends, if it would cross a room."""


def arrows() -> list[tuple[str, str]]:
    """From each room to those that it imports, without those that it reaches through others."""
    return [
        (room, other)
        for room, imported in ARROWS.items()
        for other in sorted(imported)
        if not any(other in reached_from(each) for each in imported)
    ]


def reached_from(room: str) -> set[str]:
    """What a room imports, and what that imports, and so on."""
    return ARROWS[room].union(*(reached_from(each) for each in ARROWS[room]))


def drawn() -> str:
    """The picture, as SVG."""
    height = 2 * _TOP + max(place.row for place in PLACES.values()) * _PITCH
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="15">',
        '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#555"/></marker>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        '<g stroke="#555" stroke-width="1.5" fill="none" marker-end="url(#head)">',
        *(_arrow(*arrow) for arrow in arrows()),
        '</g><g stroke-width="1.5">',
        *(_box(place) for place in PLACES.values()),
        '</g><g text-anchor="middle" fill="#111">',
        *(_words(name, place) for name, place in PLACES.items()),
        '</g><g fill="#555" font-size="12.5">',
        *(_question(words, row) for words, row in _QUESTIONS.items()),
        "</g></svg>",
    ]
    return "\n".join(lines) + "\n"


def _arrow(room: str, other: str) -> str:
    start, end = PLACES[room], PLACES[other]
    point = _TOWARDS.get((room, other))
    (x, y), (u, v) = _edge(start, point or end.centre), _edge(end, point or start.centre)
    between = f"Q{point[0]:g} {point[1]:g} " if point else "L"
    return f'<path id="{room}-{other}" d="M{x:g} {y:g}{between}{u:g} {v:g}"/>'


def _edge(place: Place, towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the centre of a box leaves it."""
    (x, y), (width, height) = place.centre, place.half
    across, down = towards[0] - x, towards[1] - y
    part = min(width / abs(across) if across else 1.0, height / abs(down) if down else 1.0)
    return round(x + part * across, 1), round(y + part * down, 1)


def _box(place: Place) -> str:
    (x, y), (width, height) = place.centre, place.half
    colours = ("#2b3a8f", "#eef1ff") if place.is_engine else ("#8a8a8a", "#f7f7f7")
    return (
        f'<rect x="{x - width:g}" y="{y - height:g}" width="{2 * width:g}" '
        f'height="{2 * height:g}" rx="8" stroke="{colours[0]}" fill="{colours[1]}"/>'
    )


def _words(name: str, place: Place) -> str:
    x, y = place.centre
    return (
        f'<text x="{x}" y="{y - 3:g}" font-weight="600">{name}</text>'
        f'<text x="{x}" y="{y + 16:g}" font-size="12.5">{place.words}</text>'
    )


def _question(words: str, row: int) -> str:
    return f'<text x="25" y="{_TOP + row * _PITCH + 5}">{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
