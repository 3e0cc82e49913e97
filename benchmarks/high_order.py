"""A training step of equations with mixed derivatives of order four, beside nested jax.grad.

    python -m benchmarks.high_order --sizes base

2D KdV, 2D KP and the gradient-enhanced 1D KdV. Others beside: nested jax.jvp, forward over reverse,
and the paper's jets with several tangents. Points, network and optimiser are the same; only who
computes the derivatives differs.
"""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do

from .command import BY_NETWORK, run_alone
from .comparison import check_agreement
from .equations import EQUATIONS, Equation
from .nestings import jvp_over_grad, nested_grad, nested_jvp
from .peers import Function, Method
from .schemes import SCHEMES, by_jets
from .sizes import BASE, Network
from .subjects import mlp, normal_points
from .table import Row
from .timing import interleaved_medians
from .trainer import Training

OURS = "diffop"
REFERENCE = "nested grad"


def with_diffop(coordinates: str, words: Iterable[str]) -> Method:
    """All derivatives in one call."""
    return do.exact({word: operator(coordinates, word) for word in words})


def operator(coordinates: str, word: str) -> do.Operator:
    """∂ by each letter of the word."""
    orders = {coordinates.index(letter): word.count(letter) for letter in word}
    if not orders:
        return do.Identity()
    return do.Partial(*orders.popitem()) if len(orders) == 1 else do.Mixed(orders)


WAYS = {
    OURS: with_diffop,
    REFERENCE: nested_grad,
    "nested jvp": nested_jvp,
    "jvp over grad": jvp_over_grad,
}


def derivatives(equation: Equation) -> dict[str, Method]:
    """All ways to the equation's derivatives {word: value}, ours first."""
    nested = {name: way(equation.coordinates, equation.words) for name, way in WAYS.items()}
    return nested | {
        scheme.name: by_jets(scheme) for scheme in SCHEMES if scheme.equation is equation
    }


def residuals(equation: Equation) -> dict[str, Method]:
    """All ways to the equation's residuals, ours first."""
    ways = {name: _after(method, equation) for name, method in derivatives(equation).items()}
    if equation.enhances is not None:
        ways["grad of the residual"] = _with_gradient(equation.enhances)
    return ways


def _after(method: Method, equation: Equation) -> Method:
    return lambda u: lambda x: equation.residuals(method(u)(x))


def _with_gradient(equation: Equation) -> Method:
    """One residual and its gradient, by one reverse pass over nested `jax.grad`."""
    method = _after(nested_grad(equation.coordinates, equation.words), equation)

    def transform(u: Function) -> Function:
        def values(x: jax.Array) -> tuple[jax.Array, ...]:
            residual, gradient = jax.value_and_grad(lambda x: method(u)(x)[0])(x)
            return (residual, *gradient)

        return values

    return transform


def measure(size: Network, points: int, repeats: int) -> list[Row]:
    return [row for equation in EQUATIONS for row in _rows(equation, size, points, repeats)]


def training(dim: int, method: Method, size: Network, points: int) -> Training:
    """Minimises the mean over normal points of the sum of the squared residuals."""

    def loss(u: eqx.nn.MLP, key: jax.Array, _: None) -> jax.Array:
        values = jax.vmap(method(u))(jax.random.normal(key, (points, dim)))
        return jnp.sum(jnp.mean(jnp.stack(values) ** 2, axis=1))

    return Training(loss, mlp(dim, size))


def _rows(equation: Equation, size: Network, points: int, repeats: int) -> list[Row]:
    _check(equation)
    ways = residuals(equation)
    trainings = [training(equation.dim, method, size, points) for method in ways.values()]
    seconds = dict(zip(ways, interleaved_medians(trainings, repeats), strict=True))
    case = f"training step, {equation.name}"
    return [
        Row(case, size, "time", name, 1e3 * seconds[OURS], 1e3 * seconds[name])
        for name in ways
        if name != OURS
    ]


def _check(equation: Equation) -> None:
    """In float64, on a small network, all derivatives and residuals are those by nested grad."""
    with jax.enable_x64(True):
        u, x = mlp(equation.dim, Network(width=16)), normal_points(2, equation.dim)
        for ways in (derivatives(equation), residuals(equation)):
            check_agreement({REFERENCE: ways[REFERENCE], **ways}, u, x, tolerance=1e-9)


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=(BASE,), repeats=20, option=BY_NETWORK)
