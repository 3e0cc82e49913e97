"""Fixed rules: points of the unit cube with weights."""

import functools
import math
from abc import abstractmethod
from typing import TypeAlias, final

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..complete import Complete
from ..scalars import is_integer, is_number, plain

Nodes: TypeAlias = tuple[Float[np.ndarray, "count dim"], Float[np.ndarray, " count"]]
"""Points of the unit cube, and their weights."""

Coordinates: TypeAlias = Float[np.ndarray, " n"]
"""Numbers for the points of a rule for an interval."""

MOST = 10**6
"""More points than this are taken for a mistake."""
_DIGITS = 23


class AbstractRule(Complete):
    """A fixed rule for integrals over the unit cube, $∫ f(ξ) dξ ≈ Σ_r w_r f(ξ_r)$, which
    [`diffop.Integral`][] uses for `.exact`.

    A subclass is final and defines `nodes`.

    !!! example

        ```python
        import numpy as np
        import diffop as do

        class Middle(do.quadrature.AbstractRule):
            def nodes(self, dim):
                return np.full((1, dim), 0.5), np.ones(1)

        do.Integral(do.quadrature.Limits(0.0, 1.0), rule=Middle())
        ```
    """

    @abstractmethod
    def nodes(self, dim: int) -> Nodes:
        """The points, of shape `(count, dim)`, and their weights, of shape `(count,)`."""


@final
class GaussLegendre(AbstractRule):
    """The tensor product of Gauss-Legendre rules with `n` points in each coordinate. In one
    coordinate it is exact for polynomials of degree 2n − 1. It converges exponentially for smooth
    functions.

    **Arguments:**

    - `n`: how many, at least 1; in d coordinates there are $n^d$ points, a million at most.

    **Raises:** `ValueError` for n < 1 and, when it is used, for too many points.

    !!! example

        ```python
        import diffop as do

        points, weights = do.quadrature.GaussLegendre(3).nodes(2)  # (9, 2) and (9,)
        ```
    """

    n: int = eqx.field(static=True, converter=plain, default=16)

    def __check_init__(self) -> None:
        if not is_integer(self.n) or self.n < 1:
            raise ValueError(f"GaussLegendre expects n, at least 1, as an integer; got {self.n!r}.")

    def nodes(self, dim: int) -> Nodes:
        """The tensor product of the interval's points; the last coordinate changes fastest."""
        _check_count(self.n, dim)
        points, weights = np.polynomial.legendre.leggauss(self.n)
        return _product((points + 1) / 2, weights / 2, dim)


@final
class GaussJacobi(AbstractRule):
    """The tensor product of Gauss-Jacobi rules, for kernels with a singularity at an end, such as
    $|x − y|^{−1/2}$ in $∫_0^x$, the kernel of Abel and Caputo.

    With ξ as the fraction between the ends of a coordinate, the integrand is to be
    $ξ^{lower} (1 − ξ)^{upper}$ times a smooth function. In one coordinate the rule is exact if this
    function is a polynomial of degree 2n − 1. The kernel of the integral stays whole: the rule
    divides its weights by these powers. A kernel computes the distance to an end as a difference,
    which costs digits for powers near −1: in single precision 16 points have six digits for −½ and
    four for −0.9.

    **Arguments:**

    - `lower`, `upper`: the powers at the ends, each greater than −1; 0 where there is no
        singularity.
    - `n`: how many points, at least 1; in d coordinates there are $n^d$, a million at most.

    **Raises:** `ValueError` for a power that is not greater than −1 or n < 1 and, when it is used,
    for too many points; `TypeError` for powers that are no numbers.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        abel = do.Integral(
            do.quadrature.Limits(0.0, lambda x: x),
            lambda x, y: (x[0] - y[0]) ** -0.5,
            rule=do.quadrature.GaussJacobi(upper=-0.5),
        )
        abel.exact(lambda x: x[0])(jnp.array([1.0]))  # 4/3
        ```
    """

    lower: int | float = eqx.field(static=True, converter=plain, default=0.0)
    upper: int | float = eqx.field(static=True, converter=plain, default=0.0)
    n: int = eqx.field(static=True, converter=plain, default=16)

    def __check_init__(self) -> None:
        for name, power in (("lower", self.lower), ("upper", self.upper)):
            if not is_number(power):
                raise TypeError(
                    f"GaussJacobi expects a number as the power at its {name} end; got {power!r}."
                )
            if not -1 < power < math.inf:
                raise ValueError(
                    f"GaussJacobi expects a power at its {name} end that is finite and greater "
                    f"than -1, or the integral diverges; got {power}."
                )
        if not is_integer(self.n) or self.n < 1:
            raise ValueError(f"GaussJacobi expects n, at least 1, as an integer; got {self.n!r}.")

    def nodes(self, dim: int) -> Nodes:
        """The tensor product of the interval's points; the last coordinate changes fastest."""
        import scipy.special  # takes a while, and others do not need it

        _check_count(self.n, dim)
        points, weights = scipy.special.roots_jacobi(self.n, self.upper, self.lower)
        powers = (1 + points) ** self.lower * (1 - points) ** self.upper
        return _product((points + 1) / 2, weights / powers / 2, dim)


