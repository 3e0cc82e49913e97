"""Velocities behind a step, for the package's data.

    python -m benchmarks.references.backward_step

By the weak form of `clamped.py`, where the functions of each coordinate are splines whose pieces
become short towards the step's edge (0, 0), the inflow and the walls. The flow enters with the
stream function 6y² − 8y³ above the edge and 0 below it. So its second derivative jumps at the edge.
The flow there that follows from it is in the known function: ψ = h − x h_x is biharmonic for every
harmonic h, equal to h at x = 0, and has no slope across x = 0. With the function F of z = x + iy

    h = Re F,    F = (2/π) (3i − 4z) z² log(iz),

h is that stream function at x = 0. The cubic polynomials in y with its values and slopes at the
walls are taken from ψ. What remains of ψ falls with x, is multiplied by a polynomial that is 0 with
its slope at the outflow, and added to the outflow's stream function. Newton's method begins with
the flow of a smaller number Re.

The values are written beside their difference from a computation that has fewer splines.
Gartling 1990, "A test problem for outflow boundary conditions", prints where the flow at Re 800
separates from the walls and comes back.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial, legendre
from scipy.interpolate import BSpline
from scipy.optimize import root_scalar

from .clamped import Axis, Clamped, Field, polynomial, products

DATA = Path(__file__).parents[2] / "src" / "diffop" / "pde" / "classical" / "data"
PLACES = 80, 24
REYNOLDS = (200,)
GARTLING = 800
_RISING = (200, 400, 600)
_AT_LOWER = ((1.0, 0.0, -3.0, 2.0), (0.0, 1.0, -2.0, 1.0))
_AT_UPPER = ((0.0, 0.0, 3.0, -2.0), (0.0, 0.0, -1.0, 1.0))
"""Polynomials of the distance from the lower wall, with the value 1 or the slope 1 at a wall."""


class Splines(NamedTuple):
    """How fine they are.

    - `degree`: of the pieces.
    - `first`: the length of the pieces beside the edge; each is longer than the one before by the
        factor `growth`.
    - `along`, `across`: the longest, in x and in y; at x they are longer by the factor 1 + x.
    """

    degree: int
    first: float
    growth: float
    along: float
    across: float


FINE = Splines(8, 0.004, 1.18, 0.06, 0.04)
COARSE = Splines(8, 0.004, 1.25, 0.07, 0.05)
FOR_GARTLING = Splines(8, 0.01, 1.4, 0.09, 0.06)


def length(reynolds: float) -> float:
    """Of the channel: the flow at its end differs from Poiseuille's by a few millionths."""
    return reynolds / 10


