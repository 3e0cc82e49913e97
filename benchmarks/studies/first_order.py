"""How much of a solution on the unit ball is of first order in the coordinates.

    python -m benchmarks.studies.first_order
    python -m benchmarks.studies.first_order --dims 100 1000

The solutions are (1 − |x|²) S(x). Of the random coefficients of each seed, as `diffop solve` draws
them: the error of the null model, a (1 − |x|²), and that of (1 − |x|²)(a + c ∇S(0)·x), both fitted
to the solution. Their ratio is the skill that a network has which knows ∇S(0), and nothing else.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import diffop as do
from diffop.train.model import Keys


def errors(dim: int, seed: int, points: int) -> tuple[float, float]:
    """Those of the two models, in double precision."""
    keys = Keys.of(do.train.Settings("allen-cahn-two-body", dim=dim, seed=seed))
    problem = do.pde.make("allen-cahn-two-body", dim, key=keys.problem)
    x = problem.sample(keys.test, points)
    with jax.enable_x64(True):
        problem = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), problem)
        x = x.astype(jnp.float64)
        slope = jax.grad(problem.sum)(jnp.zeros(dim))
        u = np.asarray(jax.lax.map(problem.solution, x))
        factor = 1 - jnp.sum(x * x, axis=1)
        models = np.stack([factor, factor * (x @ slope)], axis=1)

    def missed(columns: np.ndarray) -> float:
        coefficients, *_ = np.linalg.lstsq(columns, u, rcond=None)
        return float(np.linalg.norm(columns @ coefficients - u) / np.linalg.norm(u))

    return missed(models[:, :1]), missed(models)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--points", type=int, default=200)
    options = parser.parse_args()
    for dim in options.dims:
        for seed in range(options.seeds):
            null, first = errors(dim, seed, options.points)
            found = f"null model {null:.2e}, first order {first:.2e}, skill {null / first:.3g}"
            print(f"{dim:,} dimensions, seed {seed}: {found}", flush=True)


if __name__ == "__main__":
    main()
