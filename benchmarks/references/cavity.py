"""Velocities in the driven cavity, for the package's data.

    python -m benchmarks.references.cavity

The stream function ψ, with (u, v) = (ψ_y, −ψ_x) and the vorticity ω = −Δψ, satisfies u·∇ω = Δω/Re;
times a test function, by parts

    ∫ Δψ Δv / Re + ∫ Δψ (ψ_y v_x − ψ_x v_y) = 0    for all v that are 0 with their slopes on walls.

ψ is a known function with the lid's velocity and the singularities of the two upper corners, and a
sum of products of polynomials that are 0 with their slopes at the walls: combinations of Legendre's
(Shen 1994, "Efficient spectral-Galerkin method I"). At a corner ψ is that of Taylor's scraper to
first order in the distance r (Taylor 1962, "On scraping viscous fluid from a plane surface";
Botella and Peyret 1998, "Benchmark spectral results on the lid-driven cavity flow"), and what
remains is of order r². Gauss' rule in a coordinate that is flat at the ends takes the integrals of
1/r. Newton's method begins with the flow of a smaller number Re, and of fewer polynomials.

The values are written beside their difference from a computation that has fewer polynomials.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import solve

DATA = Path(__file__).parents[2] / "src" / "diffop" / "pde" / "classical" / "data"
PLACES = 41
REYNOLDS = (100, 400, 1000)
COUNTS = 64, 80
_FEW = 28
_FLAT = 3
_SCRAPED = 4 / (math.pi**2 - 4)


class Field(NamedTuple):
    """A function's value, slopes and Laplacian on a grid."""

    value: np.ndarray
    x: np.ndarray
    y: np.ndarray
    laplacian: np.ndarray

    def __add__(self, other: tuple) -> "Field":
        return Field(*(mine + its for mine, its in zip(self, other, strict=True)))

    def times(self, other: "Field") -> "Field":
        return Field(
            self.value * other.value,
            self.x * other.value + self.value * other.x,
            self.y * other.value + self.value * other.y,
            self.laplacian * other.value
            + 2 * (self.x * other.x + self.y * other.y)
            + self.value * other.laplacian,
        )


def places() -> np.ndarray:
    """The middles of equal intervals; the centre line is among them."""
    return (np.arange(PLACES) + 0.5) / PLACES


def lid(x: np.ndarray, y: np.ndarray) -> Field:
    """A stream function with the velocities of all walls, and Taylor's in the corners."""
    falls = _cubic(x, (1.0, 0.0, -3.0, 2.0))
    rises = _cubic(x, (0.0, 0.0, 3.0, -2.0))
    deep = _cubic(y, (0.0, 0.0, 3.0, -2.0), along_y=True)
    left, right = _scraper(x, 1 - y), _scraper(1 - x, 1 - y)
    mirrored = right._replace(x=-right.x)
    both = falls.times(left._replace(y=-left.y)) + rises.times(mirrored._replace(y=-mirrored.y))
    return deep.times(both)


def _cubic(x: np.ndarray, coefficients: tuple[float, ...], along_y: bool = False) -> Field:
    p = np.polynomial.Polynomial(coefficients)
    slope, none = p.deriv()(x), np.zeros_like(x)
    slopes = (none, slope) if along_y else (slope, none)
    return Field(p(x), *slopes, p.deriv(2)(x))


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


