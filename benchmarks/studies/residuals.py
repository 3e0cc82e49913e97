"""What reverse mode keeps of jets: residuals, memory and time of a gradient, by order.

    python -m benchmarks.studies.residuals
    python -m benchmarks.studies.residuals --functions tanh --orders 2 4 8 --width 64 --budget 0

A network of two layers, φ(W₂ φ(W₁ x)) added up, n normal jets through one point, collapsed, and the
gradient of the result by W₁ and W₂.
"""

import argparse
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import diffop as do

from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Table
from ..harness.timing import interleaved

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "softplus": jax.nn.softplus,
    "gelu": jax.nn.gelu,
    "exp": lambda x: jnp.exp(x / 4),
}

_HEADER = (
    "φ",
    "K",
    "equations",
    "residuals of (n, width)",
    "bytes of residuals",
    "temporary bytes",
    "flops",
    "ms",
)

Weights = tuple[Array, Array]


def loss(function: Callable, order: int) -> Callable[[Weights, Array, Array], Array]:
    """Σ_r of the K-th derivatives along jets with the directions v_r."""

    def of(weights: Weights, x: Array, v: Array) -> Array:
        def u(x: Array) -> Array:
            return jnp.sum(function(weights[1] @ function(weights[0] @ x)))

        tangents = ((v,), *((None,),) * (order - 1))
        jets = do.taylor.Jets(tangents, np.ones(len(v)) / len(v), top_only=True)
        return do.taylor.push(u, (x,), [jets]).derivatives[0][-1]

    return of


def residuals(function: Callable, order: int, width: int, jets: int) -> list[Any]:
    """The shapes and types of the arrays that the gradient keeps, each once, but those that it was
    given.
    """
    of = loss(function, order)

    def backward(weights: Weights, x: Array, v: Array) -> Any:
        return jax.vjp(lambda weights: of(weights, x, v), weights)[1]

    jaxpr = jax.make_jaxpr(backward)(*inputs(width, jets)).jaxpr
    given = {*jaxpr.invars, *jaxpr.constvars}
    kept = {atom for atom in jaxpr.outvars if not hasattr(atom, "val")} - given
    return [variable.aval for variable in kept]


def inputs(width: int, jets: int) -> tuple[Weights, Array, Array]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return jnp.asarray(rng.normal(size=shape) / math.sqrt(width), jnp.float32)

    return (normal(width, width), normal(width, width)), normal(width), normal(jets, width)


def equations(function: Callable, order: int, layers: int) -> int:
    """How many equations a network of so many layers of 16 has when it is pushed."""
    (_, x, v) = inputs(16, 4)
    weights, of = jnp.eye(16), jnp.tanh if function is None else function

    def u(x: Array) -> Array:
        for _ in range(layers):
            x = of(weights @ x)
        return jnp.sum(x)

    def pushed(x: Array, v: Array) -> Array:
        tangents = ((v,), *((None,),) * (order - 1))
        jets = do.taylor.Jets(tangents, np.ones(len(v)), top_only=True)
        return do.taylor.push(u, (x,), [jets]).derivatives[0][-1]

    return len(jax.make_jaxpr(pushed)(x, v).jaxpr.eqns)


def measure(name: str, order: int, width: int, jets: int, budget: float) -> tuple[str, ...]:
    """The cells of a row."""
    function = FUNCTIONS[name]
    kept = residuals(function, order, width, jets)
    arguments = inputs(width, jets)
    compiled: Any = jax.jit(jax.grad(loss(function, order))).lower(*arguments).compile()
    seconds = ""
    if budget:
        seconds = (
            f"{1e3 * float(np.median(interleaved([lambda: compiled(*arguments)], budget))):.3g}"
        )
    return (
        name,
        str(order),
        f"{equations(function, order, 20):,}",
        str(sum(each.shape == (jets, width) for each in kept)),
        f"{sum(each.size * each.dtype.itemsize for each in kept):,}",
        f"{compiled.memory_analysis().temp_size_in_bytes:,}",
        f"{compiled.cost_analysis()['flops']:,.0f}",
        seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--orders", nargs="+", type=int, default=[2, 3, 4, 6, 8])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--jets", type=int, default=100)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of steps; 0 for none")
    options = parser.parse_args()
    print(f"{in_words(machine())}; {options.jets} jets, layers of {options.width}\n")
    lines = [
        measure(*case, options.width, options.jets, options.budget)
        for case in itertools.product(options.functions, options.orders)
    ]
    print(Table("residuals", _HEADER, lines).markdown())


if __name__ == "__main__":
    main()
