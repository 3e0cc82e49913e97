"""The fitting loop on losses whose result is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.train import loggers

from .toy import COUNTING


def noisy_square(x, key):
    return jnp.sum((x - 3.0) ** 2) + 0.0 * jax.random.normal(key)


def fit(model, steps, loss=noisy_square, optimiser=None, **more):
    optimiser = optax.sgd(0.1) if optimiser is None else optimiser
    return do.train.fit(model, loss, optimiser, steps, **{"key": jax.random.key(0), **more})


def test_it_minimises():
    result = fit(jnp.zeros(4), 200)
    np.testing.assert_allclose(result.model, 3.0, rtol=1e-5)
    assert result.losses.shape == (200,)
    np.testing.assert_allclose(result.losses[0], 36.0)
    assert result.seconds > 0 and result.compile_seconds > 0


def test_progress_is_shown_if_asked(monkeypatch, capsys):
    monkeypatch.setattr(loggers, "_INTERVAL", 0.0)
    fit(jnp.zeros(4), 200, progress=True)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("diffop: step 100 of 200, loss ")
    assert second.startswith("diffop: step 200 of 200, loss ")
    fit(jnp.zeros(4), 200)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("length", [1, 7, 10, 100, 1000])
def test_the_result_does_not_depend_on_the_dispatches(length):
    def run(length):
        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (3,))) ** 2)  # noqa: E731
        optimiser = optax.adam(optax.linear_schedule(0.1, 0.0, 101))
        return fit(jnp.ones(3), 101, loss, optimiser, steps_per_dispatch=length)

    result, expected = run(length), run(101)
    np.testing.assert_allclose(result.losses, expected.losses, rtol=1e-5)
    np.testing.assert_allclose(result.model, expected.model, rtol=1e-5)


def test_each_step_has_its_own_key():
    draw = lambda _, key: jax.random.uniform(key)  # noqa: E731
    losses = fit(jnp.zeros(1), 50, draw, steps_per_dispatch=10).losses
    assert np.unique(losses).size == 50


def test_the_learning_rate_decays_to_zero():
    seen, falling = [], optax.sgd(optax.linear_schedule(1.0, 0.0, 10))
    see = lambda step, x, losses: seen.append(float(x))  # noqa: E731
    fit(jnp.zeros(()), 10, lambda x, key: x, falling, steps_per_dispatch=1, observe=see)
    np.testing.assert_allclose(-np.diff([0.0, *seen]), np.linspace(1.0, 0.1, 10), rtol=1e-5)


def test_the_caller_keeps_the_model(getkey):
    model = eqx.nn.Linear(2, "scalar", key=getkey())
    before = np.array(model.weight)
    loss = lambda model, key: model(jax.random.normal(key, (2,))) ** 2  # noqa: E731
    after = fit(model, 5, loss, optax.adam(0.1), key=getkey()).model
    np.testing.assert_array_equal(model.weight, before)
    assert not np.array_equal(after.weight, before)


def test_the_state_is_donated():
    kept = []
    see = lambda step, model, losses: kept.append(model)  # noqa: E731
    fit(jnp.zeros(3), 4, steps_per_dispatch=2, observe=see)
    assert kept[0].is_deleted() and not kept[-1].is_deleted()


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (25, [(5, 5), (10, 5), (15, 5), (20, 5), (25, 5)]),
        (23, [(10, 10), (20, 10), (23, 3)]),  # no length divides it: a shorter one is the last
    ],
)
def test_observer_sees_every_dispatch(steps, expected):
    seen = []
    see = lambda step, model, losses: seen.append((step, losses.size))  # noqa: E731
    fit(jnp.zeros(2), steps, steps_per_dispatch=10, observe=see)
    assert seen == expected


def test_an_observer_ends_the_fit_and_the_same_call_goes_on(tmp_path):
    """The whole is then, bit for bit, that of a fit that nobody ended."""

    def fitted(where, observe=None):
        kept = None if where is None else do.train.Checkpoints(where, every=1000)
        given = {"steps_per_dispatch": 10, "observe": observe, "checkpoints": kept}
        return fit(jnp.zeros(2), 25, optimiser=optax.adam(0.1), **given)

    def enough(step, model, losses):
        if step == 15:
            raise StopIteration

    ended = fitted(tmp_path, enough)
    assert ended.losses.shape == (15,)
    whole, gone_on = fitted(None), fitted(tmp_path)
    np.testing.assert_array_equal(ended.losses, whole.losses[:15])
    np.testing.assert_array_equal(gone_on.losses, whole.losses)
    np.testing.assert_array_equal(gone_on.model, whole.model)


def test_a_loss_that_is_a_module_is_not_trained():
    class Distance(eqx.Module):
        target: jax.Array

        def __call__(self, x, key):
            return jnp.sum((x - self.target) ** 2) + 0.0 * jax.random.normal(key)

    loss = Distance(jnp.array([1.0, 2.0]))
    model = fit(jnp.zeros(2), 100, loss, optax.sgd(0.2)).model
    np.testing.assert_allclose(model, loss.target, rtol=1e-5)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_loss_that_is_not_finite_stops_at_its_step(bad):
    def loss(x, key):
        return jnp.where(x >= 7, bad, x) + 0.0 * jax.random.normal(key)

    seen = []
    see = lambda step, *_: seen.append(step)  # noqa: E731
    with pytest.raises(do.train.NonFiniteLossError, match=r"(nan|inf) at step 8 of 100; a smaller"):
        fit(jnp.zeros(()), 100, loss, COUNTING, steps_per_dispatch=5, observe=see)
    assert seen == [5]


@pytest.mark.parametrize(("steps", "length"), [(0, 10), (10, 0)])
def test_empty_runs_are_refused(steps, length):
    with pytest.raises(ValueError, match=f"at least 1, got {steps} and {length}"):
        fit(jnp.zeros(1), steps, steps_per_dispatch=length)


@pytest.mark.parametrize("model", [{}, jnp.arange(3), {"name": "u", "size": 3}])
def test_a_model_with_nothing_to_train_is_refused(model):
    expected = "^fit expects a model with inexact arrays, which are what is trained, got none in"
    with pytest.raises(ValueError, match=expected):
        fit(model, 10, lambda model, key: jnp.zeros(()))
