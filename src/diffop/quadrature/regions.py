"""Regions: boxes with fixed or moving ends, balls, parts of regions, and all of space."""

import math
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..scalars import is_number, plain, several
from ..streams import stream
from .region import AbstractRegion, Limit, WeightedPoint, as_region
from .values import check_weight, value_at


def _as_ends(given: Any) -> Any:
    """Numbers as they are, several as a tuple; arrays and functions are leaves.

    **Raises:** `ValueError` for ends that are known and not finite, `TypeError` for no numbers.
    """
    ends = given if isinstance(given, jax.Array) else plain(given)
    ends = several(ends) if isinstance(ends, list | np.ndarray) else ends
    if callable(ends) or any(isinstance(each, Tracer) for each in jax.tree.leaves(ends)):
        return ends
    numbers = np.asarray(ends)
    if not any(jnp.issubdtype(numbers.dtype, kind) for kind in (jnp.integer, jnp.floating)):
        raise TypeError(
            f"Limits expects numbers for ends, or functions of the point; got {ends!r}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"Limits expects finite ends, got {ends}. diffop.quadrature.WholeSpace has none; half "
            "of it is Within(WholeSpace(…), lambda y: y[0] > 0)."
        )
    return ends


def _as_center(given: Any) -> Any:
    """A number, or a tuple of one for each coordinate.

    **Raises:** `TypeError` for anything else, `ValueError` for numbers that are not finite.
    """
    center = plain(given)
    if not is_number(center):
        several_given = np.ndim(center) == 1 and not isinstance(center, Tracer)
        center = several(center) if several_given else center
    each = center if isinstance(center, tuple) else (center,)
    if not all(map(is_number, each)):
        raise TypeError(
            "the center of a region is a number, or one for each coordinate, known while tracing; "
            f"got {given!r}."
        )
    if not all(map(math.isfinite, each)):
        raise ValueError(f"the center of a region must be finite; got {given!r}.")
    return center