class Cavity:
    """The weak form with so many polynomials in each direction."""

    def __init__(self, count: int):
        self.count = count
        self.nodes, self.weights = rule(3 * count + 40)
        self.basis = polynomials(count, self.nodes)
        x, y = np.meshgrid(self.nodes, self.nodes, indexing="ij")
        self.lid = lid(x, y)
        weighted = self.basis * self.weights
        mass, stiff, bent = (weighted[a] @ self.basis[b].T for a, b in ((0, 0), (0, 2), (2, 2)))
        self.viscous = np.kron(bent, mass) + np.kron(mass, bent)
        self.viscous += np.kron(stiff, stiff.T) + np.kron(stiff.T, stiff)

    def field(self, coefficients: np.ndarray) -> Field:
        """The whole stream function."""
        p, slope, bend = self.basis
        return self.lid + (
            p.T @ coefficients @ p,
            slope.T @ coefficients @ p,
            p.T @ coefficients @ slope,
            bend.T @ coefficients @ p + p.T @ coefficients @ bend,
        )

    def step(self, coefficients: np.ndarray, reynolds: float) -> np.ndarray:
        """Newton's."""
        psi = self.field(coefficients)
        p, slope, bend = weighted = self.basis * self.weights
        laplacian = psi.laplacian
        left = (bend @ laplacian @ p.T + p @ laplacian @ bend.T) / reynolds
        left += slope @ (laplacian * psi.y) @ p.T - p @ (laplacian * psi.x) @ slope.T
        count = self.count**2
        matrix = self.viscous / reynolds
        for sign, factor, (test_x, trial_x), (test_y, trial_y) in (
            (1, psi.y, (1, 2), (0, 0)),
            (1, psi.y, (1, 0), (0, 2)),
            (-1, psi.x, (0, 2), (1, 0)),
            (-1, psi.x, (0, 0), (1, 2)),
            (1, laplacian, (1, 0), (0, 1)),
            (-1, laplacian, (0, 1), (1, 0)),
        ):
            in_x = (weighted[test_x][:, None] * self.basis[trial_x]).reshape(count, -1)
            in_y = (weighted[test_y][:, None] * self.basis[trial_y]).reshape(count, -1)
            product = (in_x @ factor) @ in_y.T
            product = product.reshape((self.count,) * 4).transpose(0, 2, 1, 3)
            matrix += sign * product.reshape(count, count)
        change = solve(matrix, left.ravel(), overwrite_a=True, check_finite=False)
        return coefficients - change.reshape(coefficients.shape)

    def solved(self, start: np.ndarray, reynolds: float) -> np.ndarray:
        """Newton's method, whose next step would be the square of a small one."""
        more = self.count - len(start)
        found = np.pad(start, ((0, more), (0, more)))
        for _ in range(12):
            before, found = found, self.step(found, reynolds)
            if np.abs(found - before).max() < 1e-6 * np.abs(found).max():
                return found
        raise RuntimeError(f"Newton's method does not converge at Re {reynolds}")


def velocities(coefficients: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(u, v) on the grid of x and y, shape `(x, y, 2)`."""
    psi = stream(coefficients, x, y)
    return np.stack([psi.y, -psi.x], axis=2)


def stream(coefficients: np.ndarray, x: np.ndarray, y: np.ndarray) -> Field:
    """The stream function on the grid of x and y."""
    (p, p_x, p_xx), (q, q_y, q_yy) = (polynomials(len(coefficients), each) for each in (x, y))
    smooth = [left.T @ coefficients @ right for left, right in ((p, q), (p_x, q), (p, q_y))]
    bent = p_xx.T @ coefficients @ q + p.T @ coefficients @ q_yy
    return lid(*np.meshgrid(x, y, indexing="ij")) + (*smooth, bent)


def flows(*counts: int, numbers: tuple[int, ...] = REYNOLDS) -> Iterator[list[np.ndarray]]:
    """The coefficients of the flows with these rising numbers Re, by each of these rising numbers
    of polynomials.
    """
    few, *others = (Cavity(count) for count in (_FEW, *counts))
    found = np.zeros((_FEW, _FEW))
    for reynolds in numbers:
        found = few.solved(found, reynolds)
        solved = [found]
        for each in others:
            solved.append(each.solved(solved[-1], reynolds))
        yield solved[1:]


def main() -> None:
    DATA.mkdir(exist_ok=True)
    grid = places()
    x, y = np.meshgrid(grid, grid, indexing="ij")
    away = np.hypot(np.minimum(x, 1 - x), 1 - y) > 0.2
    for reynolds, both in zip(REYNOLDS, flows(*COUNTS), strict=True):
        coarse, fine = (velocities(coefficients, grid, grid) for coefficients in both)
        apart = np.abs(fine - coarse).max(axis=2)
        np.savez_compressed(DATA / f"cavity-{reynolds}.npz", u=fine)
        print(
            f"Re {reynolds}: {apart.max():.1e} from the coarser one, and {apart[away].max():.1e} "
            "farther from the ends of the lid than 0.2"
        )


if __name__ == "__main__":
    main()
