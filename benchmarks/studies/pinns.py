"""Steps of training by diffop, jinns and DeepXDE: the same equation, network, points and steps.

    python -m benchmarks.studies.pinns
    python -m benchmarks.studies.pinns --problems burgers --points 8192 --width 100 --depth 5

Poisson's equation and Burgers' are the first of the suite PINNacle, whose networks have five layers
of 100; heat in two dimensions of space is beside them. All of a package's points stay the same, and
it minimises the mean squares of the residual and of the data by Adam. Residuals of all packages are
compared first. Then they train in turns, each as its documentation shows, in one process: times of
a step are medians over the turns, without compiling, and ratios are medians of the ratios within a
turn. jinns prints its times. DeepXDE's steps are timed after its first one, which compiles. A
package that is not there is left out; DeepXDE needs the variable DDE_BACKEND=jax.
"""

import argparse
import contextlib
import io
import re
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import diffop as do

RATE = 1e-3
VISCOSITY = 0.01 / np.pi
DIFFUSION = 0.1


class Sizes(NamedTuple):
    """What is the same for all packages."""

    points: int
    data: int
    width: int
    depth: int
    steps: int


class Problem(NamedTuple):
    """u = 0 on the sides of a box; with time, `initial` at time 0, and time is the first coordinate
    where a package has it so.

    - `operators`, `residual`: diffop's, of points (x, …, t).
    - `in_jinns`, `in_deepxde`: the residual as each of them has it.
    """

    lower: float
    dim: int
    initial: Callable[[Any], Any] | None
    operators: Any
    residual: Callable[[Any, Any], Any]
    in_jinns: Callable[[], Any]
    in_deepxde: Callable[[], Callable]


def _source(x: Any) -> Any:
    return -2 * np.pi**2 * jnp.sin(np.pi * x[..., 0]) * jnp.sin(np.pi * x[..., 1])


def _jinns() -> tuple[Any, Any]:
    """The package, and its operators."""
    return import_module("jinns"), import_module("jinns.loss._operators")


def _deepxde() -> Any:
    return import_module("deepxde")


def _poisson_in_jinns() -> Any:
    jinns, operators = _jinns()

    class Poisson(jinns.loss.PDEStatio):
        def equation(self, x: Any, u: Any, params: Any) -> Any:
            return jnp.reshape(operators.laplacian_rev(x, u, params) - _source(x), (1,))

    return Poisson()


def _burgers_in_jinns() -> Any:
    return _jinns()[0].loss.BurgersEquation(Tmax=1.0)


def _heat_in_jinns() -> Any:
    jinns, operators = _jinns()

    class Heat(jinns.loss.PDENonStatio):
        def equation(self, t_x: Any, u: Any, params: Any) -> Any:
            rate = jax.grad(lambda t_x: jnp.squeeze(u(t_x, params)))(t_x)[0:1]
            return rate - DIFFUSION * jnp.reshape(operators.laplacian_rev(t_x, u, params), (1,))

    return Heat(Tmax=1.0)


def _second(u: Any, x: Any, i: int) -> Any:
    return _deepxde().grad.hessian(u, x, i=i, j=i)[0]


def _first(u: Any, x: Any, i: int) -> Any:
    return _deepxde().grad.jacobian(u, x, i=0, j=i)[0]


def _poisson_in_deepxde() -> Callable:
    return lambda x, u: _second(u, x, 0) + _second(u, x, 1) - _source(x)[:, None]


def _burgers_in_deepxde() -> Callable:
    return lambda x, u: _first(u, x, 1) + u[0] * _first(u, x, 0) - VISCOSITY * _second(u, x, 0)


def _heat_in_deepxde() -> Callable:
    return lambda x, u: _first(u, x, 2) - DIFFUSION * (_second(u, x, 0) + _second(u, x, 1))


def _plane() -> Any:
    return do.Partial(0, 2) + do.Partial(1, 2)


PROBLEMS = {
    "poisson": Problem(
        0.0, 2, None, _plane(), lambda values, x: values - _source(x),
        _poisson_in_jinns, _poisson_in_deepxde,
    ),
    "burgers": Problem(
        -1.0, 1, lambda x: -jnp.sin(np.pi * x[..., 0]),
        {"u": do.Identity(), "x": do.Partial(0),
         "linear": do.Partial(1) - float(VISCOSITY) * do.Partial(0, 2)},
        lambda values, x: values["linear"] + values["u"] * values["x"],
        _burgers_in_jinns, _burgers_in_deepxde,
    ),
    "heat": Problem(
        0.0, 2, lambda x: jnp.sin(np.pi * x[..., 0]) * jnp.sin(np.pi * x[..., 1]),
        do.Partial(2) - DIFFUSION * _plane(), lambda values, x: values,
        _heat_in_jinns, _heat_in_deepxde,
    ),
}  # fmt: skip


