"""Operators as polynomials in ∂: composed, compared, evaluated exactly and by random jets.

python examples/operators.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do


def main() -> None:
    u = eqx.nn.MLP(50, "scalar", 64, depth=2, activation=jax.nn.gelu, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (50,))

    operator = do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1}) + do.Biharmonic()
    print("the operator          ", operator)
    print("Δ after Δ is Δ²       ", do.Laplacian() @ do.Laplacian() == do.Biharmonic())
    print(do.Laplacian().jets(x), "\n")

    exact = jax.jit(do.Laplacian().exact(u))(x)
    print(f"Δu exactly             {exact:+.5f}")
    for n in (4, 32):
        estimate = do.Laplacian().estimate(jax.random.key(2), n)
        mean, standard_error, *_ = jax.jit(estimate.stats(u))(x)
        print(f"Δu from {n:2d} of 50 jets   {mean:+.5f} ± {standard_error:.5f}")

    # Many estimates agree with the exact value in the mean.
    keys = jax.random.split(jax.random.key(3), 1000)
    many = jax.jit(jax.vmap(lambda key: do.Laplacian().estimate(key, 2)(u)(x)))(keys)
    error = jnp.std(many) / len(keys) ** 0.5
    print(f"mean of 1000 estimates {jnp.mean(many):+.5f} ± {error:.5f}")


if __name__ == "__main__":
    main()
