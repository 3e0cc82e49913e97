"""What optimisers reach on six equations on the unit cube: error by seconds, in double precision.

    python -m benchmarks.studies.optimisers poisson-2d
    python -m benchmarks.studies.optimisers poisson-2d --optimiser adam --weight 10 --steps 20000
    python -m benchmarks.studies.optimisers poisson-2d --picture optimisers.png

Fresh points at each step, uniform in the cube and on its faces. Each equation has the settings of
its row in the documentation; what is given replaces them. A line for each dispatch goes to --out.
"""

import argparse
import json
import math
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

import diffop as do
from diffop.methods.optimisers import SCHEDULES

from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Curves, draw

_TEST_POINTS = 10_000
RESULTS = pathlib.Path(__file__).parents[1] / "results" / "optimisers-cpu.jsonl"


class Equation(NamedTuple):
    """An equation on the unit cube, whose last coordinate may be time.

    - `dim`: coordinates of a point.
    - `operators`: a pytree of those in it.
    - `residual`: from their values at a point, and the point, to what is to be 0.
    - `solution`: at a point, also what is given at the boundary.
    - `widths`: of the hidden layers, as in the table of Dangel et al. 2024, arXiv 2405.15603.
    - `time`: whether the last coordinate is time, and the face t = 1 is free.
    """

    dim: int
    operators: PyTree
    residual: Callable[[Any, Array], Array]
    solution: Callable[[Array], Array]
    widths: tuple[int, ...]
    time: bool = False


class Settings(NamedTuple):
    """How an equation is trained by default: with the first weight of the boundary, and the first
    number of draws, for so many steps, and with the next ones after them; one is for all.

    - `n`: draws of Rademacher jets at each point; 0 for exact operators.
    - `momentum`: of Gauss–Newton.
    - `schedule`: how the sizes of its steps decay.
    """

    points: int
    faces: int
    weight: tuple[float, ...]
    steps: tuple[int, ...]
    n: tuple[int, ...] = (0,)
    momentum: float = 0.0
    schedule: str = "constant"