class Trained(NamedTuple):
    """Seconds of a step, and of compiling."""

    step: float
    compiling: float


def by_diffop(problem: Problem, sizes: Sizes) -> Trained:
    box = do.pde.Box((problem.lower,) * problem.dim, (1.0,) * problem.dim)
    domain, start = box, []
    if problem.initial is not None:
        domain = do.pde.SpaceTime(box, 1.0)
        start = [do.pde.Initial(problem.initial, on=domain)]
    conditions = [do.pde.Dirichlet(0.0, on=domain.boundary), *start]
    equation = do.equations.Equation(
        problem.operators, problem.residual, conditions=do.pde.Conditions(*conditions)
    )
    points = domain.sample(jax.random.key(1), sizes.points)
    loss = do.losses.ResidualLoss(
        equation, probes="exact", points=points, data_weight=1.0, data_batch=sizes.data
    )
    fit = do.train.fit(
        network(problem, sizes, "scalar"), loss, optax.adam(RATE), sizes.steps,
        key=jax.random.key(2), steps_per_dispatch=sizes.steps,
    )  # fmt: skip
    return Trained(fit.seconds / sizes.steps, fit.compile_seconds)


def by_jinns(problem: Problem, sizes: Sizes) -> Trained:
    jinns, _ = _jinns()
    jinns.parameters.EqParams.clear()
    timed, initial = problem.initial is not None, problem.initial
    kind = "PDENonStatio" if timed else "PDEStatio"
    u, nn_params = jinns.nn.PINN_MLP.create(eqx_network=network(problem, sizes, 1), eq_type=kind)
    params = jinns.parameters.Params(
        nn_params=nn_params, eq_params={"nu": jnp.array(VISCOSITY)} if problem.dim == 1 else {}
    )
    sides = 2 * problem.dim if problem.dim > 1 else 2
    common = dict(
        key=jax.random.key(1), n=sizes.points, nb=sizes.data // sides * sides, dim=problem.dim,
        min_pts=(problem.lower,) * problem.dim, max_pts=(1.0,) * problem.dim,
    )  # fmt: skip
    given = dict(
        u=u, dynamic_loss=problem.in_jinns(), boundary_condition=jinns.loss.Dirichlet(),
        params=params,
    )  # fmt: skip
    if initial is not None:
        data = jinns.data.CubicMeshPDENonStatio(tmin=0, tmax=1, ni=sizes.data, **common)
        loss = jinns.loss.LossPDENonStatio(
            initial_condition_fun=lambda x: jnp.reshape(initial(x), (1,)),
            loss_weights=jinns.loss.LossWeightsPDENonStatio(
                dyn_loss=1.0, boundary_loss=1.0, initial_condition=1.0
            ),
            **given,
        )
    else:
        data = jinns.data.CubicMeshPDEStatio(**common)
        weights = jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, boundary_loss=1.0)
        loss = jinns.loss.LossPDEStatio(loss_weights=weights, **given)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        jinns.solve(
            n_iter=sizes.steps, init_params=params, data=data, loss=loss,
            optimizer=optax.adam(RATE), key=jax.random.key(2), print_loss_every=sizes.steps,
        )  # fmt: skip
    found = re.findall(r"(?:Compilation|Training) took\s+([\d.e+-]+)", printed.getvalue())
    compiling, training = map(float, found)
    return Trained(training / sizes.steps, compiling)


