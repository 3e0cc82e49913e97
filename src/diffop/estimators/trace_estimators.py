"""Hutch++ and XTrace: the trace of a matrix from its products, with its large part exact.

Hutchinson's estimate vᵀAv has a variance of about 2‖A‖²_F. If few eigenvalues are large, most of
this variance comes from a space of few dimensions, which products with random vectors find. With Q
an orthonormal basis of that space and P = QQᵀ,

    tr A = tr(PA) + tr((I − P)A) = tr(QᵀAQ) + tr((I − P)A(I − P)),    as P² = P,

where the first term is exact, and the second is small and estimated. Both functions return several
estimates of tr A, each unbiased; their mean is the estimate, and their spread tells its error.

Derivatives. Q is held fixed (`stop_gradient`) once it is found, so no derivative flows into it. For
each Q, the function that is differentiated is linear in A, and its expectation over the probe,
which is independent of Q, is tr A for *every* matrix A, not only for the one that gave Q. So
E[t(A(θ); Q)] = tr A(θ) is an identity in θ at fixed Q, and differentiating it shows that the
derivative is unbiased too. A derivative through Q would add E[∂t/∂Q · dQ/dθ], which is zero for the
same reason (the expectation is the same for all Q). It would only add variance, and the derivative
of an orthonormal basis does not exist for matrices of low rank.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from ..array_types import (
    AnyArray,
    ColumnArray,
    PerDirection,
    ScalarArray,
    SketchRows,
    SquareArray,
    SubRows,
    Vector,
)
from .norms import norm_over_first

Products: TypeAlias = Callable[[SubRows], SubRows]
"""A v_r for each row v_r."""


def hutch_plus_plus(products: Products, sketch: SketchRows, probes: SubRows) -> PerDirection:
    """One estimate of tr A from each probe, with the range of A times the sketch deflated.

    For a probe with E[ggᵀ] = I that is independent of Q and g' = (I − P)g,

        E[g'ᵀAg'] = tr((I − P) A (I − P) E[ggᵀ]) = tr((I − P)A).

    **Arguments:**

    - `products`: A v for each of several v.
    - `sketch`: k random vectors, one a row: Q is a basis of their images. The images and the basis
        take a product each.
    - `probes`: isotropic vectors, one a row; a product each.

    **Returns:** for each probe tr(QᵀAQ) + g'ᵀAg'.

    Source: Meyer, Musco, Musco, Woodruff, "Hutch++: Optimal Stochastic Trace Estimation" (2021),
    algorithm 1.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.estimators.trace_estimators import hutch_plus_plus

        sketch, probes = jnp.ones((1, 4)), jnp.array([[1.0, -1.0, 1.0, 1.0]])
        hutch_plus_plus(lambda rows: rows.at[:, 1:].set(0), sketch, probes)  # [1.0]
        ```
    """
    Q = orthonormal(jax.lax.stop_gradient(products(sketch)).T)
    rest = probes - _dot(_dot(probes, Q), Q.T)
    deflated = jnp.sum(Q.T * products(Q.T))
    return deflated + jnp.sum(rest * products(rest), axis=1)


def xtrace(products: Products, tests: SubRows) -> PerDirection:
    """One estimate of tr A from each test vector, with the range of A times the others deflated.

    All m vectors ω_i serve twice: to find the range, and as probes. With Y = AΩ = QR, let Q₍ᵢ₎ be a
    basis of all columns of Y except the i-th, and P₍ᵢ₎ its projection, independent of ω_i. Then

        t_i = tr(P₍ᵢ₎A) + (d − m + 1)/|μ_i|² · μ_iᵀAμ_i,    μ_i = (I − P₍ᵢ₎)ω_i.

    ω_i is rotation invariant, so μ_i/|μ_i| is uniform on the unit sphere of a space of d − m + 1
    dimensions, where the mean of a quadratic form is its trace over the dimension: t_i is unbiased.
    (Because of the factor |μ_i|², only the direction of ω_i matters: Gaussian vectors and vectors
    on the sphere give the same.)

    Downdating. Let s_i be the unit vector orthogonal to all columns r_j = Re_j, j ≠ i, of R. The
    columns y_j = Qr_j, j ≠ i, span the image under Q of s_i's complement, so that
    P₍ᵢ₎ = Q(I − s_i s_iᵀ)Qᵀ. With Z = AQ, H = QᵀZ, w_i = Qᵀω_i and c_i = w_i − s_i (s_i·w_i):

        tr(P₍ᵢ₎A) = tr H − s_iᵀHs_i,    μ_i = ω_i − Qc_i,    Aμ_i = y_i − Zc_i.

    That is 2m products with A and O(dm²) besides, and no symmetry of A is used. Q, s_i, c_i and μ_i
    are held fixed in derivatives; y_i and Z are not.

    **Arguments:**

    - `products`: A v for each of several v.
    - `tests`: m < d vectors with a rotation-invariant distribution, one a row.

    **Returns:** t_i for each test vector. They are exchangeable, not independent.

    Source: Epperly, Tropp, Webber, "XTrace: Making the Most of Every Sample in Stochastic Trace
    Estimation" (2024), section 2 and its appendix on normalisation.

    !!! example

        ```python
        import jax
        from diffop.estimators.trace_estimators import xtrace

        tests = jax.random.normal(jax.random.key(0), (2, 5))
        xtrace(lambda rows: rows.at[:, 1:].set(0), tests)  # [1.0, 1.0]
        ```
    """
    (m, size), omega = tests.shape, tests.T
    images = products(tests).T
    fixed = jax.lax.stop_gradient(images)
    Q = orthonormal(fixed)
    S, W = left_out(jnp.triu(_dot(Q.T, fixed))), _dot(Q.T, omega)
    coefficients = W - S * jnp.sum(S * W, axis=0, keepdims=True)
    rest = omega - _dot(Q, coefficients)
    basis_images = products(Q.T).T
    H = _dot(Q.T, basis_images)
    deflated = jnp.trace(H) - jnp.sum(S * _dot(H, S), axis=0)
    form = jnp.sum(rest * (images - _dot(basis_images, coefficients)), axis=0)
    return deflated + form * ((size - m + 1) / jnp.sum(rest**2, axis=0))


def orthonormal(columns: ColumnArray) -> ColumnArray:
    """An orthonormal basis Q of the space of the columns: QQᵀ is the projection onto it. A column
    that depends on earlier ones, up to rounding, gives a column of zeros.

    Gram-Schmidt projects every column again (once more than "twice is enough" asks for independent
    columns), because of the zero columns. LAPACK's batched factorisations are not used: two of them
    in one program can wait for each other for ever on a CPU with few threads.
    """

    def normalised(v: Vector) -> tuple[Vector, ScalarArray]:
        length = norm_over_first(v)
        return v / jnp.where(length > 0, length, 1), length

    def step(k: Any, Q: ColumnArray) -> ColumnArray:
        v, length = normalised(columns[:, k])
        kept = jnp.sign(length)  # zero for a column of zeros
        for _ in range(3):
            v, length = normalised(v - _dot(Q, _dot(Q.T, v)))
            kept = kept * length
        return Q.at[:, k].set(jnp.where(kept > _least(v), v, 0))

    return jax.lax.fori_loop(0, columns.shape[1], step, jnp.zeros_like(columns))


def left_out(R: SquareArray) -> SquareArray:
    """Unit vectors s_i, as columns, with s_i orthogonal to all columns of R except the i-th.

    (R⁻ᵀe_i)ᵀ Re_j = δ_ij: they are the columns of R⁻ᵀ at unit length, R upper triangular. Pivots
    lost in rounding (if A has rank below m; all of them for A = 0) are raised to a few units in the
    last place of R's largest entry. Then s_i stays finite, and orthogonal to the others up to
    rounding errors of R's own size. Any such s_i works, since the other columns then span the range
    of A.
    """
    largest = jnp.max(jnp.abs(R))
    R = R / jnp.where(largest > 0, largest, 1)
    pivots = jnp.diagonal(R)
    pivots = jnp.where(jnp.abs(pivots) < _least(R), _least(R), pivots)
    unit = jnp.eye(*R.shape, dtype=R.dtype)

    def substitute(k: Any, inverse: SquareArray) -> SquareArray:
        """Row k of R⁻ᵀ from the rows above it; the rows below are still zero."""
        return inverse.at[k].set((unit[k] - _dot(R[:, k], inverse)) / pivots[k])

    inverse = jax.lax.fori_loop(0, R.shape[0], substitute, jnp.zeros_like(R))
    inverse = inverse / jnp.max(jnp.abs(inverse), axis=0, keepdims=True)  # no overflow in squares
    return inverse / jnp.linalg.norm(inverse, axis=0, keepdims=True)


def _least(array: AnyArray) -> float:
    """A number below this, relative to the largest, is lost in rounding."""
    return 10 * float(jnp.finfo(array.dtype).eps)


def _dot(left: AnyArray, right: AnyArray) -> AnyArray:
    """A product in full precision. With the short mantissas that accelerators use by default, Q
    would not be orthogonal and the estimates would be biased.
    """
    return jnp.matmul(left, right, precision="highest")
