"""Values of pairs of equations in a periodic square, for the package's data.

    python -m benchmarks.references.square

They are Ginzburg and Landau's A_t = 0.004 ΔA + 10 A − (10 + 15i) |A|² A, with A = u + iv, and Gray
and Scott's u_t = 0.2 Δu + 40 (1 − u) − 1000 u v², v_t = 0.1 Δv − 100 v + 1000 u v². Only their
linear parts are stiff: Fourier's method, and the exponential method of order 4 of the other
evolution equations, with equal steps.

The values are written beside their difference from a computation that has fewer modes and longer
steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .evolution import DATA, exponential_step, in_steps

TIMES = 21
"""From 0 on."""


class Pair(NamedTuple):
    """u_t = rates · (Δu, u) + reaction(u) for a pair u.

    - `initial`: of x and y.
    - `duration`: the last time.
    - `places`: in each direction, from −1 on, without 1, which is the same.
    - `fine`, `coarse`: modes and steps, to compare.
    """

    rates: tuple[tuple[float, float], tuple[float, float]]
    reaction: Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
    initial: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    duration: float
    places: int
    fine: tuple[int, int]
    coarse: tuple[int, int]


def _turning(u: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    change = -(10 + 15j) * (u * u + v * v) * (u + 1j * v)
    return change.real, change.imag


def _spiral(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    near = np.exp(-25 * (x**2 + y**2))
    return 10 * y * near, 10 * x * near


def _feeding(u: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    made = 1000 * u * v * v
    return 40 - made, made


def _spots(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    def spot(*centre: float) -> np.ndarray:
        """A Gaussian, summed over periods."""
        periods = 2 * np.arange(-1, 2)[:, None, None]
        far = (each - at + periods for each, at in zip((x, y), centre, strict=True))
        one, other = (np.exp(-10 * z**2).sum(axis=0) for z in far)
        return one * other

    return 1 - spot(-0.05, -0.02), spot(0.05, 0.02)


PAIRS = {
    "ginzburg-landau": Pair(
        ((0.004, 10), (0.004, 10)), _turning, _spiral, 1.0, 20, (120, 4000), (100, 2000)
    ),
    "gray-scott": Pair(
        ((0.2, -40), (0.1, -100)), _feeding, _spots, 0.5, 24, (144, 16_000), (120, 8000)
    ),
}


def pair(name: str, modes: int, steps: int) -> np.ndarray:
    """The values of a pair, shape `(times, 2, x, y)`; `modes` in each direction is a multiple of
    half the places, and `steps` of the intervals of time.
    """
    rates, reaction, initial, duration, places, *_ = PAIRS[name]
    nodes = np.linspace(-1, 1, 2 * modes, endpoint=False)
    across, along = np.fft.fftfreq(2 * modes, 1 / (2 * modes))[:, None], np.arange(modes + 1)
    low = (np.abs(across) <= 4 * modes / 5) & (along <= 4 * modes / 5)  # products are aliased
    weights = (duration / steps * low)[None]
    bent = -(np.pi**2) * (across**2 + along**2)
    linear = np.stack([spread * bent + grown for spread, grown in rates]) * duration / steps

    def slope(series: jax.Array) -> jax.Array:
        change = jnp.stack(reaction(*jnp.fft.irfft2(series)))
        return jnp.asarray(weights) * jnp.fft.rfft2(change)

    thinned = slice(None, None, 2 * modes // places)
    begun = np.fft.rfft2(np.stack(initial(*np.meshgrid(nodes, nodes, indexing="ij"))))
    found = in_steps(exponential_step(linear, slope), begun, steps, TIMES - 1)
    return np.stack([np.fft.irfft2(each)[:, thinned, thinned] for each in found])


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name, each in PAIRS.items():
        u = pair(name, *each.fine)
        apart = np.abs(u - pair(name, *each.coarse)).max() / np.abs(u).max()
        np.savez_compressed(DATA / f"{name}.npz", u=u)
        print(f"{name}: {apart:.1e} from the coarser one")


if __name__ == "__main__":
    main()