def by_deepxde(problem: Problem, sizes: Sizes) -> Trained:
    deepxde = _deepxde()
    lower, upper = [problem.lower] * problem.dim, [1.0] * problem.dim
    space = deepxde.geometry.Interval(problem.lower, 1.0)
    if problem.dim > 1:
        space = deepxde.geometry.Rectangle(lower, upper)
    counts = dict(num_domain=sizes.points, num_boundary=sizes.data)
    if (initial := problem.initial) is not None:
        space = deepxde.geometry.GeometryXTime(space, deepxde.geometry.TimeDomain(0, 1))
        conditions = [
            deepxde.icbc.DirichletBC(space, lambda _: 0, _everywhere),
            deepxde.icbc.IC(space, lambda x: initial(x)[:, None], _everywhere),
        ]
        counts["num_initial"] = sizes.data
        data = deepxde.data.TimePDE(space, problem.in_deepxde(), conditions, **counts)
    else:
        condition = deepxde.icbc.DirichletBC(space, lambda _: 0, _everywhere)
        data = deepxde.data.PDE(space, problem.in_deepxde(), condition, **counts)
    layers = [space.dim if problem.initial is None else problem.dim + 1]
    layers += [sizes.width] * sizes.depth + [1]
    model = deepxde.Model(data, deepxde.nn.FNN(layers, "tanh", "Glorot uniform"))
    with contextlib.redirect_stdout(io.StringIO()):
        model.compile("adam", lr=RATE)
        begun = time.perf_counter()
        model.train(iterations=1, display_every=10**9)
        compiled = time.perf_counter()
        model.train(iterations=sizes.steps, display_every=10**9)
        jax.block_until_ready(model.params)
    step = (time.perf_counter() - compiled) / sizes.steps
    return Trained(step, compiled - begun - step)


def residual(package: str, problem: Problem, net: Callable, points: Any) -> Any:
    """That of a network of (x, …, t), as a package has it, at points."""
    if package == "diffop":
        operators = do.exact(problem.operators)
        return jax.vmap(lambda x: problem.residual(operators(net)(x), x))(points)
    if package == "DeepXDE":
        deepxde = _deepxde()
        deepxde.grad.clear()
        values = jax.vmap(net)(points)[:, None], lambda x: net(x)[None]
        return problem.in_deepxde()(points, values)[:, 0]
    jinns, _ = _jinns()
    jinns.parameters.EqParams.clear()
    timed = problem.initial is not None
    kind = "PDENonStatio" if timed else "PDEStatio"

    def late(x: Any) -> Any:
        return net(jnp.roll(x, -1) if timed else x)[None]  # time comes first

    u, weights = jinns.nn.PINN_MLP.create(eqx_network=eqx.nn.Lambda(late), eq_type=kind)
    constants = {"nu": jnp.array(VISCOSITY)} if problem.dim == 1 else {}
    params = jinns.parameters.Params(nn_params=weights, eq_params=constants)
    equation = problem.in_jinns()
    turned = jnp.roll(points, 1, axis=1) if timed else points
    return jax.vmap(lambda x: equation.evaluate(x, u, params)[0])(turned)


def agree(problem: Problem, packages: list[str]) -> None:
    """
    **Raises:** `AssertionError` if packages have residuals that are not the same but for rounding.
    """
    net = network(problem, Sizes(0, 0, 16, 2, 0), "scalar")
    size = problem.dim + (problem.initial is not None)
    points = jax.random.uniform(jax.random.key(3), (50, size))
    ours, *others = (residual(each, problem, net, points) for each in packages)
    for theirs in others:
        np.testing.assert_allclose(theirs, ours, atol=1e-4)


def _everywhere(_: Any, on: bool) -> bool:
    return on


def network(problem: Problem, sizes: Sizes, out: Any) -> eqx.nn.MLP:
    size = problem.dim + (problem.initial is not None)
    return eqx.nn.MLP(size, out, sizes.width, sizes.depth, jnp.tanh, key=jax.random.key(0))


PACKAGES = {"diffop": by_diffop, "jinns": by_jinns, "DeepXDE": by_deepxde}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--points", type=int, default=2048)
    parser.add_argument("--data", type=int, default=200)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    sizes = Sizes(*(getattr(options, name) for name in Sizes._fields))
    there = [name for name in PACKAGES if find_spec(_MODULES[name])]
    for name in options.problems:
        agree(PROBLEMS[name], there)
        turns = [
            {each: PACKAGES[each](PROBLEMS[name], sizes) for each in there}
            for _ in range(options.turns)
        ]
        for each in there:
            step = statistics.median(turn[each].step for turn in turns)
            compiling = statistics.median(turn[each].compiling for turn in turns)
            ratios = [turn[each].step / turn["diffop"].step for turn in turns]
            print(
                f"{name}, {each}: {1e3 * step:.1f} ms a step, compiling {compiling:.1f} s, "
                f"{statistics.median(ratios):.2f} times diffop's "
                f"({min(ratios):.2f} – {max(ratios):.2f})",
                flush=True,
            )


_MODULES = {"diffop": "diffop", "jinns": "jinns", "DeepXDE": "deepxde"}


if __name__ == "__main__":
    main()