def _sines(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.prod(jnp.sin(jnp.pi * x))


def _cosines(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.sum(jnp.cos(jnp.pi * x))


def _cooling(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.exp(-x[-1]) * jnp.sum(jnp.sin(2 * x[:-1]))


def _harmonic(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.sum(x[::2] * x[1::2]) / 1.34


_VARIANCE = 2.0  # of the noise; the density begins with a variance of one


def _fokker_planck(values: tuple[Array, Array, Array], x: Float[Array, " dim"]) -> Array:
    """The logarithm q of a density p, p_t = ∇·(x p)/2 + σ² Δp/2 in space."""
    q_t, slope, laplacian = values
    drift = (slope.size + x[:-1] @ slope) / 2
    return q_t - drift - _VARIANCE / 2 * (laplacian + slope @ slope)


def _log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
    """That of a Gaussian whose variance goes from 1 to σ²."""
    variance = _VARIANCE + (1 - _VARIANCE) * jnp.exp(-x[-1])
    return -(x[:-1] @ x[:-1] / variance + (x.size - 1) * jnp.log(2 * jnp.pi * variance)) / 2


def _square(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return x @ x / 33.47


def _less(source: Callable[[Array], Any]) -> Callable[[Array, Array], Array]:
    """The residual of an equation whose other side is the source."""
    return lambda value, x: value - source(x)


def _poisson(
    source: Callable[[Array], Any], solution: Callable, widths: tuple[int, ...], dim: int
) -> Equation:
    return Equation(dim, do.Laplacian(), _less(source), solution, widths)


_SPACE_4, _SPACE_9 = tuple(range(4)), tuple(range(9))
_HEAT = do.Partial(4) - 0.25 * do.Laplacian(dims=_SPACE_4)
_DENSITY = (do.Partial(9), do.Gradient(dims=_SPACE_9), do.Laplacian(dims=_SPACE_9))
_LARGE, _LARGER = (256, 256, 128, 128), (768, 768, 512, 512)
EQUATIONS = {
    "poisson-2d": _poisson(lambda x: -2 * jnp.pi**2 * _sines(x), _sines, (64,), 2),
    "poisson-5d": _poisson(lambda x: -(jnp.pi**2) * _cosines(x), _cosines, (64,), 5),
    "heat-4d": Equation(5, _HEAT, _less(lambda x: 0.0), _cooling, (64,), time=True),
    "poisson-10d": _poisson(lambda x: 0.0, _harmonic, _LARGE, 10),
    "fokker-planck-9d": Equation(10, _DENSITY, _fokker_planck, _log_density, _LARGE, time=True),
    "poisson-100d": _poisson(lambda x: 200 / 33.47, _square, _LARGER, 100),
}

SETTINGS = {
    "poisson-2d": Settings(900, 120, (10.0,), (3000,)),
    "poisson-5d": Settings(3000, 500, (10.0,), (2000,)),
    "heat-4d": Settings(3000, 500, (10.0,), (1000,)),
    "poisson-10d": Settings(400, 200, (10.0,), (400,), momentum=0.9, schedule="cosine"),
    "fokker-planck-9d": Settings(400, 200, (10.0,), (300,)),
    "poisson-100d": Settings(500, 1000, (100.0,), (1000,), (1,), 0.9, "cosine"),
}


class Loss(eqx.Module):
    """The mean squares of the residual and, with a weight, of what is missed at the boundary."""

    equation: Equation = eqx.field(static=True)
    points: int = eqx.field(static=True)
    faces: int = eqx.field(static=True)
    weight: float = eqx.field(static=True)
    n: int = eqx.field(static=True)

    def pointwise(self, u: Callable, key: PRNGKeyArray) -> dict[str, do.losses.Pointwise]:
        """The residuals at fresh points, each with draws of its own."""
        inside, outside = jax.random.split(key)
        draws = jax.random.split(jax.random.fold_in(key, 2), self.points)
        factor = self.weight / math.sqrt(self.faces)
        equation, root = self.equation, math.sqrt(self.points)
        return {
            "residual": do.losses.Pointwise(
                lambda u, at: self._residual(u, *at) / root,
                (jax.random.uniform(inside, (self.points, equation.dim)), draws),
            ),
            "data": do.losses.Pointwise(
                lambda u, x: factor * (u(x) - equation.solution(x)),
                on_faces(equation, outside, self.faces),
            ),
        }

    def _residual(
        self, u: Callable, x: Float[Array, " dim"], key: PRNGKeyArray
    ) -> Float[Array, ""]:
        operators, residual = self.equation.operators, self.equation.residual
        if self.n:
            return residual(do.estimate(operators, key, self.n, "rademacher")(u)(x), x)
        return residual(do.exact(operators)(u)(x), x)

    def __call__(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        terms = self.pointwise(u, key)
        return sum((jnp.sum(each(u) ** 2) for each in terms.values()), jnp.zeros(()))


def on_faces(equation: Equation, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
    """Uniform points moved to a uniform face; in time, to the first one only."""
    point_key, axis_key, side_key = jax.random.split(key, 3)
    points = jax.random.uniform(point_key, (count, equation.dim))
    axis = jax.random.randint(axis_key, (count,), 0, equation.dim)
    side = jax.random.bernoulli(side_key, 0.5, (count,))
    if equation.time:
        side &= axis < equation.dim - 1
    return points.at[jnp.arange(count), axis].set(side.astype(points.dtype))


class Network(eqx.Module):
    """A tanh network with layers of several widths."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, dim: int, widths: tuple[int, ...], key: PRNGKeyArray):
        sizes = (dim, *widths, 1)
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(
            eqx.nn.Linear(*pair, key=each)
            for each, pair in zip(keys, zip(sizes[:-1], sizes[1:], strict=True), strict=True)
        )

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x))
        return self.layers[-1](x)[0]


def optimiser(options: argparse.Namespace, steps: int) -> Any:
    """What was asked for by name."""
    if options.optimiser == "adam":
        return optax.adam(optax.linear_schedule(options.learning_rate, 0.0, steps))
    if options.optimiser == "lbfgs":
        return do.methods.LBFGS()
    solver = {
        "gauss-newton-qr": do.methods.QR(),
        "gauss-newton-cg": do.methods.ConjugateGradients(options.iterations),
    }.get(options.optimiser, do.methods.Cholesky())
    adaptive = options.optimiser == "levenberg-marquardt"
    damping = options.damping or (1e-2 if adaptive else 1e-12)
    return do.methods.GaussNewton(
        damping=damping,
        adaptive=adaptive,
        momentum=options.momentum,
        halvings=options.halvings,
        solver=solver,
        acceleration=adaptive,
        learning_rate=SCHEDULES[options.schedule](1.0, steps),
    )


def measure(options: argparse.Namespace) -> None:
    """Trains, and prints the error as it goes."""
    equation = EQUATIONS[options.equation]
    widths = options.widths or equation.widths
    net_key, train_key, test_key = jax.random.split(jax.random.key(options.seed), 3)
    model = Network(equation.dim, tuple(widths), net_key)
    test = jax.random.uniform(test_key, (_TEST_POINTS, equation.dim))
    truth = jax.jit(jax.vmap(equation.solution))(test)
    null = float(jnp.std(truth) / jnp.sqrt(jnp.mean(truth**2)))
    error_of = eqx.filter_jit(
        lambda u: jnp.linalg.norm(jax.vmap(u)(test) - truth) / jnp.linalg.norm(truth)
    )
    print(f"{in_words(machine())}; null model (the best constant) {null:.2e}", flush=True)
    began, processor, before = time.time(), time.process_time(), 0
    stages = zip(*_by_stages(options.weight, options.steps, options.n), strict=True)
    for stage, (weight, steps, n) in enumerate(stages):
        loss = Loss(equation, options.points, options.faces, weight, n)
        for state in do.train.iterate(
            model,
            loss,
            optimiser(options, steps),
            steps,
            key=jax.random.fold_in(train_key, stage),
            steps_per_dispatch=options.every,
        ):
            line = {
                "equation": options.equation,
                "optimiser": options.optimiser,
                "seed": options.seed,
                "weight": weight,
                "step": before + state.step,
                "loss": float(state.losses[-1]),
                "error": float(error_of(state.model)),
                "null": null,
                "wall": round(time.time() - began, 1),
                "processor": round(time.process_time() - processor, 1),
            }
            _tell(line, options.out)
            model = jax.tree.map(lambda leaf: leaf.copy(), state.model)
            if line["wall"] > options.seconds:
                return
        before += steps


def _by_stages(*settings: Sequence[Any]) -> list[list[Any]]:
    """One value is for all stages."""
    count = max(map(len, settings))
    return [[*each] * count if len(each) == 1 else [*each] for each in settings]


def _tell(line: dict[str, Any], out: pathlib.Path | None) -> None:
    seconds = f"{line['wall']:.0f} s ({line['processor']:.0f} s of processors)"
    print(
        f"{line['step']} steps, {seconds}: loss {line['loss']:.1e}, error {line['error']:.2e}",
        flush=True,
    )
    if out:
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")


def picture(equation: str, path: pathlib.Path) -> None:
    """Draws the committed measurements of an equation, error by seconds of processors."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for line in map(json.loads, RESULTS.read_text().splitlines()):
        if line["equation"] == equation and line["seed"] == 0:
            seconds, errors = curves.setdefault(line["optimiser"], ([], []))
            seconds.append(line["processor"])
            errors.append(line["error"])
    draw(Curves("", "seconds of processors", "relative L2 error", {**curves}), str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("equation", choices=EQUATIONS)
    parser.add_argument(
        "--optimiser",
        choices=(
            "levenberg-marquardt",
            "gauss-newton",
            "gauss-newton-qr",
            "gauss-newton-cg",
            "lbfgs",
            "adam",
        ),
        default="levenberg-marquardt",
    )
    for name in ("points", "faces"):
        parser.add_argument(f"--{name}", type=int, help="as the equation has it by default")
    parser.add_argument("--widths", type=int, nargs="+", help="of the hidden layers")
    parser.add_argument("--weight", type=float, nargs="+", help="of the boundary, by stages")
    parser.add_argument("--steps", type=int, nargs="+", help="of each stage")
    parser.add_argument("--damping", type=float, help="by default 1e-2 where it adapts, or 1e-12")
    parser.add_argument("--momentum", type=float, help="of Gauss-Newton")
    parser.add_argument(
        "--n",
        type=int,
        nargs="+",
        help="draws of jets at a point, by stages, 0 for exact operators",
    )
    parser.add_argument("--halvings", type=int, default=12)
    parser.add_argument("--iterations", type=int, default=200, help="of conjugate gradients")
    parser.add_argument("--learning-rate", type=float, default=1e-2, help="of adam")
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        help="how the sizes of Gauss-Newton's steps decay, in each stage",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=25, help="steps between lines")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of wall time at most")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--out", type=pathlib.Path, help="a file of JSON lines to add to")
    parser.add_argument("--picture", type=pathlib.Path, help="draw what is committed, instead")
    options = parser.parse_args()
    if options.picture:
        return picture(options.equation, options.picture)
    for name, value in SETTINGS[options.equation]._asdict().items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    jax.config.update("jax_enable_x64", not options.single)
    measure(options)


if __name__ == "__main__":
    main()
