"""Values of evolution equations on a grid of times and places, for the package's data.

    python -m benchmarks.references.evolution

Kuramoto and Sivashinsky's equation is stiff, smooth and periodic: Fourier's method, and the
exponential method of order 4 of Cox and Matthews, whose coefficients are means over circles (Kassam
and Trefethen 2005, "Fourth-order time-stepping for stiff PDEs"), with equal steps.

KdV is smooth and periodic: Fourier's method, the linear part by an integrating factor, and
Dormand's and Prince's method of order 8. Allen-Cahn begins with a kink where the interval closes
(x² cos πx has slopes ∓2 at x = ±1), which Fourier's method would see at any number of modes. It is
even, so that it is an equation on [0, 1] without flux at the ends: spectral elements, smaller and
smaller towards the kink, whose weak form needs no condition there, and Radau's method of order 5.

Each is written beside its difference from a computation that has fewer modes or nodes and larger
tolerances.
"""

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import legendre
from scipy import sparse
from scipy.integrate import solve_ivp

DATA = Path(__file__).parents[2] / "src" / "diffop" / "pde" / "classical" / "data"
TIMES, PLACES = 41, 100
KURAMOTO_TIMES = 101
LEVELS = 3


def grid() -> tuple[np.ndarray, np.ndarray]:
    """The times from 0 to 1, and the places from −1 on, without 1, which is the same."""
    return np.linspace(0, 1, TIMES), np.linspace(-1, 1, PLACES, endpoint=False)


def kdv(modes: int, tolerance: float) -> np.ndarray:
    """u_t + u u_x + 0.022² u_xxx = 0 from cos πx, shape `(times, places)`."""
    times, places = grid()
    nodes = np.linspace(-1, 1, 2 * modes, endpoint=False)
    waves = np.pi * np.arange(modes + 1)
    kept = np.arange(modes + 1) <= 2 * modes / 3  # the products of others are aliased
    linear = 1j * 0.022**2 * waves**3
    series = np.exp(1j * np.outer(places + 1, waves)) / modes

    def slope(time: float, moved: np.ndarray) -> np.ndarray:
        u = np.fft.irfft(np.exp(linear * time) * moved)
        return np.exp(-linear * time) * (-0.5j * waves * kept * np.fft.rfft(u * u))

    found, moved = [], np.fft.rfft(np.cos(np.pi * nodes)).astype(complex)
    for before, time in zip([0.0, *times], times, strict=False):
        if time > before:
            ends = (before, time)
            options = {"method": "DOP853", "rtol": tolerance, "atol": tolerance * modes}
            moved = solve_ivp(slope, ends, moved, **options).y[:, -1]
        halved = np.exp(linear * time) * moved * np.where(waves > 0, 1, 0.5)
        found.append((series @ halved).real)
    return np.stack(found)


def allen_cahn(nodes: int, tolerance: float) -> np.ndarray:
    """u_t = 1e-4 u_xx + 5u − 5u³ from x² cos πx, shape `(times, places)`."""
    times, places = grid()
    uniform = np.linspace(0, 1, 33)
    edges = np.concatenate(
        [uniform[:-1], 1 - (1 - uniform[-2]) * 0.25 ** np.arange(1, LEVELS + 1), [1.0]]
    )
    local, weights, slopes = gauss_lobatto(nodes)
    count = (len(edges) - 1) * nodes + 1
    x, mass, stiff = np.zeros(count), np.zeros(count), sparse.lil_matrix((count, count))
    of_unit = slopes.T @ np.diag(weights) @ slopes
    for number, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
        here, half = slice(number * nodes, (number + 1) * nodes + 1), (end - start) / 2
        x[here] = start + half * (local + 1)
        mass[here] += half * weights
        stiff[here, here] += of_unit / half
    diffusion = sparse.diags(-1e-4 / mass) @ stiff.tocsc()

    def slope(_: float, u: np.ndarray) -> np.ndarray:
        return diffusion @ u + 5 * u - 5 * u**3

    def jacobian(_: float, u: np.ndarray) -> sparse.csc_matrix:
        return sparse.csc_matrix(diffusion + sparse.diags(5 - 15 * u**2))

    found, u = [], x**2 * np.cos(np.pi * x)
    for before, time in zip([0.0, *times], times, strict=False):
        if time > before:
            options = {"method": "Radau", "rtol": tolerance, "atol": tolerance}
            u = solve_ivp(slope, (before, time), u, jac=jacobian, **options).y[:, -1]
        found.append(_interpolated(u, edges, nodes, np.abs(places)))
    return np.stack(found)


