"""What reverse mode keeps of jets: residuals, memory and time of a gradient, by order.

    python -m benchmarks.studies.residuals
    python -m benchmarks.studies.residuals --functions tanh --orders 2 4 8 --budget 0

A network φ(W … φ(W x)) added up, n normal jets through one point, collapsed, and the gradient of
the result by the weights: of two layers written out, and of layers in a loop (`jax.lax.scan`) that
keeps of all what it keeps of one.
"""

import argparse
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jex
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
MANY, LOOP = 20, 16
"""Layers whose equations are counted, and layers of the loop."""

_HEADER = (
    "φ",
    "K",
    f"equations, {MANY} layers",
    "residuals of (n, width), 2 layers",
    "kB",
    f"temporary kB, loop of {LOOP}",
    "ms",
)

Loss = Callable[[Array, Array, Array], Array]


def loss(name: str, order: int, loop: bool = False) -> Loss:
    """The mean of the K-th derivatives along lines in the directions v_r."""
    function = FUNCTIONS[name]

    def layer(x: Array, matrix: Array) -> tuple[Array, None]:
        return function(matrix @ x), None

    def of(weights: Array, x: Array, v: Array) -> Array:
        def u(x: Array) -> Array:
            if loop:
                return jnp.sum(jax.lax.scan(layer, x, weights)[0])
            for matrix in weights:
                x, _ = layer(x, matrix)
            return jnp.sum(x)

        tangents = ((v,), *((None,),) * (order - 1))
        jets = do.taylor.Jets(tangents, np.ones(len(v)) / len(v), top_only=True)
        return do.taylor.push(u, (x,), [jets]).derivatives[0][-1]

    return of


def inputs(layers: int, width: int, jets: int) -> tuple[Array, Array, Array]:
    """Weights, a point and directions."""
    rng = np.random.default_rng(0)
    shapes = ((layers, width, width), (width,), (jets, width))
    weights, x, v = (rng.normal(size=shape) / math.sqrt(width) for shape in shapes)
    return jnp.float32(weights), jnp.float32(x), jnp.float32(v)


def residuals(of: Loss, arguments: tuple[Array, Array, Array]) -> list[Any]:
    """The shapes and types of what the gradient keeps, each array once, but what it was given."""

    def backward(weights: Array, x: Array, v: Array) -> Any:
        return jax.vjp(lambda weights: of(weights, x, v), weights)[1]

    jaxpr = jax.make_jaxpr(backward)(*arguments).jaxpr
    kept = {atom for atom in jaxpr.outvars if not isinstance(atom, jex.Literal)}
    return [variable.aval for variable in kept.difference(jaxpr.invars)]


def equations(jaxpr: jex.Jaxpr, seen: set[int]) -> int:
    """Those of a program and of the programs in it, each program once."""
    count = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        for value in eqn.params.values():
            inner = value.jaxpr if isinstance(value, jex.ClosedJaxpr) else value
            if isinstance(inner, jex.Jaxpr) and id(inner) not in seen:
                seen.add(id(inner))
                count += equations(inner, seen)
    return count


def measure(name: str, order: int, width: int, jets: int, budget: float) -> tuple[str, ...]:
    """The cells of a row."""
    of, looped = loss(name, order), inputs(LOOP, width, jets)
    kept = residuals(of, inputs(2, width, jets))
    pushed = jax.make_jaxpr(of)(*inputs(MANY, width, jets)).jaxpr
    compiled: Any = jax.jit(jax.grad(loss(name, order, loop=True))).lower(*looped).compile()
    seconds = ""
    if budget:
        seconds = f"{1e3 * np.median(interleaved([lambda: compiled(*looped)], budget)):.3g}"
    return (
        name,
        str(order),
        f"{equations(pushed, set()):,}",
        str(sum(each.shape == (jets, width) for each in kept)),
        f"{sum(each.size * each.dtype.itemsize for each in kept) / 1e3:,.0f}",
        f"{compiled.memory_analysis().temp_size_in_bytes / 1e3:,.0f}",
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
