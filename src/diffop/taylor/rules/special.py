"""Rules of special functions whose derivatives by JAX are wrong or lose digits: sinc, the Bessel
functions I_0 and I_1, and log Φ of the normal distribution.

Each belongs to a family of functions f_0, f_1, … in which the next function gives a derivative,
without differences that cancel:

    sinc     s_n = j_n(z) / zⁿ             s_n′ = −z s_{n+1}
    I_0, I_1 g_n = e^{−|x|} I_n(x) / xⁿ    g_n′ = x g_{n+1} − sgn(x) g_n
    log Φ    ρ_n = μ_n / μ_{n−1}           ρ_n′ = ρ_n (ρ_n − ρ_{n+1})

with the spherical Bessel functions j_n, where sinc is s_0(πx), and with the moments
μ_n(t) = ∫_0^∞ uⁿ e^{−tu−u²/2} du, where μ_0 is Mills' ratio (1 − Φ(t)) / Φ′(t). Sources: DLMF,
sections 10.51, 10.29 and 7.18; the recurrence μ_{n+1} = n μ_{n−1} − t μ_n is integration by parts.
"""

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax
from jaxtyping import Array

_TERMS = 24
"""Terms of power series for |x| ≤ n + 2: the next one is below the rounding of double precision."""


def sinc_slope(x: Array) -> Array:
    """The derivative of sin(πx) / (πx)."""
    z = math.pi * x
    return -math.pi * z * _spherical(1, z)


_jvp_of_family = functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
_traced_once = functools.partial(jax.jit, static_argnums=0)


@_jvp_of_family
@_traced_once
def _spherical(n: int, z: Array) -> Array:
    """s_n by its power series near 0; otherwise by s_{n+1} = ((2n + 1) s_n − s_{n−1}) / z², which
    loses little if |z| > n, from s_{−1} = cos z and s_0 = sin(z) / z.
    """
    terms, term = [], 1 / math.prod(range(1, 2 * n + 2, 2))
    for k in range(_TERMS):
        terms.append(term)
        term *= -0.5 / ((k + 1) * (2 * n + 2 * k + 3))

    def far(z: Array) -> Array:
        below, own = jnp.cos(z), jnp.sin(z) / z
        for m in range(n):
            below, own = own, ((2 * m + 1) * own - below) / z**2
        return own

    return _near_and_far(n, z, terms, far)


@_spherical.defjvp
def _spherical_jvp(n: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (dz,) = primals, tangents
    return _spherical(n, z), -z * _spherical(n + 1, z) * dz


def bessel_i0e_slope(x: Array) -> Array:
    """The derivative of e^{−|x|} I_0(x); at 0 the one to the right, as JAX has it for |x|: then
    I_0(x) = e^{|x|} e^{−|x|} I_0(x) is smooth there.
    """
    return _finite(x) * _bessel(1, x) - _sign(x) * _bessel(0, x)


def bessel_i1e_slope(x: Array) -> Array:
    """The derivative of e^{−|x|} I_1(x) = x g_1(x)."""
    finite = _finite(x)
    return _bessel(1, x) + finite * (finite * _bessel(2, x) - _sign(x) * _bessel(1, x))


def _finite(x: Array) -> Array:
    """x, with the largest number for ∞: a factor of something that vanishes there."""
    return jnp.nan_to_num(x, nan=jnp.nan)


def _sign(x: Array) -> Array:
    return jnp.where(x < 0, -1, 1).astype(x.dtype)


@_jvp_of_family
@_traced_once
def _bessel(n: int, x: Array) -> Array:
    """g_n by its power series near 0; otherwise by g_{n+1} = (g_{n−1} − 2n g_n) / x²."""
    if n == 0:
        return lax.bessel_i0e(x)
    terms = [
        1 / (2.0 ** (n + 2 * k) * math.factorial(k) * math.factorial(n + k)) for k in range(_TERMS)
    ]

    def far(x: Array) -> Array:
        below, own = lax.bessel_i0e(x), lax.bessel_i1e(x) / x
        for m in range(1, n):
            below, own = own, (below - 2 * m * own) / x**2
        return own

    return _near_and_far(n, x, terms, far, lambda x: jnp.exp(-jnp.abs(x)))


@_bessel.defjvp
def _bessel_jvp(n: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    own = _bessel(n, x)
    return own, (_finite(x) * _bessel(n + 1, x) - _sign(x) * own) * dx


def _near_and_far(
    n: int,
    x: Array,
    terms: Sequence[float],
    far: Callable[[Array], Array],
    factor: Callable[[Array], Array] | None = None,
) -> Array:
    """Σ_k a_k x^{2k} times a factor up to |x| = n + 2, and another value farther out."""
    is_near = jnp.abs(x) <= n + 2
    inside = jnp.where(is_near, x, 0)
    near = jnp.polyval(jnp.asarray(terms[::-1], x.dtype), inside**2)
    near = near if factor is None else near * factor(inside)
    return jnp.where(is_near, near, far(jnp.where(is_near, n + 3, x)))


@jax.custom_jvp
def log_ndtr(x: Array) -> Array:
    return jsp.special.log_ndtr(x)


_LEFT = -2.0
"""Left of here the slope Φ′/Φ of log Φ is −x + ρ_1(−x)."""
_DEPTH = 80
"""The depth of the continued fraction; what it leaves out is below double precision."""


@log_ndtr.defjvp
def _log_ndtr_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The derivative. JAX's Φ′/Φ far out on the left is the exponential of a difference of two
    large numbers, and its derivative Φ′/Φ (−x − Φ′/Φ) another such difference.
    """
    (x,), (dx,) = primals, tangents
    is_left, half = x < _LEFT, math.log(2 * math.pi) / 2
    t, right = -jnp.where(is_left, x, _LEFT), jnp.where(is_left, _LEFT, x)
    ratio = jnp.exp(-(right**2) / 2 - half - log_ndtr(right))
    return log_ndtr(x), jnp.where(is_left, t + _moments(1, t), ratio) * dx


@_jvp_of_family
@_traced_once
def _moments(n: int, t: Array) -> Array:
    """ρ_n = n / (t + ρ_{n+1}), Laplace's continued fraction, from where ρ hardly changes:
    ρ² + t ρ = n.
    """
    ratio = (jnp.sqrt(t**2 + 4 * _DEPTH) - t) / 2
    for m in range(_DEPTH - 1, n - 1, -1):
        ratio = m / (t + ratio)
    return ratio


@_moments.defjvp
def _moments_jvp(n: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (t,), (dt,) = primals, tangents
    own = _moments(n, t)
    return own, own * (own - _moments(n + 1, t)) * dt