def kuramoto_sivashinsky(modes: int, steps: int) -> np.ndarray:
    """u_t + 100/16 u u_x + 100/16² u_xx + 100/16⁴ u_xxxx = 0 on [0, 2π] from cos x (1 + sin x),
    shape `(KURAMOTO_TIMES, PLACES)`; `steps` is a multiple of the intervals of time.
    """
    nodes = np.linspace(0, 2 * np.pi, 2 * modes, endpoint=False)
    waves = np.arange(modes + 1)
    kept = waves <= 2 * modes / 3
    linear = (100 / 16**2 * waves**2 - 100 / 16**4 * waves**4) / steps

    def slope(series: jax.Array) -> jax.Array:
        u = jnp.fft.irfft(series)
        return jnp.asarray(-50 / 16 * 1j / steps * waves * kept) * jnp.fft.rfft(u * u)

    step = exponential_step(linear, slope)
    begun = np.fft.rfft(np.cos(nodes) * (1 + np.sin(nodes)))
    found = in_steps(step, begun, steps, KURAMOTO_TIMES - 1)
    places = np.linspace(0, 2 * np.pi, PLACES, endpoint=False)
    halved = np.stack(found) * np.where(waves > 0, 1, 0.5) / modes
    return (halved @ np.exp(1j * np.outer(waves, places))).real


def exponential_step(
    linear: np.ndarray, slope: Callable[[jax.Array], jax.Array]
) -> Callable[[jax.Array], jax.Array]:
    """A step of Cox' and Matthews' method of order 4, of amplitudes that change by `linear` times
    themselves and by `slope`, both times the length of a step. Its weights are means over circles
    around the entries of `linear`, where they are quotients without cancellation.
    """
    r = linear[..., None] + np.exp(1j * np.pi * (np.arange(64) + 0.5) / 64)
    cubed = r**3
    quotients = (
        (np.exp(r / 2) - 1) / r,
        (-4 - r + np.exp(r) * (4 - 3 * r + r**2)) / cubed,
        (2 + r + np.exp(r) * (r - 2)) / cubed,
        (-4 - 3 * r - r**2 + np.exp(r) * (4 - r)) / cubed,
    )
    halfway, first, middle, last = (each.real.mean(axis=-1) for each in quotients)
    whole, half = np.exp(linear), np.exp(linear / 2)

    def step(series: jax.Array) -> jax.Array:
        at_first = slope(series)
        a = half * series + halfway * at_first
        at_a = slope(a)
        at_b = slope(half * series + halfway * at_a)
        at_last = slope(half * a + halfway * (2 * at_b - at_first))
        return whole * series + first * at_first + 2 * middle * (at_a + at_b) + last * at_last

    return step


def in_steps(
    step: Callable[[jax.Array], jax.Array], series: np.ndarray, steps: int, parts: int
) -> list[np.ndarray]:
    """Amplitudes at the beginning, and after each of so many equal parts of the steps, which are
    one compiled program.
    """

    def advance(series: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, steps // parts, lambda _, series: step(series), series)

    found = [series]
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        part = jax.jit(advance).lower(series).compile()
        for _ in range(parts):
            found.append(np.asarray(part(found[-1])))
    return found


def gauss_lobatto(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes and weights of Gauss' and Lobatto's rule on [−1, 1], and the derivative there of
    the polynomial through values there.
    """
    of_degree = legendre.Legendre.basis(degree)
    inner = np.sort(np.real(of_degree.deriv().roots()))
    for _ in range(3):  # Newton's, to rounding
        inner -= of_degree.deriv()(inner) / of_degree.deriv(2)(inner)
    x = np.concatenate([[-1.0], inner, [1.0]])
    p = of_degree(x)
    apart = x[:, None] - x + np.eye(degree + 1)
    slopes = p[:, None] / p / apart
    np.fill_diagonal(slopes, 0.0)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))  # of a constant it is 0
    return x, 2 / (degree * (degree + 1) * p**2), slopes


def _interpolated(u: np.ndarray, edges: np.ndarray, nodes: int, places: np.ndarray) -> np.ndarray:
    local, _, _ = gauss_lobatto(nodes)
    which = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)
    values = np.empty_like(places)
    for index, (number, place) in enumerate(zip(which, places, strict=True)):
        start, end = edges[number : number + 2]
        coefficients = legendre.legfit(local, u[number * nodes : (number + 1) * nodes + 1], nodes)
        values[index] = legendre.legval(2 * (place - start) / (end - start) - 1, coefficients)
    return values


COMPUTED = {
    "kdv-cosine": (kdv, (320, 1e-13), (256, 1e-12)),
    "kuramoto-sivashinsky": (kuramoto_sivashinsky, (256, 96_000), (192, 64_000)),
    "allen-cahn-1d": (allen_cahn, (28, 1e-11), (24, 1e-10)),
}
"""How, with what, and with what to compare."""


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name, (compute, fine, coarse) in COMPUTED.items():
        u = compute(*fine)
        apart = np.abs(u - compute(*coarse)).max() / np.abs(u).max()
        np.savez_compressed(DATA / f"{name}.npz", u=u)
        print(f"{name}: {apart:.1e} from the coarser one")


if __name__ == "__main__":
    main()
