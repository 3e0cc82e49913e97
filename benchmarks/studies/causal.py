"""An equation whose network goes astray, with causal weights and without.

    python -m benchmarks.studies.causal
    python -m benchmarks.studies.causal --steps 3000 --tolerances 0.1 10

u_t = u_xx / 10⁴ + 5u − 5u³ for x in [−1, 1), periodic, from u = x² cos πx, to time 1. The network
has ten sines and cosines of x for periods, the initial values are exact, and 512 points are fresh
at each step of Adam. Beside it is the error of u = 0, and of the initial values held still.

Source of the equation, and of the weights: Wang, Sankaran and Perdikaris 2022, arXiv 2203.07404.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

import diffop as do

from ..harness.machine import machine
from ..harness.report import in_words

_DIFFUSION, _REACTION = 1e-4, 5.0
_WAVES, _POINTS, _TIMES, _STEPS = 10, 512, 100, 20_000


def initial(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return x[0] ** 2 * jnp.cos(jnp.pi * x[0])


def residual(v: dict[str, Array], x: Float[Array, " dim"]) -> Float[Array, ""]:
    return v["t"] - _DIFFUSION * v["xx"] - _REACTION * (v["u"] - v["u"] ** 3)


EQUATION = do.equations.Equation(
    {"u": do.Identity(), "t": do.Partial(1), "xx": do.Partial(0, 2)}, residual
)


class Evolution(eqx.Module):
    """u(x, t) = u₀(x) + t N(cos πmx, sin πmx, t)."""

    net: eqx.nn.MLP

    def __init__(self, key: PRNGKeyArray):
        self.net = eqx.nn.MLP(2 * _WAVES + 1, "scalar", 64, 4, jnp.tanh, key=key)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        angles = jnp.pi * jnp.arange(1, _WAVES + 1) * x[0]
        seen = jnp.concatenate([jnp.cos(angles), jnp.sin(angles), x[1:]])
        return initial(x) + x[1] * self.net(seen)


def points(key: PRNGKeyArray, count: int) -> Float[Array, "count 2"]:
    return jax.random.uniform(key, (count, 2), minval=jnp.array([-1.0, 0.0]), maxval=1.0)


def reference() -> tuple[np.ndarray, np.ndarray]:
    """Points (x, t) and u there, in double precision: Strang's splitting of diffusion, by Fourier
    transforms, and reaction, whose solution is known: u² e^{10t} / (1 + u² (e^{10t} − 1)).
    """
    x = np.linspace(-1, 1, _POINTS, endpoint=False)
    waves = np.pi * np.fft.fftfreq(_POINTS, 1 / _POINTS)
    step = 1 / _STEPS
    diffused = np.exp(-_DIFFUSION * waves**2 * step)
    growth = np.exp(_REACTION * step)  # of u², in half a step

    def reacted(u: np.ndarray) -> np.ndarray:
        return u * np.sqrt(growth / (1 + u * u * (growth - 1)))

    u = x**2 * np.cos(np.pi * x)
    found = [u]
    for number in range(1, _STEPS + 1):
        u = reacted(np.fft.ifft(diffused * np.fft.fft(reacted(u))).real)
        if number % (_STEPS // _TIMES) == 0:
            found.append(u)
    places = np.stack(np.meshgrid(x, np.linspace(0, 1, _TIMES + 1)), axis=-1)
    return places.reshape(-1, 2), np.array(found).reshape(-1)


def trained(tolerance: float, steps: int, seed: int) -> Evolution:
    """With causal weights, where there is a tolerance."""
    net_key, train_key = jax.random.split(jax.random.key(seed))
    causal = do.losses.Causal(lambda x: x[-1], tolerance) if tolerance else None
    loss = do.losses.ResidualLoss(EQUATION, 512, probes="exact", points=points, causal=causal)
    optimiser = optax.adam(optax.cosine_decay_schedule(2e-3, steps))
    return do.train.fit(Evolution(net_key), loss, optimiser, steps, key=train_key).model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=0)
    tolerances = {"type": float, "nargs": "+", "default": [0.0, 1.0]}
    parser.add_argument("--tolerances", **tolerances, help="0 for no weights")
    options = parser.parse_args()
    places, truth = reference()

    def error(values: np.ndarray) -> float:
        return float(np.linalg.norm(values - truth) / np.linalg.norm(truth))

    still = np.asarray(jax.vmap(initial)(jnp.asarray(places)))
    print(f"{in_words(machine())}; initial values held still {error(still):.2e}", flush=True)
    for tolerance in options.tolerances:
        u = trained(tolerance, options.steps, options.seed)
        values = np.asarray(jax.vmap(u)(jnp.asarray(places, jnp.float32)))
        print(f"tolerance {tolerance:g}: relative L2 error {error(values):.2e}", flush=True)


if __name__ == "__main__":
    main()
