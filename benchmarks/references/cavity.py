"""Velocities in the driven cavity, for the package's data.

    python -m benchmarks.references.cavity

By the weak form of `clamped.py`. The known stream function has the lid's velocity and the
singularities of the two upper corners, and the functions of each coordinate are polynomials that
are 0 with their slopes at the walls: combinations of Legendre's (Shen 1994, "Efficient
spectral-Galerkin method I"). At a corner ψ is that of Taylor's scraper to first order in the
distance r (Taylor 1962, "On scraping viscous fluid from a plane surface"; Botella and Peyret 1998,
"Benchmark spectral results on the lid-driven cavity flow"), and what remains is of order r². Gauss'
rule in a coordinate that is flat at the ends takes the integrals of 1/r. Newton's method begins
with the flow of a smaller number Re, and of fewer polynomials.

The values are written beside their difference from a computation that has fewer polynomials.
"""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.polynomial import legendre

from .clamped import Axis, Clamped, Field, polynomial, products

DATA = Path(__file__).parents[2] / "src" / "diffop" / "pde" / "classical" / "data"
PLACES = 41
COUNTS: dict[int, tuple[int, ...]] = {
    100: (64, 80),
    400: (64, 80),
    1000: (64, 80),
    5000: (64, 112),
}
"""The numbers Re of the data, and the polynomials of a coarser and of a finer computation."""

_ON_THE_WAY = 2000, 3200
"""Other numbers Re from which Newton's method begins."""

_FEW = 28
_FLAT = 3
_SCRAPED = 4 / (math.pi**2 - 4)


def places() -> np.ndarray:
    """The middles of equal intervals; the centre line is among them."""
    return (np.arange(PLACES) + 0.5) / PLACES


def lid(x: np.ndarray, y: np.ndarray) -> Field:
    """A stream function with the velocities of all walls, and Taylor's in the corners."""
    falls = polynomial(x, (1.0, 0.0, -3.0, 2.0))
    rises = polynomial(x, (0.0, 0.0, 3.0, -2.0))
    deep = polynomial(y, (0.0, 0.0, 3.0, -2.0), along_y=True)
    left, right = _scraper(x, 1 - y), _scraper(1 - x, 1 - y)
    mirrored = right._replace(x=-right.x)
    both = falls.times(left._replace(y=-left.y)) + rises.times(mirrored._replace(y=-mirrored.y))
    return deep.times(both)


def _scraper(x: np.ndarray, s: np.ndarray) -> Field:
    """ψ in a corner whose wall s = 0 moves with velocity 1 and whose wall x = 0 is at rest."""
    angle, squared = np.arctan2(s, x), x * x + s * s
    c, d, b = _SCRAPED, _SCRAPED * math.pi / 2, -_SCRAPED * math.pi**2 / 4
    return Field(
        b * s + (c * x + d * s) * angle,
        c * angle - (c * x + d * s) * s / squared,
        b + d * angle + (c * x + d * s) * x / squared,
        2 * (d * x - c * s) / squared,
    )


def polynomials(count: int, x: np.ndarray) -> np.ndarray:
    """Those that are 0 with their slopes at 0 and 1, and their first and second derivatives: shape
    `(3, count, places)`.
    """
    n = np.arange(count)
    series = np.zeros((count, count + 4))
    size = 1 / np.sqrt(2 * (2 * n + 3.0) ** 2 * (2 * n + 5))
    series[n, n] = size
    series[n, n + 2] = -2 * (2 * n + 5) / (2 * n + 7) * size
    series[n, n + 4] = (2 * n + 3) / (2 * n + 7) * size
    return np.stack(
        [
            2**order * legendre.legval(2 * x - 1, legendre.legder(series, order, axis=1).T)
            for order in range(3)
        ]
    )


def rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss' nodes and weights on [0, 1], in a coordinate t with x like t³ at the ends."""
    t, weights = legendre.leggauss(count)
    density = np.polynomial.Polynomial([1.0, 0.0, -1.0]) ** (_FLAT - 1)
    integral = density.integ(lbnd=-1)
    return integral(t) / integral(1.0), weights * density(t) / integral(1.0)


def weak_form(count: int) -> Clamped:
    """With so many polynomials in each direction."""
    nodes, weights = rule(3 * count + 40)
    axis = Axis(nodes, weights, polynomials(count, nodes))
    return Clamped(axis, axis, lid(*np.meshgrid(nodes, nodes, indexing="ij")))


def velocities(coefficients: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(u, v) on the grid of x and y, shape `(x, y, 2)`."""
    psi = stream(coefficients, x, y)
    return np.stack([psi.y, -psi.x], axis=2)


def stream(coefficients: np.ndarray, x: np.ndarray, y: np.ndarray) -> Field:
    """The stream function on the grid of x and y."""
    in_x, in_y = (polynomials(len(coefficients), each) for each in (x, y))
    return lid(*np.meshgrid(x, y, indexing="ij")) + products(coefficients, in_x, in_y)


def flows(counts: Mapping[int, Sequence[int]] = COUNTS) -> Iterator[list[np.ndarray]]:
    """The coefficients of the flows with rising numbers Re, each by its rising numbers of
    polynomials.
    """
    form = functools.cache(weak_form)
    found = np.zeros((_FEW, _FEW))
    for reynolds in sorted({*COUNTS, *_ON_THE_WAY}):
        found = form(_FEW).solved(found, reynolds)
        solved = [found]
        for count in counts.get(reynolds, ()):
            solved.append(form(count).solved(solved[-1], reynolds))
        if reynolds in counts:
            yield solved[1:]


def main() -> None:
    DATA.mkdir(exist_ok=True)
    grid = places()
    x, y = np.meshgrid(grid, grid, indexing="ij")
    away = np.hypot(np.minimum(x, 1 - x), 1 - y) > 0.2
    for reynolds, both in zip(COUNTS, flows(), strict=True):
        coarse, fine = (velocities(coefficients, grid, grid) for coefficients in both)
        apart = np.abs(fine - coarse).max(axis=2)
        np.savez_compressed(DATA / f"cavity-{reynolds}.npz", u=fine)
        print(
            f"Re {reynolds}: {apart.max():.1e} from the coarser one, and {apart[away].max():.1e} "
            "farther from the ends of the lid than 0.2"
        )


if __name__ == "__main__":
    main()