def entering(x: np.ndarray, y: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """F and its derivatives up to the fourth: their real parts, and the imaginary ones."""
    z, p = x + 1j * y, Polynomial([0, 0, 3j, -4])
    logs = [np.log(1j * z), 1 / z, -1 / z**2, 2 / z**3, -6 / z**4]
    found = [
        sum(math.comb(n, k) * p.deriv(k)(z) * logs[n - k] for k in range(n + 1)) for n in range(5)
    ]
    scaled = 2 / math.pi * np.array(found)
    return np.real(scaled), np.imag(scaled)


def known(x: np.ndarray, y: np.ndarray, end: float) -> Field:
    """A stream function with the velocities of the inflow, the walls and the outflow."""
    f, g = entering(x, y)
    near = Field(f[0] - x * f[1], -x * f[2], x * g[2] - g[1], -2 * f[2])
    for wall, (level, tilt) in ((-0.5, _AT_LOWER), (0.5, _AT_UPPER)):
        f, g = entering(x, wall)
        value = Field(f[0] - x * f[1], -x * f[2], 0 * x, -f[2] - x * f[3])
        slope = Field(x * g[2] - g[1], x * g[3], 0 * x, g[3] + x * g[4])
        for of_x, of_y in ((value, level), (slope, tilt)):
            near += tuple(-each for each in of_x.times(polynomial(y + 0.5, of_y, along_y=True)))
    fading = polynomial(x, (1.0, 0.0, -3 / end**2, 2 / end**3))
    return fading.times(near) + polynomial(y, (0.25, 0.75, 0.0, -1.0), along_y=True)


def splines(ends: np.ndarray, degree: int) -> Callable[[np.ndarray], np.ndarray]:
    """Those on these pieces that are 0 with their slopes at the outer ends: a function of places,
    whose result has the shape `(3, splines, places)`.
    """
    outside = [degree * [ends[0]], degree * [ends[-1]]]
    knots = np.concatenate([outside[0], ends, outside[1]])
    every = BSpline(knots, np.eye(len(knots) - degree - 1)[:, 2:-2], degree)
    return lambda x: np.stack([every(x, order).T for order in range(3)])


def graded(end: float, how: Splines, longest: Callable[[float], float]) -> np.ndarray:
    """The ends of pieces from 0 on, none longer than at its place."""
    found, size = [0.0], how.first
    while found[-1] < end:
        found.append(found[-1] + size)
        size = min(size * how.growth, longest(found[-1]))
    return np.array(found) * (end / found[-1])


def axis(ends: np.ndarray, degree: int) -> Axis:
    """With Gauss' rule on each piece."""
    t, weights = legendre.leggauss(degree + 5)
    sizes = np.diff(ends)[:, None] / 2
    nodes = (ends[:-1, None] + sizes * (t + 1)).ravel()
    return Axis(nodes, (sizes * weights).ravel(), splines(ends, degree)(nodes))


class Flow(NamedTuple):
    """A flow in a channel from 0 to `end`, by splines along it and across."""

    end: float
    along: Callable[[np.ndarray], np.ndarray]
    across: Callable[[np.ndarray], np.ndarray]
    coefficients: np.ndarray

    def stream(self, x: np.ndarray, y: np.ndarray) -> Field:
        """The stream function on the grid of x and y."""
        grid = np.meshgrid(x, y, indexing="ij")
        found = products(self.coefficients, self.along(x), self.across(y))
        return known(*grid, self.end) + found

    def velocities(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(u, v) on the grid of x and y, shape `(x, y, 2)`."""
        psi = self.stream(x, y)
        return np.stack([psi.y, -psi.x], axis=2)

    def turns(self, wall: float) -> list[float]:
        """Where the friction at a wall changes its sign, farther from the inflow than 0.2."""

        def friction(x: np.ndarray) -> np.ndarray:
            return self.stream(np.atleast_1d(x), np.array([wall])).laplacian[:, 0]

        x = np.linspace(0.2, 0.999 * self.end, 2000)
        signs = np.sign(friction(x))
        return [
            root_scalar(lambda x: friction(x)[0], bracket=(a, b)).root
            for (a, b), (before, after) in zip(pairwise(x), pairwise(signs), strict=True)
            if before != after
        ]


def flow(reynolds: float, how: Splines) -> Flow:
    """By splines, from flows with smaller numbers Re in the same channel."""
    end, half = length(reynolds), graded(0.5, how, lambda _: how.across)
    of_x = graded(end, how, lambda x: how.along * (1 + x))
    of_y = np.concatenate([-half[:0:-1], half])
    in_x, in_y = axis(of_x, how.degree), axis(of_y, how.degree)
    grid = np.meshgrid(in_x.nodes, in_y.nodes, indexing="ij")
    form = Clamped(in_x, in_y, known(*grid, end))
    found = np.zeros(form.shape)
    for each in (*(number for number in _RISING if number < reynolds), reynolds):
        found = form.solved(found, each)
    return Flow(end, splines(of_x, how.degree), splines(of_y, how.degree), found)


def places(end: float) -> tuple[np.ndarray, np.ndarray]:
    """The middles of equal intervals along the channel and across."""
    along, across = ((np.arange(count) + 0.5) / count for count in PLACES)
    return end * along, across - 0.5


def main() -> None:
    for reynolds in REYNOLDS:
        coarse, fine = (flow(reynolds, how) for how in (COARSE, FINE))
        grid = places(fine.end)
        u = fine.velocities(*grid)
        apart = np.abs(u - coarse.velocities(*grid)).max()
        np.savez_compressed(DATA / f"backward-step-{reynolds}.npz", u=u)
        print(f"Re {reynolds}: {apart:.1e} from the coarser one", flush=True)
        print(f"  friction turns at {fine.turns(-0.5)}, and at {coarse.turns(-0.5)} there")
    found = flow(GARTLING, FOR_GARTLING)
    print(f"Re {GARTLING}: friction turns at {found.turns(-0.5)} below, {found.turns(0.5)} above")


if __name__ == "__main__":
    main()
