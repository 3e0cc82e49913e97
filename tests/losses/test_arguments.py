"""Time where the user put it: the heat equation of u(x, t), of u(t, x) and of u of one vector have
one loss with one gradient, and both are those of nested autodiff.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses import squares

from ..refused import refusals

pytestmark = [
    pytest.mark.usefixtures("x64"),
    pytest.mark.once("the losses of the other files, with time elsewhere"),
]

KEY = jax.random.key(4)
COUNT, DURATION = 6, 2.0
SPACE = do.pde.Box((0.0, -1.0), (1.0, 1.0))


def value(x, t):
    return jnp.sin(x[0]) * jnp.exp(x[1] - t)


def net():
    return eqx.nn.MLP(3, "scalar", 5, depth=2, activation=jnp.tanh, key=jax.random.key(0))


def residual(values, f):
    return values["rate"] - values["lap"] + values["u"] ** 3 - f


def conditions(domain, of):
    return do.pde.Conditions(
        do.pde.Initial(of(value), on=domain),
        do.pde.Initial(0.5, on=domain, order=1),
        do.pde.Dirichlet(of(lambda x, t: t + x[1]), on=domain.boundary),
        do.pde.Neumann(of(lambda x, t: t * x[0]), on=domain.face(1, "upper")),
        do.pde.Robin(of(lambda x, t: 1 + t), 2.0, 0.3, on=domain.face(0, "lower")),
        do.pde.Periodic(on=domain.face(0, "lower")),
    )


WAYS = {
    # time is: argnum, functions of (x, t) as u takes its point, ∂_t, Δ, and where points are
    "coordinate": (
        None,
        lambda f: lambda z: f(z[:-1], z[-1]),
        do.Partial(2),
        do.Laplacian(dims=(0, 1)),
        lambda x, t: jnp.append(x, t[:, None], axis=1),
    ),
    "second": (1, lambda f: f, do.Partial(argnum=1), do.Laplacian(), lambda x, t: (x, t)),
    "first": (
        0,
        lambda f: lambda t, x: f(x, t),
        do.Partial(argnum=0),
        do.Laplacian(argnum=1),
        lambda x, t: (t, x),
    ),
}


def equation(way, data=True):
    argnum, of, rate, laplacian, _ = WAYS[way]
    domain = do.pde.SpaceTime(SPACE, DURATION, argnum)
    operators = {"u": do.Identity(), "rate": rate, "lap": laplacian}
    source = of(value)
    heat = do.equations.Equation(
        operators,
        lambda v, *args: residual(v, source(*args)),
        conditions=conditions(domain, of) if data else (),
    )
    return heat, domain


def network(way, weights):
    """The same function of x and t."""
    joined = do.nn.JoinedInput(weights)
    return WAYS[way][1](joined)


class OfWeights(eqx.Module):
    """The same as a module."""

    weights: eqx.Module
    way: str = eqx.field(static=True)

    def __call__(self, *args):
        return network(self.way, self.weights)(*args)


@functools.cache
def losses(way, name):
    """Data, which are the same in all losses, are in one."""
    heat, domain = equation(way, "data_weight" in OPTIONS[name])
    loss = do.losses.ResidualLoss(heat, COUNT, points=domain.sample, **OPTIONS[name])

    @eqx.filter_jit
    def both(weights):
        def of(weights):
            terms = loss.terms(network(way, weights), KEY)
            return sum(terms.values()), terms

        (total, terms), gradient = eqx.filter_value_and_grad(of, has_aux=True)(weights)
        parts = loss.pointwise(network(way, weights), KEY) if loss.square == "biased" else {}
        listed = {name: [f(network(way, weights)) for f in each] for name, each in parts.items()}
        squares = {
            name: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(each))
            for name, each in listed.items()
        }
        return total, terms, gradient, squares

    return both(net())


def close(got, expected):
    for mine, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-11, atol=1e-13)


OPTIONS = {
    "exact": {"probes": "exact", "data_weight": 2.0},
    "whole_gradient": {"probes": "exact", "gpinn": 0.3},
    "pool": {"probes": "exact", "pool": 3},
    "estimated": {"probes": "sparse", "n": 1},
    "enhanced": {"probes": "exact", "gpinn": 0.3, "gpinn_terms": 3},
}


@pytest.mark.parametrize(
    ("name", "way"), [*((name, "second") for name in OPTIONS), ("estimated", "first")]
)
def test_time_is_where_it_was_put(name, way):
    got, expected = losses(way, name), losses("coordinate", name)
    close(got[:3], expected[:3])
    for term, square in got[3].items():
        np.testing.assert_allclose(square, got[1][term], rtol=1e-11)


@pytest.mark.parametrize("way", ["second", "first"])
def test_beside_nested_autodiff(way):
    """Of u(x, t), written out with `jax.grad`, at the points that are drawn."""
    heat, domain = equation(way)
    points = domain.sample(KEY, COUNT)
    of = WAYS[way][1]

    def ours(weights):
        return do.nn.PINN(network(way, weights), heat).loss(points, data_weight=2.0)

    def written_out(weights):
        mlp = lambda x, t: weights(jnp.append(x, t))  # noqa: E731
        u_t, slope = jax.grad(mlp, 1), jax.grad(mlp)

        def inside(x, t):
            f = u_t(x, t) - jnp.trace(jax.hessian(mlp)(x, t)) + mlp(x, t) ** 3 - value(x, t)
            return f**2

        def missed(part, square):
            return jnp.mean(jax.vmap(of(square))(*part.points))

        start, at_rest, edge, flux, robin, same, slopes = heat.conditions(data_key(), COUNT)
        there = jnp.array([1.0, 0.0])  # the opposite face
        data = [
            missed(start, lambda x, t: (mlp(x, t) - value(x, t)) ** 2),
            missed(at_rest, lambda x, t: (u_t(x, t) - 0.5) ** 2),
            missed(edge, lambda x, t: (mlp(x, t) - t - x[1]) ** 2),
            missed(flux, lambda x, t: (slope(x, t)[1] - t * x[0]) ** 2),
            missed(robin, lambda x, t: ((1 + t) * mlp(x, t) - 2 * slope(x, t)[0] - 0.3) ** 2),
            missed(same, lambda x, t: (mlp(x, t) - mlp(x + there, t)) ** 2),
            missed(slopes, lambda x, t: (slope(x, t)[0] - slope(x + there, t)[0]) ** 2),
        ]
        return jnp.mean(jax.vmap(of(inside))(*points)) + 2 * sum(data)

    got, expected = eqx.filter_jit(
        lambda weights: [eqx.filter_value_and_grad(f)(weights) for f in (ours, written_out)]
    )(net())
    close(got, expected)


def data_key():
    return squares.data_key(jax.random.key(0))


def test_random_derivatives_by_jets():
    """Over all first coordinates the sums of some squares have the whole gradient as their mean."""
    heat, domain = equation("second")
    points = domain.sample(KEY, COUNT)
    u = network("second", net())

    @eqx.filter_jit
    def gpinn(key, terms):
        loss = do.losses.ResidualLoss(
            heat, probes="exact", points=points, gpinn=0.5, gpinn_terms=terms
        )
        return loss.terms(u, key)["gpinn"]

    keys = jax.random.split(KEY, 40)
    found = np.unique(np.round([gpinn(key, 1) for key in keys], 9))
    assert found.size == 3  # of x, y and t
    np.testing.assert_allclose(found.mean(), gpinn(KEY, None), rtol=1e-7)


def test_pairs_of_several_arguments():
    heat, domain = equation("first")
    options = {"n": 2, "probes": "sparse", "square": "pairs", "points": domain.sample}
    loss = do.losses.ResidualLoss(heat, COUNT, **options)
    exact = do.losses.ResidualLoss(heat, COUNT, probes="exact", points=domain.sample)
    u = network("first", net())
    got, expected = eqx.filter_jit(lambda: (loss(u, KEY), exact(u, KEY)))()
    np.testing.assert_allclose(got, expected, rtol=1e-11)  # both of two terms have no variance
    with pytest.raises(ValueError, match="the square 'pairs' takes the variance of an estimate"):
        do.losses.ResidualLoss(heat, COUNT, **options | {"n": 1})


def test_points_that_are_given():
    heat, domain = equation("second")
    x, t = domain.sample(KEY, COUNT)
    loss = do.losses.ResidualLoss(heat, probes="exact", points=(np.asarray(x), t.tolist()))
    u = network("second", net())
    got, expected = eqx.filter_jit(
        lambda: (loss.terms(u, KEY)["residual"], do.nn.PINN(u, heat).residual((x[0], t[0])))
    )()
    values = do.exact(heat.operators())(u)
    each = jax.jit(jax.vmap(lambda x, t: residual(values(x, t), value(x, t))))(x, t)
    np.testing.assert_allclose(got, np.mean(each**2), rtol=1e-12)
    np.testing.assert_allclose(expected, each[0], rtol=1e-12)


class Rod(do.pde.AbstractSolvedProblem):
    """u_t = Δu on an interval, u = e^(−t) sin x."""

    name = "rod"
    dim = 2
    recommended = do.pde.Recommended(steps=30, batch=8, width=4, depth=1, probes="exact")
    domain = do.pde.SpaceTime(do.pde.Box((0.0,), (np.pi,)), 1.0, argnum=1)

    def operators(self):
        return do.Partial(argnum=1) - do.Laplacian()

    def residual(self, values, x, t):
        return values

    def source(self, x, t):
        return jnp.zeros(())

    def sample(self, key, count):
        return self.domain.sample(key, count)

    def conditions(self, key, count):
        boundary = do.pde.Dirichlet(0.0, on=self.domain.boundary)
        return do.pde.Conditions(boundary)(key, count)

    def ansatz(self, net):
        joined = do.nn.JoinedInput(do.nn.BoxInput(net, (0.0, 0.0), (np.pi, 1.0)))
        return do.nn.InitialCondition(joined, lambda x, t: jnp.sin(x[0]), argnum=1)

    def solution(self, x, t):
        return jnp.exp(-t) * jnp.sin(x[0])

    def null_shape(self, x, t):
        return jnp.sin(x[0])

    def sections(self, resolution):
        return self.domain.sections(resolution)


class KnownAtPoints(do.pde.AbstractReferenceProblem):
    """The same, with values at two points."""

    name = "rod-at-points"
    dim = 2
    recommended = Rod.recommended

    def operators(self):
        return Rod().operators()

    def residual(self, values, x, t):
        return values

    def sample(self, key, count):
        return Rod().sample(key, count)

    def conditions(self, key, count):
        initial = do.pde.Initial(lambda x, t: jnp.sin(x[0]), on=Rod.domain)
        return do.pde.Conditions(initial, initial)(key, count)

    def reference(self):
        points = jnp.array([[1.0], [2.0]]), jnp.array([0.5, 0.25])
        return do.pde.Reference(points, jax.vmap(Rod().solution)(*points), 0.0)

    def null_shape(self, x, t):
        return jnp.sin(x[0])


@pytest.mark.parametrize("problem", [Rod(), KnownAtPoints()])
def test_errors_of_several_arguments(problem):
    points = do.train.FixedPoints(problem, KEY, 200)
    assert points.errors(Rod().solution) == (0.0, 0.0)
    _, null = points.errors(lambda x, t: problem.null_shape(x, t))
    assert 0 < points.null_rel_l2 <= null + 1e-12


def test_a_run_of_ones_own(tmp_path):
    report = do.train.solve(Rod(), tmp_path / "run")
    assert report.null_rel_l2 > 0 and np.isfinite(report.rel_l2)
    u = do.train.load(tmp_path / "run", problem=Rod())
    assert u(jnp.ones(1), jnp.zeros(())) == jnp.sin(1.0)
    assert (tmp_path / "run" / "solution.png").exists()
    values = do.exact(Rod().operators())(Rod().solution)(jnp.ones(1), jnp.array(0.3))
    np.testing.assert_allclose(values, 0.0, atol=1e-14)


def test_gauss_newton_of_several_arguments():
    def fitted(way):
        heat, domain = equation(way)
        loss = do.losses.ResidualLoss(heat, 8, probes="exact", points=domain.sample)
        u = OfWeights(net(), way)
        return do.train.fit(u, loss, do.methods.GaussNewton(), 3, key=KEY).losses

    np.testing.assert_allclose(fitted("first"), fitted("coordinate"), rtol=1e-6)


POINTS = np.ones((4, 2)), np.ones(4)
HEAT = do.equations.Equation.linear(do.Partial(argnum=1) - do.Laplacian(), lambda x, t: 0.0)
AT_POINTS = {"probes": "exact", "points": POINTS}
TAKES_ONE = r"takes \(x\), and here it gets 2 arguments of points, of shape \(4, 2\), \(4,\): "


def two(x, t):
    return x[0] * t


def loss_of(u, equation=HEAT, **options):
    return lambda: do.losses.ResidualLoss(equation, **{**AT_POINTS, **options})(u, KEY)


def linear(source):
    return do.equations.Equation.linear(do.Laplacian(), source)


first = lambda x: x[0]  # noqa: E731
pool = {"batch": 2, "pool": 2, "points": lambda key, count: POINTS}
test_bad_input = refusals(
    {
        f"u {TAKES_ONE}let it take all of them, or make it .* diffop.nn.JoinedInput": loss_of(
            first
        ),
        r"u takes \(x, key\), and here it gets 2 arguments": lambda: loss_of(net())(),
        r"u takes \(x, t\), and here it gets 1 argument of points, of shape \(4, 2\): give points "
        "as a tuple, with an array for each argument of u": loss_of(two, points=POINTS[0]),
        f"u {TAKES_ONE}": [
            lambda: do.nn.PINN(first, HEAT).loss((jnp.ones((4, 2)), jnp.ones(4))),
            lambda: do.equations.Condition(do.Identity(), POINTS, np.ones(4)).misfit(first),
        ],
        r"u takes \(x\), and here it gets 2 arguments of points": [
            loss_of(first, **pool),
            lambda: do.train.FixedPoints(Rod(), KEY, 4).errors(first),
        ],
        r"the residual takes \(v, x\), and here it gets values and 2 arguments of points": loss_of(
            two, do.equations.Equation(do.Laplacian(), lambda v, x: v)
        ),
        r"the source takes \(x\), and here it gets 2 arguments of points": loss_of(
            two, linear(lambda x: 0.0)
        ),
        r"the value of a condition takes \(x\), and here it gets 2 arguments of points": lambda: (
            do.pde.Dirichlet(lambda x: 0.0, on=Rod.domain.boundary).draw(KEY, 4)
        ),
        r"the residual takes \(x\), and here it gets 2 arguments of points": lambda: (
            do.losses.residual_adaptive(KEY, lambda x: 0.0, Rod().sample, 2, pool=4)
        ),
        r"the network takes \(x, key\), and .* or make it of a network of one vector": lambda: (
            do.nn.HardConstraint(net(), two, two)(jnp.ones(2), jnp.ones(()))
        ),
        r"one for each argument of u, got shape \(4, 2\), \(3,\); many": loss_of(
            two, points=(POINTS[0], np.ones(3))
        ),
        r"expects an argnum of 1 for u\(x, t\), 0 for u\(t, x\), or None where time is": lambda: (
            do.pde.SpaceTime(SPACE, 1.0, argnum=2)
        ),
        "InitialCondition expects argnum, which argument is time, where there are": lambda: (
            do.nn.InitialCondition(two, two)(jnp.ones(2), jnp.ones(()))
        ),
        r"argnum=0 expects time there, a scalar, got 2 argument\(s\) of shape": lambda: (
            do.nn.InitialCondition(two, two, argnum=0)(jnp.ones(2), jnp.ones(()))
        ),
    }
)
