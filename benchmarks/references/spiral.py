"""Values of Ginzburg and Landau's equation in a periodic square, for the package's data.

    python -m benchmarks.references.spiral

Of A_t = 0.004 ΔA + 10 A − (10 + 15i) |A|² A only diffusion is stiff: Fourier's method, and the
exponential method of order 4 of the other evolution equations, with equal steps.

The values are written beside their difference from a computation that has fewer modes and longer
steps.
"""

import numpy as np

from .evolution import DATA, exponential_step

TIMES, PLACES = 21, 20
"""The times from 0 to 1, and the places in each direction, from −1 on, without 1, which is the
same.
"""
FINE, COARSE = (120, 4000), (100, 2000)


def spiral(modes: int, steps: int) -> np.ndarray:
    """The real and the imaginary part from 10 (y + ix) exp(−25 r²), shape `(times, 2, x, y)`;
    `modes` in each direction is a multiple of half the places, and `steps` of the intervals of
    time.
    """
    nodes = np.linspace(-1, 1, 2 * modes, endpoint=False)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    waves = np.fft.fftfreq(2 * modes, 1 / (2 * modes))
    low = np.abs(waves) <= 4 * modes / 5  # the products of others are aliased
    linear = 10 - 0.004 * np.pi**2 * (waves[:, None] ** 2 + waves**2)

    def slope(series: np.ndarray) -> np.ndarray:
        a = np.fft.ifft2(series)
        return -(10 + 15j) / steps * (low[:, None] & low) * np.fft.fft2(np.abs(a) ** 2 * a)

    step = exponential_step(linear / steps, slope)
    thinned = slice(None, None, 2 * modes // PLACES)
    series = np.fft.fft2(10 * (y + 1j * x) * np.exp(-25 * (x**2 + y**2)))
    found = [series]
    for count in range(1, steps + 1):
        series = step(series)
        if count % (steps // (TIMES - 1)) == 0:
            found.append(series)
    values = [np.fft.ifft2(each)[thinned, thinned] for each in found]
    return np.stack([np.stack([a.real, a.imag]) for a in values])


def main() -> None:
    DATA.mkdir(exist_ok=True)
    u = spiral(*FINE)
    apart = np.abs(u - spiral(*COARSE)).max() / np.abs(u).max()
    np.savez_compressed(DATA / "ginzburg-landau.npz", u=u)
    print(f"{apart:.1e} from the coarser one")


if __name__ == "__main__":
    main()
