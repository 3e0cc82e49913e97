"""Inverse problems: arrays of equations, conditions, domains and ansätze that are learnt."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
LINE = do.pde.Box((0.0,), (1.0,))
LOWER, UPPER = LINE.faces
POINTS = np.linspace(0.1, 0.9, 5)[:, None]


class Cubic(eqx.Module):
    """What is trained beside the unknown: it contains all solutions below."""

    coefficients: jax.Array = eqx.field(default_factory=lambda: jnp.array([0.3, 0.2, 0.1, 0.0]))

    def __call__(self, x):
        return self.coefficients @ x[0] ** jnp.arange(4.0)


def measured(u):
    return do.equations.Condition(do.Identity(), jnp.asarray(POINTS), jnp.asarray(u(POINTS.T)))


def parabola(x):
    """u'' = 2, u'(0) = 3, u(1) = 5, u'(1) = 5."""
    return 1 + 3 * x[0] + x[0] ** 2


def given(*conditions):
    """Conditions on the boundary beside the measurements, which are data."""
    drawn = do.pde.Conditions(*conditions)
    return Both(drawn, Measured())


class Measured(eqx.Module):
    def __call__(self, key, count):
        return (measured(parabola),)


class Both(eqx.Module):
    first: do.pde.Conditions
    second: Measured

    def __call__(self, key, count):
        return (*self.first(key, count), *self.second(key, count))


def curved(conditions, curvature=2.0):
    return do.equations.Equation(
        do.Laplacian(), lambda v, x: v - curvature, conditions=conditions, trainable=True
    )


class Point(do.pde.AbstractPart):
    """A domain's end that is not known."""

    place: jax.Array

    @property
    def normal(self):
        return jnp.ones(1)

    @property
    def across(self):
        return None

    def sample(self, key, count):
        return jnp.broadcast_to(self.place, (count, 1))


class Curvature(do.equations.AbstractEquation):
    """u'' = f."""

    f: jax.Array

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values - self.f

    def conditions(self, key, count):
        return (measured(parabola),)


class Among(Curvature):
    """The measurements are a field, and are not learnt."""

    values: jax.Array
    trainable = ("f",)

    def conditions(self, key, count):
        return (do.equations.Condition(do.Identity(), jnp.asarray(POINTS), self.values),)


class Start(do.equations.AbstractEquation):
    """u(0) is in the ansatz."""

    start: jax.Array

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values - 2.0

    def ansatz(self, net):
        return lambda x: self.start + x[0] * net(x)

    def conditions(self, key, count):
        return (measured(parabola),)


class Problem(do.pde.AbstractProblem):
    """A problem's arrays are data, but those of the fields that it names."""

    f: jax.Array
    known: jax.Array
    name = "unknown"
    dim = 1
    trainable = ("f",)

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values - self.f * self.known

    def sample(self, key, count):
        return LINE.sample(key, count)

    def conditions(self, key, count):
        return (measured(parabola),)


class Shifted(eqx.Module):
    """An ansatz that is a module: what it makes knows its array as a constant only."""

    start: jax.Array

    def __call__(self, net):
        return lambda x: self.start + x[0] * net(x)


START = 0.3
CASES = {
    "operator": (
        lambda c: do.equations.Equation.linear(
            c * do.Laplacian(), lambda x: 3.0, conditions=[measured(parabola)], trainable=True
        ),
        1.5,
    ),
    "source": (
        lambda c: do.equations.Equation.linear(
            do.Laplacian(), Constant(c), conditions=[measured(parabola)], trainable=True
        ),
        2.0,
    ),
    "Dirichlet": (lambda c: curved(given(do.pde.Dirichlet(c, on=UPPER))), 5.0),
    "Neumann": (lambda c: curved(given(do.pde.Neumann(c, on=LOWER))), -3.0),
    "Robin": (lambda c: curved(given(do.pde.Robin(c, 1.0, 7.0, on=UPPER))), 0.4),
    "Prescribed": (
        lambda c: curved(given(do.pde.Prescribed(c * do.Partial(0), 1.0, on=UPPER))),
        0.2,
    ),
    "Condition": (
        lambda c: curved(
            [
                measured(parabola),
                do.equations.Condition(c * do.Partial(0), jnp.ones((1, 1)), jnp.ones(1)),
            ]
        ),
        0.2,
    ),
    "domain": (lambda c: curved(given(do.pde.Dirichlet(2.75, on=Point(c)))), 0.5),
    "subclass": (Curvature, 2.0),
    "field": (lambda c: Among(c, jnp.asarray(parabola(POINTS.T))), 2.0),
    "problem": (lambda c: Problem(c, jnp.array(4.0)), 0.5),
    "ansatz of the equation": (Start, 1.0),
    "ansatz": (
        lambda c: do.equations.Equation(
            do.Laplacian(), lambda v, x: v - 2.0, conditions=[measured(parabola)]
        ),
        1.0,
    ),
}


class Constant(eqx.Module):
    c: jax.Array

    def __call__(self, x):
        return self.c


