"""What the problems on a cube share: a sum over neighbouring coordinates."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..ball.problem import random_coefficients
from ..ball.two_body_sum import two_body_sum, two_body_terms
from ..domains.box import Box
from ..problem import AbstractSolvedProblem


class AbstractOnCube(AbstractSolvedProblem):
    """A problem on the cube $[−1, 1]^d$ whose solution is made of

    $$ S(x) = d^{−1/2} Σ_i c_i sin(x_i + cos x_{i+1} + x_{i+1} cos x_i), \\quad c_i ~ N(0, 1), $$

    the two-body sum of the problems on the unit ball, but where coordinates are about 1: S depends
    on all of them in any dimension, and is of the size of 1.

    A point of a face is like one inside but for one coordinate, so that in many dimensions what is
    given on the faces says much of the inside. A factor that is zero on all faces is of no use
    there, since it is nearly zero everywhere: values are conditions, at random points of faces.

    The Allen-Cahn program of Menon and Jagtap 2025, "Anant-Net" (arXiv 2505.03595), has
    $u = m² + sin m$ with the mean m of the coordinates. At random points m is about $(3d)^{−1/2}$,
    and m alone misses about $d^{−1/2}$ of u.

    A subclass is final, has a `name`, a dimension `dim`, and `coefficients`, the $d^{−1/2} c_i$.
    """

    coefficients: eqx.AbstractVar[Float[Array, " terms"]]

    def sum(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        """$S(x)$."""
        return two_body_sum(self.coefficients, jnp.sum(self.coefficients), x)

    def laplacian_of_sum(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        """$ΔS(x)$."""
        return self.coefficients @ two_body_terms(x)[2]


def cube(dim: int) -> Box:
    """$[−1, 1]^d$."""
    return Box((-1.0,) * dim, (1.0,) * dim)


def coefficients_of(name: str, dim: int, key: PRNGKeyArray) -> Float[Array, " terms"]:
    """Those of the sum.

    **Raises:** `ValueError` for less than two coordinates.
    """
    return random_coefficients(name, dim, 2, key) / math.sqrt(dim)
