"""Values of reaction and diffusion in a periodic square, for the package's data.

    python -m benchmarks.references.planes

Both equations are smooth, periodic and stiff by diffusion alone: Fourier's method, and the
exponential method of order 4 of Cox and Matthews, whose coefficients are means over circles (Kassam
and Trefethen 2005, "Fourth-order time-stepping for stiff PDEs"), with equal steps.

Each is written beside its difference from a computation that has fewer modes and longer steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .evolution import DATA, exponential_step

PLACES = 20
"""In each direction."""


class Plane(NamedTuple):
    """An equation u_t = L u + N(u) for several functions on [−1, 1]², periodic.

    - `rates`: of the functions, ε and c of the linear part ε Δ + c.
    - `reaction`: N, for an array of shape `(functions, x, y)`.
    - `initial`: for coordinates of that shape without the first axis.
    - `times`: at which values are known, the first and the last among them, and between them as
        many equal intervals.
    """

    rates: tuple[tuple[float, float], ...]
    reaction: Callable[[np.ndarray], np.ndarray]
    initial: Callable[[np.ndarray, np.ndarray], np.ndarray]
    duration: float
    times: int


def places() -> np.ndarray:
    """From −1 on, without 1, which is the same."""
    return np.linspace(-1, 1, PLACES, endpoint=False)


def _turned(u: np.ndarray) -> np.ndarray:
    """(1 + 1.5i) |A|² A, of A = u + iv."""
    squared = u[0] ** 2 + u[1] ** 2
    return -10 * squared * np.stack([u[0] - 1.5 * u[1], u[1] + 1.5 * u[0]])


def _consumed(u: np.ndarray) -> np.ndarray:
    eaten = 1000 * u[0] * u[1] ** 2
    return np.stack([40 - eaten, eaten])


GINZBURG_LANDAU = Plane(
    ((0.004, 10.0), (0.004, 10.0)),
    _turned,
    lambda x, y: np.stack([10 * y, 10 * x]) * np.exp(-25 * (x**2 + y**2)),
    1.0,
    21,
)
GRAY_SCOTT = Plane(
    ((0.2, -40.0), (0.1, -100.0)),
    _consumed,
    lambda x, y: np.stack(
        [
            1 - np.exp(-10 * ((x + 0.05) ** 2 + (y + 0.02) ** 2)),
            np.exp(-10 * ((x - 0.05) ** 2 + (y - 0.02) ** 2)),
        ]
    ),
    2.0,
    201,
)


def plane(equation: Plane, modes: int, steps: int) -> np.ndarray:
    """Its solution, shape `(times, functions, x, y)`, by so many modes in each direction, a
    multiple of half the places, and so many steps, a multiple of the intervals of time.
    """
    nodes = np.linspace(-1, 1, 2 * modes, endpoint=False)
    u = equation.initial(*np.meshgrid(nodes, nodes, indexing="ij"))
    waves, rising = np.fft.fftfreq(2 * modes, 1 / (2 * modes)), np.arange(modes + 1)
    kept = (np.abs(waves)[:, None] <= 4 * modes / 5) & (rising <= 4 * modes / 5)
    squared = np.pi**2 * (waves[:, None] ** 2 + rising**2)
    linear = np.stack([c - epsilon * squared for epsilon, c in equation.rates])
    length = equation.duration / steps

    def slope(series: np.ndarray) -> np.ndarray:
        return length * kept * np.fft.rfft2(equation.reaction(np.fft.irfft2(series)))

    step = exponential_step(linear * length, slope)
    every, thinned = steps // (equation.times - 1), slice(None, None, 2 * modes // PLACES)
    series, found = np.fft.rfft2(u), [u[:, thinned, thinned]]
    for count in range(1, steps + 1):
        series = step(series)
        if count % every == 0:
            found.append(np.fft.irfft2(series)[:, thinned, thinned])
    return np.stack(found)


COMPUTED = {
    "ginzburg-landau": (GINZBURG_LANDAU, (120, 4000), (100, 2000)),
    "gray-scott": (GRAY_SCOTT, (70, 40_000), (60, 20_000)),
}
"""What, with how many modes and steps, and with what to compare."""


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name, (equation, fine, coarse) in COMPUTED.items():
        u = plane(equation, *fine)
        apart = np.abs(u - plane(equation, *coarse)).max() / np.abs(u).max()
        np.savez_compressed(DATA / f"{name}.npz", u=u)
        print(f"{name}: {apart:.1e} from the coarser one")


if __name__ == "__main__":
    main()
