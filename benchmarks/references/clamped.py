"""Steady flows in a rectangle whose velocity is given on the whole boundary.

The stream function ψ, with (u, v) = (ψ_y, −ψ_x) and the vorticity ω = −Δψ, satisfies u·∇ω = Δω/Re;
times a test function, by parts

    ∫ Δψ Δv / Re + ∫ Δψ (ψ_y v_x − ψ_x v_y) = 0    for all v that are 0 with their slopes there.

ψ is a known function with the velocity of the sides, and a sum of products of functions of x and of
y that are 0 with their slopes at the ends. The equations for their coefficients are dense, and
Newton's method solves them.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve


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


def polynomial(x: np.ndarray, coefficients: tuple[float, ...], along_y: bool = False) -> Field:
    """A polynomial of one coordinate, at these values of it."""
    p = np.polynomial.Polynomial(coefficients)
    slope, none = p.deriv()(x), np.zeros_like(x)
    slopes = (none, slope) if along_y else (slope, none)
    return Field(p(x), *slopes, p.deriv(2)(x))


def products(coefficients: np.ndarray, in_x: np.ndarray, in_y: np.ndarray) -> Field:
    """Their sum, from the functions of each coordinate with two derivatives: shape `(3, functions,
    places)`.
    """
    (p, p_x, p_xx), (q, q_y, q_yy) = in_x, in_y
    return Field(
        p.T @ coefficients @ q,
        p_x.T @ coefficients @ q,
        p.T @ coefficients @ q_y,
        p_xx.T @ coefficients @ q + p.T @ coefficients @ q_yy,
    )


class Axis(NamedTuple):
    """The nodes of a rule along a coordinate, their weights, and the functions there with two
    derivatives, shape `(3, functions, nodes)`.
    """

    nodes: np.ndarray
    weights: np.ndarray
    basis: np.ndarray

    def integrals(self, test: int, trial: int) -> np.ndarray:
        """Of products of such derivatives."""
        return self.basis[test] * self.weights @ self.basis[trial].T

    def pairs(self, test: int, trial: int) -> np.ndarray:
        """Such products times weights, one in each row."""
        both = (self.basis[test] * self.weights)[:, None] * self.basis[trial]
        return both.reshape(-1, len(self.nodes))


class Clamped:
    """The weak form, with a known function at all nodes."""

    def __init__(self, in_x: Axis, in_y: Axis, known: Field):
        self.in_x, self.in_y, self.known = in_x, in_y, known
        self.shape = in_x.basis.shape[1], in_y.basis.shape[1]
        self.viscous = sum(
            np.kron(in_x.integrals(a, b), in_y.integrals(2 - a, 2 - b))
            for a, b in ((2, 2), (0, 0), (0, 2), (2, 0))
        )

    def field(self, coefficients: np.ndarray) -> Field:
        """The whole stream function."""
        return self.known + products(coefficients, self.in_x.basis, self.in_y.basis)

    def step(self, coefficients: np.ndarray, reynolds: float) -> np.ndarray:
        """Newton's."""
        psi = self.field(coefficients)
        p, slope_x, bend_x = self.in_x.basis * self.in_x.weights
        q, slope_y, bend_y = self.in_y.basis * self.in_y.weights
        laplacian = psi.laplacian
        left = (bend_x @ laplacian @ q.T + p @ laplacian @ bend_y.T) / reynolds
        left += slope_x @ (laplacian * psi.y) @ q.T - p @ (laplacian * psi.x) @ slope_y.T
        (in_x, in_y), count = self.shape, left.size
        x, y = self.in_x.pairs, self.in_y.pairs
        of_x = x(1, 2) @ psi.y, x(1, 0), x(0, 2) @ psi.x + x(0, 1) @ laplacian, x(0, 0) @ psi.x
        of_y = y(0, 0), y(0, 2) @ psi.y.T + y(0, 1) @ laplacian.T, -y(1, 0), -y(1, 2)
        matrix = np.concatenate(of_x, axis=1) @ np.concatenate(of_y, axis=1).T
        matrix = matrix.reshape(in_x, in_x, in_y, in_y).transpose(0, 2, 1, 3)
        matrix = matrix.reshape(count, count) + self.viscous / reynolds
        change = solve(matrix, left.ravel(), overwrite_a=True, check_finite=False)
        return coefficients - change.reshape(coefficients.shape)

    def solved(self, start: np.ndarray, reynolds: float) -> np.ndarray:
        """Newton's method, whose next step would be the square of a small one. It begins with the
        coefficients of the first functions, and 0 for the others.
        """
        more = np.subtract(self.shape, start.shape)
        found = np.pad(start, [(0, each) for each in more])
        for _ in range(12):
            before, found = found, self.step(found, reynolds)
            if np.abs(found - before).max() < 1e-6 * np.abs(found).max():
                return found
        raise RuntimeError(f"Newton's method does not converge at Re {reynolds}")
