"""What a loss says of itself it says by methods; its fields are data, whatever they are called."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

KEY = jax.random.key(0)


class Fields(eqx.Module):
    """(x − 1)², with fields that have the names of methods."""

    terms: jax.Array
    residuals: tuple = ("a", "b")
    pointwise: object = jnp.sin

    def __call__(self, x, key):
        return jnp.sum((x - self.terms) ** 2)


class Missed(eqx.Module):
    """A condition whose residuals are data."""

    residuals: jax.Array

    def misfit(self, u):
        return jnp.mean(self.residuals**2)


def test_fields_are_no_methods():
    """A step of 0.1 against 2 (x − 1) from 0."""
    found = do.train.fit(jnp.zeros(2), Fields(jnp.ones(())), optax.sgd(0.1), 1, key=KEY)
    np.testing.assert_allclose(found.model, [0.2, 0.2], rtol=1e-6)
    np.testing.assert_allclose(found.losses, [2.0])


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("optimiser", "message"),
    [
        (
            do.methods.GaussNewton(),
            "GaussNewton expects a loss that says what it is the sum of squ",
        ),
        (
            do.methods.Balanced(optax.sgd(0.1)),
            "Balanced expects a loss that says what it is the su",
        ),
    ],
)
def test_methods_that_are_missing(optimiser, message):
    with pytest.raises(TypeError, match=message):
        do.train.fit(jnp.zeros(2), Fields(jnp.ones(())), optimiser, 1, key=KEY)


@pytest.mark.usefixtures("as_users_see_it")
def test_conditions_with_such_fields():
    equation = do.equations.Equation(
        do.Identity(), lambda v, x: v, conditions=[Missed(jnp.array([1.0, 3.0]))]
    )
    loss = do.losses.ResidualLoss(equation, points=jnp.ones((2, 1)), probes="exact")
    np.testing.assert_allclose(loss(lambda x: x[0], KEY), 1 + 5.0)
    with pytest.raises(TypeError, match="conditions with a method residuals"):
        loss.residuals(lambda x: x[0], KEY)