def unknown(pinn):
    """The one array that is learnt beside those of the network."""
    (found,) = jax.tree.leaves(eqx.filter((pinn.equation, pinn._ansatz), eqx.is_inexact_array))
    return found


@pytest.mark.parametrize("where", CASES)
def test_an_unknown_is_found_from_measurements(where):
    """What the conditions, or the equation, say of u = 1 + 3x + x², by Gauss and Newton's method:
    numbers by hand.
    """
    make, right = CASES[where]
    start = jnp.array(START)
    equation = make(start)
    pinn = do.nn.PINN(Cubic(), equation, Shifted(start) if where == "ansatz" else None)
    loss = do.losses.ResidualLoss(
        equation, points=jnp.asarray(POINTS), probes="exact", data_batch=1
    )
    found = do.train.fit(pinn, loss, do.methods.GaussNewton(), 30, key=KEY).model
    np.testing.assert_allclose(unknown(found), right, rtol=1e-6)
    if where in ("subclass", "field", "problem"):
        np.testing.assert_allclose(found.equation.f, right, rtol=1e-6)
    np.testing.assert_allclose(found(POINTS[1]), parabola(POINTS[1]), rtol=1e-6)


def test_a_gradient_reaches_the_condition():
    """∂_C of (−u'(0) − C)² with u' = 0.2 is 2 (0.2 + C), by the loss of a fit as by the PINN's."""
    equation = curved(do.pde.Conditions(do.pde.Neumann(jnp.array(0.5), on=LOWER)))
    pinn = do.nn.PINN(Cubic(), equation)
    points = jnp.asarray(POINTS)
    loss = do.losses.ResidualLoss(equation, points=points, probes="exact")

    @eqx.filter_jit
    def gradients(pinn):
        fitted = eqx.filter_grad(lambda pinn: loss(pinn, KEY))(pinn)
        return fitted, eqx.filter_grad(lambda pinn: pinn.loss(points))(pinn)

    for gradient in gradients(pinn):
        np.testing.assert_allclose(unknown(gradient), 2 * (0.2 + 0.5), rtol=1e-12)


def test_what_is_not_asked_for_is_not_learnt():
    """Neither conditions where two things are said of operators and residual, nor measurements."""
    conditions = do.pde.Conditions(do.pde.Neumann(jnp.array(0.5), on=LOWER))
    operator = jnp.array(2.0) * do.Laplacian()

    def leaves(conditions, trainable):
        equation = do.equations.Equation(
            operator, lambda v, x: v, conditions=conditions, trainable=trainable
        )
        return [float(leaf) for leaf in jax.tree.leaves(equation)]

    assert leaves(conditions, (True, False)) == [2.0]
    assert leaves(conditions, (False, False, True)) == [0.5]
    assert leaves(conditions, eqx.is_inexact_array) == [2.0, 0.5]
    assert leaves([measured(parabola)], True) == [2.0]
    assert leaves([measured(parabola)], eqx.is_inexact_array) == [2.0]
    assert leaves(conditions, False) == []


NOT_REACHED = (
    r"Equation expects arrays of floating-point numbers in all that is trainable, got trainable=.* "
    r"and none there; what is to be learnt is an array, such as jnp.array\(0\.5\), and neither a "
    r"Python number nor inside a function\.$"
)


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    "trainable", [True, (False, True), (True, False, False), eqx.is_inexact_array]
)
def test_what_is_trainable_and_has_no_arrays_is_refused(trainable):
    with pytest.raises(ValueError, match=NOT_REACHED):
        do.equations.Equation(0.5 * do.Laplacian(), lambda v, x: v, trainable=trainable)


class Misspelt(Curvature):
    trainable = "g"


@pytest.mark.usefixtures("as_users_see_it")
def test_a_field_that_is_not_there_is_refused():
    message = (
        "the trainable of Misspelt expects names of fields that have arrays of floating-point "
        "numbers, got 'g'; its fields are f."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        do.nn.PINN(Cubic(), Misspelt(jnp.array(1.0)))


@pytest.mark.usefixtures("as_users_see_it")
def test_a_loss_that_would_not_learn_the_unknown_is_refused():
    """That of another equation, and one of a network alone."""
    points = jnp.asarray(POINTS)
    other = curved(do.pde.Conditions(do.pde.Neumann(jnp.array(0.5), on=LOWER)))
    loss = do.losses.ResidualLoss(other, points=points, probes="exact")
    message = (
        "ResidualLoss expects the equation of its model, which has arrays that are to be learnt, "
        "got a loss of another equation; make the loss of the equation that the model is made of, "
        "or give it the function alone, as pinn.u."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        loss(do.nn.PINN(Cubic(), Curvature(jnp.array(1.0))), KEY)
    message = (
        "fit expects a model that has the arrays which the equation of its loss says are to be "
        r"learnt, got a Cubic; give it diffop.nn.PINN\(net, equation\), or say of the equation "
        "trainable=False."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        do.train.fit(Cubic(), loss, optax.sgd(0.1), 1, key=KEY)