def _check_count(n: int, dim: int) -> None:
    if n**dim > MOST:
        raise ValueError(
            f"a Gauss rule of {n} points in each of {dim} coordinates has more than {MOST:,} "
            "points; give the integral rule=diffop.quadrature.Sobol(1024), or estimate it."
        )


def _product(points: Coordinates, weights: Coordinates, dim: int) -> Nodes:
    """The tensor product of a rule for an interval; the last coordinate changes fastest."""
    n = points.size
    digits = np.arange(n**dim)[:, None] // n ** np.arange(dim)[::-1] % n
    return points[digits], np.prod(weights[digits], axis=1)


@final
class Sobol(AbstractRule):
    """The first `n` points of a Sobol sequence with one digital shift, for more coordinates than
    products of rules can handle. The error decays nearly as 1/n for smooth functions that depend
    mainly on few coordinates. There is no estimate of the error.

    Sources: Sobol 1967; Joe and Kuo 2008, "Constructing Sobol sequences with better two-dimensional
    projections".

    **Arguments:**

    - `n`: how many, a power of two.
    - `seed`: the seed of the shift.

    **Raises:** `ValueError` for another n or seed.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        cube = do.Integral(do.quadrature.Limits(0.0, 1.0), rule=do.quadrature.Sobol(4096))
        cube.exact(lambda x: jnp.prod(1 + 0.1 * (x - 0.5)))(jnp.zeros(20))  # 1, up to 1e-3
        ```
    """

    n: int = eqx.field(static=True, converter=plain, default=1024)
    seed: int = eqx.field(static=True, converter=plain, default=0)

    def __check_init__(self) -> None:
        if not is_integer(self.n) or self.n < 1 or self.n & (self.n - 1):
            raise ValueError(f"Sobol expects n, a power of two; got {self.n!r}.")
        if not (is_integer(self.seed) and 0 <= self.seed < 2**32):
            raise ValueError(f"Sobol expects a seed from 0 to 2³² − 1; got {self.seed!r}.")

    def nodes(self, dim: int) -> Nodes:
        """The points, with equal weights."""
        return _sobol(self.n, self.seed, dim), np.full(self.n, 1 / self.n)


@functools.lru_cache(maxsize=8)
def _sobol(n: int, seed: int, dim: int) -> Float[np.ndarray, "n dim"]:
    """The points, in the middle of the cells of single precision, so that none rounds to 1.
    `scipy.stats` is not used because it takes long to import.
    """
    import scipy.stats

    digits = scipy.stats.qmc.Sobol(dim, scramble=False, bits=32).random_base2(n.bit_length() - 1)
    shift = np.random.RandomState(seed).randint(0, 2**32, dim, np.uint64)
    shifted = np.floor(digits * 2.0**32).astype(np.uint64) ^ shift
    return ((shifted >> np.uint64(32 - _DIGITS)).astype(float) + 0.5) * 2.0**-_DIGITS
