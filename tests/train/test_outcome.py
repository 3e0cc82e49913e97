"""A loss that is not a number: where, which of its terms, and what is left to go on from."""

import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

from .toy import COUNTING

KEY = jax.random.key(0)


class Terms:
    """A loss of two terms, of which one is bad from the eighth step on."""

    def __init__(self, bad):
        self.bad = bad

    def terms(self, x, key):
        late = jnp.where(x >= 7, self.bad, 0.25)
        return {"residual": 0.5 + 0.0 * jax.random.normal(key), "data": late}

    def __call__(self, x, key):
        raise AssertionError("the terms are the loss")


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_the_bad_term_is_named(bad, tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path, every=5)
    given = {"key": KEY, "steps_per_dispatch": 5, "checkpoints": checkpoints}
    with pytest.raises(
        do.train.NonFiniteLossError,
        match=rf"^the loss became {bad} at step 8 of 100 \(its terms: data {bad}, residual 0.5\); "
        rf"the last good checkpoint is {tmp_path}/5; a smaller learning rate usually helps.$",
    ) as caught:
        do.train.fit(jnp.zeros(()), Terms(bad), COUNTING, 100, **given)
    assert (caught.value.step, caught.value.terms) == (8, ("data",))
    assert caught.value.checkpoint == f"the last good checkpoint is {tmp_path}/5"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    # the third dispatch would have been saved, too
    assert checkpoints.steps == (5,)
    saved = checkpoints.newest(do.train.State.initial(jnp.zeros(()), COUNTING))
    assert saved is not None and saved.state.model == 5.0


def test_the_loss_is_the_sum_of_its_terms():
    losses = do.train.fit(jnp.zeros(()), Terms(2.0), COUNTING, 10, key=KEY).losses
    np.testing.assert_array_equal(losses, [0.75] * 7 + [2.5] * 3)


def test_a_parameter_that_the_loss_does_not_need(tmp_path):
    """The losses of the dispatch are finite, but a fit should not go on from its end."""

    def loss(model, key):
        return model["used"] + 0.0 * jax.random.normal(key)

    def ruin(gradient, state, model):
        late = jnp.where(model["used"] >= 2, jnp.nan, 0.0)
        return {"used": jnp.ones(()), "unused": late}, state

    checkpoints = do.train.Checkpoints(tmp_path, every=1)
    given = {"key": KEY, "steps_per_dispatch": 2, "checkpoints": checkpoints}
    model = {"used": jnp.zeros(()), "unused": jnp.zeros(())}
    with pytest.raises(
        do.train.NonFiniteLossError,
        match=f"^a parameter was not finite after step 4 of 8, while the loss was; the last good "
        f"checkpoint is {tmp_path}/2; a smaller",
    ):
        do.train.fit(model, loss, optax.GradientTransformation(lambda _: (), ruin), 8, **given)
    assert checkpoints.steps == (2,)


def terms_of(name, u, **changes):
    problem = do.pde.make(name, None if name == "g-kdv-1d" else 3, key=KEY)
    loss = do.losses.ResidualLoss(problem, batch=4, n=1, probes="exact", **changes)
    return loss.terms(u, KEY)


@pytest.mark.parametrize(
    ("name", "gpinn", "names"),
    [
        ("g-kdv-1d", 0.5, {"residual", "gpinn", "data"}),
        ("g-kdv-1d", 0.0, {"residual", "data"}),
        ("allen-cahn-two-body", 0.0, {"residual"}),
    ],
)
def test_names_of_terms(name, gpinn, names):
    terms = eqx.filter_eval_shape(lambda: terms_of(name, jnp.sum, gpinn=gpinn))
    assert set(terms) == names and all(term.shape == () for term in terms.values())


def test_terms_have_their_weights():
    """Other weights change them in proportion, and the residual not at all."""
    u = lambda x: x[0] ** 2 * x[1]
    once, thrice = jax.jit(
        lambda: [terms_of("g-kdv-1d", u, data_weight=w, gpinn=w / 2) for w in (1.0, 3.0)]
    )()
    assert thrice["residual"] == once["residual"] > 0
    for name in ("data", "gpinn"):
        np.testing.assert_allclose(thrice[name], 3 * once[name], rtol=1e-5)
        assert once[name] > 0