@final
class Limits(AbstractRegion):
    """The points with `lower` ≤ y ≤ `upper` in each coordinate; for one coordinate the integral
    $∫_a^b$. Limits may be functions of the point: $∫_0^x$.

    **Arguments:**

    - `lower`, `upper`: each a number for all coordinates, several numbers, or a function of the
        point that returns one of these, such as `lambda x: x`. If upper is below lower, the
        integral changes its sign, as it does in one coordinate.

    **Raises:** `ValueError` for an end that is not finite and, when an integral is evaluated, if
    the number of ends is not that of the coordinates, or known ends have a volume out of range;
    `TypeError` for no number.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        volterra = do.Integral(do.quadrature.Limits(0.0, lambda x: x))
        volterra.exact(lambda x: jnp.cos(x[0]))(jnp.array([2.0]))  # sin 2 = 0.9093
        ```
    """

    lower: Limit = eqx.field(converter=_as_ends)
    upper: Limit = eqx.field(converter=_as_ends)

    def image(self, unit: Float[Array, " dim"], *args: Any, **kwargs: Any) -> WeightedPoint:
        """The point at the same fraction between the ends; volumes grow by their distances."""
        first, last = (_end(e, unit, args, kwargs) for e in (self.lower, self.upper))
        ends: tuple[Any, Any] = self.lower, self.upper
        if all(map(is_number, jax.tree.leaves(ends))):
            sides = np.broadcast_to(np.subtract(ends[1], ends[0], dtype=float), unit.shape)
            if sides.all():
                logarithm = float(np.log(np.abs(sides)).sum())
                check_weight(logarithm, unit.dtype, f"an integral over {unit.size} coordinates")
        return first + (last - first) * unit, jnp.prod(last - first)

    def draw(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> WeightedPoint:
        """Uniform between the ends."""
        return self.image(jax.random.uniform(key, (size,)), *args, **kwargs)


def _end(end: Limit, unit: Float[Array, " dim"], args: Any, kwargs: Any) -> Float[Array, " dim"]:
    value = value_at(end, args, kwargs, "an end of Limits")
    if value.shape not in ((), unit.shape):
        raise ValueError(
            f"limits of an integral over {unit.size} coordinate(s) are numbers, or arrays of shape "
            f"{unit.shape}; got shape {value.shape}."
        )
    return jnp.broadcast_to(value, unit.shape).astype(unit.dtype)


@final
class Disc(AbstractRegion):
    """The points with |y − center| ≤ `radius`, in any number of coordinates.

    Random points are uniform. In up to three coordinates fixed rules use polar coordinates; in more
    they use the direction and the size of a normal vector.

    **Arguments:**

    - `radius`: positive.
    - `center`: one number for all coordinates, or one for each.

    **Raises:** `ValueError` for a radius that is not positive and, when an integral is evaluated,
    if there are so many coordinates that its volume is out of range.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        mean = do.Integral(do.quadrature.Disc(1.0)) / jnp.pi
        mean.exact(lambda x: x @ x)(jnp.zeros(2))  # 0.5
        ```
    """

    radius: int | float = eqx.field(static=True, converter=plain)
    center: int | float | tuple[int | float, ...] = eqx.field(
        static=True, converter=_as_center, default=0.0
    )

    def __check_init__(self) -> None:
        if not (is_number(self.radius) and 0 < self.radius < math.inf):
            raise ValueError(f"Disc expects a positive, finite radius; got {self.radius!r}.")

    def image(self, unit: Float[Array, " dim"], *args: Any, **kwargs: Any) -> WeightedPoint:
        """In one coordinate the interval; in two and three polar coordinates, r first."""
        size, tau = unit.size, 2 * math.pi
        volume = self._volume(size, unit.dtype)
        if size == 1:
            step, factor = 2 * unit - 1, jnp.asarray(2.0, unit.dtype)
        elif size == 2:
            step = unit[0] * _on_circle(tau * unit[1])
            factor = tau * unit[0]
        elif size == 3:
            polar = math.pi * unit[1]
            ring = jnp.sin(polar) * _on_circle(tau * unit[2])
            step = unit[0] * jnp.concatenate([ring, jnp.cos(polar)[None]])
            factor = tau * math.pi * unit[0] ** 2 * jnp.sin(polar)
        else:
            step = _within(jax.scipy.special.ndtri(unit))
            return self._moved(step), volume
        return self._moved(step), factor * self.radius**size

    def draw(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> WeightedPoint:
        """Uniform: the direction of a normal vector, and a radius of density $d r^{d−1}$."""
        direction = jax.random.normal(stream(key, "direction in a disc"), (size,))
        size_of_step = jax.random.uniform(stream(key, "radius in a disc")) ** (1 / size)
        step = size_of_step * direction / jnp.linalg.norm(direction)
        return self._moved(step), self._volume(size, step.dtype)

    def _volume(self, size: int, dtype: Any) -> Float[Array, ""]:
        """π^(d/2) r^d / Γ(d/2 + 1), of which r^d alone may be out of range."""
        logarithm = size * (math.log(math.pi) / 2 + math.log(self.radius))
        logarithm -= math.lgamma(size / 2 + 1)
        what = f"a disc of radius {self.radius} in {size} coordinates"
        check_weight(logarithm, dtype, what)
        return jnp.asarray(math.exp(logarithm), dtype)

    def _moved(self, step: Float[Array, " dim"]) -> Float[Array, " dim"]:
        center = np.asarray(self.center)
        if center.shape not in ((), step.shape):
            raise ValueError(
                f"an integral over {step.size} coordinate(s) has a disc whose center is a number, "
                f"or as many; got {self.center}."
            )
        return jnp.asarray(np.broadcast_to(center, step.shape), step.dtype) + self.radius * step


def _on_circle(angle: Float[Array, ""]) -> Float[Array, "2"]:
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def _within(normal: Float[Array, " dim"]) -> Float[Array, " dim"]:
    """Maps normal vectors to uniform points of the unit ball. With the distribution function F of
    |g|², F(|g|²) is uniform in [0, 1], and so is the d-th power of the radius.
    """
    squares = jnp.sum(normal**2)
    share = jax.scipy.special.gammainc(normal.size / 2, squares / 2)
    return normal / jnp.sqrt(squares) * share ** (1 / normal.size)


@final
class Within(AbstractRegion):
    """The points of a region at which a function is true.

    It integrates a function that is zero elsewhere over the whole region. Draws are unbiased. Fixed
    rules see a jump, and have few digits.

    **Arguments:**

    - `region`: a region around it, or a domain, such as a [`diffop.pde.Box`][].
    - `where`: a function of a point of the region, to true or false.

    **Raises:** `TypeError` for anything but a region or a domain, and a function; when an integral
    is evaluated, `TypeError` if `where` gives a number, `ValueError` if it gives several values.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        square = do.quadrature.Limits(0.0, 1.0)
        triangle = do.quadrature.Within(square, lambda y: y[0] + y[1] < 1)
        do.Integral(triangle).exact(lambda x: 1.0)(jnp.zeros(2))  # about 1/2
        ```
    """

    region: AbstractRegion = eqx.field(converter=as_region)
    where: Callable[[Float[Array, " dim"]], Bool[Array, ""]]

    def __check_init__(self) -> None:
        if not callable(self.where):
            raise TypeError(
                "Within expects a function of a point of the region, to true or false; got "
                f"{self.where!r}."
            )

    def image(self, unit: Float[Array, " dim"], *args: Any, **kwargs: Any) -> WeightedPoint:
        """The region's image, with weight 0 elsewhere."""
        return self._weighted(*self.region.image(unit, *args, **kwargs))

    def draw(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> WeightedPoint:
        """The region's points, with weight 0 elsewhere."""
        return self._weighted(*self.region.draw(key, size, *args, **kwargs))

    def _weighted(self, y: Float[Array, " dim"], weight: Float[Array, ""]) -> WeightedPoint:
        inside = jnp.asarray(self.where(y))
        if inside.dtype != bool:
            raise TypeError(
                "Within expects a function that says whether a point belongs to the region, such "
                f"as lambda y: y[0] < 1, got one of type {inside.dtype}."
            )
        if inside.shape != ():
            raise ValueError(
                "Within expects a function that says of all of a point whether it belongs to the "
                f"region, such as lambda y: y[0] < 1, got one of shape {inside.shape}."
            )
        return y, jnp.where(inside, weight, 0)


@final
class WholeSpace(AbstractRegion):
    """All of space, by the normal distribution around `center`. Points are y = center + scale · z
    with normally distributed z, and weights are 1 over their density.

    The integrand has to decay faster than $exp(−|y − center|²/4 scale²)$, so that the variance of
    draws is finite. A standard error does not show that `scale` is too small. Rules use
    quantiles, which are not smooth at the ends of the cube: 16 points give five digits of the
    integral of a normal density.

    **Arguments:**

    - `scale`: positive; as large as the region that contains most of the integral, or larger.
    - `center`: one number for all coordinates, or one for each.

    **Raises:** `ValueError` for a scale that is not positive and, when an integral is evaluated, if
    there are so many coordinates that weights are out of range (some 45 in single precision).

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        line = do.Integral(do.quadrature.WholeSpace(1.0))
        line.exact(lambda x: jnp.exp(-x @ x))(jnp.zeros(1))  # √π = 1.772
        ```
    """

    scale: int | float = eqx.field(static=True, converter=plain)
    center: int | float | tuple[int | float, ...] = eqx.field(
        static=True, converter=_as_center, default=0.0
    )

    def __check_init__(self) -> None:
        if not (is_number(self.scale) and 0 < self.scale < math.inf):
            raise ValueError(f"WholeSpace expects a positive, finite scale; got {self.scale!r}.")

    def image(self, unit: Float[Array, " dim"], *args: Any, **kwargs: Any) -> WeightedPoint:
        """The quantiles of the normal distribution."""
        return self._weighted(jax.scipy.special.ndtri(unit))

    def draw(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> WeightedPoint:
        """Normally distributed."""
        return self._weighted(jax.random.normal(key, (size,)))

    def _weighted(self, normal: Float[Array, " dim"]) -> WeightedPoint:
        center = jnp.asarray(self.center, normal.dtype)
        if center.shape not in ((), normal.shape):
            raise ValueError(
                f"WholeSpace expects a center that is one number, or one for each of the "
                f"{normal.size} coordinates; got {self.center}."
            )
        size = normal.size
        volume = size * math.log(self.scale * math.sqrt(2 * math.pi))
        # |z|² has the mean d and the standard deviation √(2d): from none to six of these beyond
        for squares in (0.0, size + 6 * math.sqrt(2 * size)):
            what = f"WholeSpace of scale {self.scale} in {size} coordinates"
            check_weight(volume + squares / 2, normal.dtype, what)
        return center + self.scale * normal, jnp.exp(volume + jnp.sum(normal**2) / 2)
