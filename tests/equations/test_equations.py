"""What an equation is: its operators, a residual of their values, and data."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
POINTS = np.array([[0.1, 0.2], [0.3, -0.4], [-0.5, 0.6]])


class Helmholtz(do.equations.AbstractEquation):
    """Δu + k²u = 0."""

    k: jax.Array

    def operators(self):
        return {"u": do.Identity(), "lap": do.Laplacian()}

    def residual(self, values, x):
        return values["lap"] + self.k**2 * values["u"]


def wave(x):
    return jnp.sin(3 * x[0] + 4 * x[1])


def ends(count=3, value=0.0):
    return do.equations.Condition(
        do.Identity(), jnp.asarray(POINTS[:count]), jnp.full(count, value)
    )


def test_what_a_subclass_need_not_define():
    equation = Helmholtz(jnp.array(5.0))
    assert equation.conditions(KEY, 3) == ()
    assert equation.ansatz(wave) is wave
    assert equation.source(POINTS[0]) is None


def test_residuals_of_a_subclass():
    """−(3² + 4²) sin + k² sin: 0 for k = 5, and 11 sin for k = 6."""
    for k in (5.0, 6.0):
        pinn = do.nn.PINN(wave, Helmholtz(jnp.array(k)))
        residuals = jax.jit(jax.vmap(pinn.residual))(jnp.asarray(POINTS))
        np.testing.assert_allclose(residuals, (k**2 - 25) * np.sin(POINTS @ [3.0, 4.0]), atol=1e-12)
        assert jax.tree.leaves(eqx.filter(pinn, eqx.is_array)) == [k]  # k is learnt


@pytest.mark.usefixtures("as_users_see_it")
def test_integers_are_points():
    """A constant source is not rounded to them."""
    pinn = do.nn.PINN(
        lambda x: x[0].astype(float), do.equations.Equation.linear(do.Identity(), 0.5)
    )
    assert pinn.residual(jnp.array([1, 2])) == 0.5
    assert pinn.loss(jnp.array([[1, 2], [1, 3]])) == 0.25


def test_a_problem_is_an_equation():
    assert issubclass(do.pde.AbstractProblem, do.equations.AbstractEquation)


@pytest.mark.parametrize("given", [[ends()], (ends(), ends(2))])
def test_conditions_at_given_points(given):
    equation = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0, conditions=given)
    assert equation.conditions(KEY, 7) is given
    assert not jax.tree.leaves(equation)


def test_conditions_at_random_points():
    def edges(key, count):
        points = do.pde.points_on_box(key, count, [-1.0, -1.0], [1.0, 1.0])
        return [do.equations.Condition(do.Identity(), points, jnp.zeros(count))]

    equation = do.equations.Equation(do.Laplacian(), lambda v, x: v, conditions=edges)
    (got,), (expected,) = equation.conditions(KEY, 5), edges(KEY, 5)
    np.testing.assert_array_equal(got.points, expected.points)


EDGES = do.pde.Dirichlet(0.0, on=do.pde.Box((0.0,), (1.0,)).boundary)


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("given", "got"),
    [
        (ends(), "Condition"),
        ([do.Identity()], "a list of Identity"),
        (3, "int"),
        (None, "NoneType"),
        (EDGES, "Dirichlet"),
        ([EDGES, ends()], "a list of Dirichlet, Condition"),
    ],
)
def test_what_are_no_conditions(given, got):
    message = (
        "Equation expects conditions that are a list of diffop.equations.Condition, or a function "
        r"\(key, count\) that returns one, such as diffop.pde.Conditions\(\*given\) makes of "
        rf"diffop.pde.Dirichlet and others, got {got}\.$"
    )
    with pytest.raises(TypeError, match=message):
        do.equations.Equation(do.Laplacian(), lambda v, x: v, conditions=given)
