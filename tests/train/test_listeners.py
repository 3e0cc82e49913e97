"""What listens to fits and runs: what it sees, may end, and knows when it goes on."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

from .toy import COUNTING, Killed, Noting, settings

KEY = jax.random.key(0)
SETTINGS = settings(steps=600)


def noisy(x, key):
    return jnp.sum((x - jax.random.normal(key, (2,))) ** 2)


def fit(*listeners, steps=60, loss=noisy, **changes):
    given = {"key": KEY, "steps_per_dispatch": 10, **changes}
    return do.train.fit(jnp.ones(2), loss, optax.sgd(0.1), steps, listeners=listeners, **given)


@pytest.mark.usefixtures("as_users_see_it")
def test_an_iterator_of_listeners_is_heard():
    noting = Noting()
    do.train.fit(jnp.ones(2), noisy, optax.sgd(0.1), 2, key=KEY, listeners=iter([noting]))  # pyright: ignore
    assert noting.told == [2, "closed"]


def test_all_see_the_last_state_and_are_closed():
    first, second = Noting(30), Noting()
    result = fit(first, second)
    assert first.told == second.told == [10, 20, 30, "closed"]
    assert result.losses.shape == (30,)
    np.testing.assert_array_equal(result.losses, fit().losses[:30])


@pytest.mark.parametrize("error", [ZeroDivisionError, Killed])
def test_errors_reach_the_caller_when_all_are_closed(error):
    first, second = Noting(), Noting(20, error)
    with pytest.raises(error):
        fit(first, second)
    assert first.told == second.told == [10, 20, "failed"]


def test_a_loss_that_is_not_finite_is_a_failure():
    listener = Noting()
    with pytest.raises(do.train.NonFiniteLossError):
        fit(listener, loss=lambda x, key: jnp.log(x[0] - 10.0))
    assert listener.told == ["failed"]


def test_notes_come_back_to_each(tmp_path):
    """By its class, and its number among several of it; none to one that was not there."""
    with pytest.raises(Killed):
        listeners = Noting(), Noting(50, Killed)
        fit(*listeners, checkpoints=do.train.Checkpoints(tmp_path, every=20))
    again = Noting(), do.train.EarlyStopping(1000), Noting(), Noting()
    fit(*again, checkpoints=do.train.Checkpoints(tmp_path, every=20))
    resumed = [each.resumed for each in again if isinstance(each, Noting)]
    assert resumed == [{"sum": 100}, {"sum": 100}, None]
    assert again[0].told == [50, 60, "closed"]


def test_a_base_that_lacks_its_method():
    with pytest.raises(TypeError, match="after"):
        type("Empty", (do.train.AbstractListener,), {})()


def loss_at(losses):
    """A loss that is known at each step, whatever the model."""

    def loss(model, key):
        return losses[model["made"].astype(int)] + 0.0 * jnp.sum(model["made"])

    return loss


@pytest.mark.parametrize(
    ("patience", "least", "ended"),
    [
        (200, 0.0, 900),  # the mean falls by 1 in 100 steps until step 700 is made
        (200, 0.15, 700),  # 3 to 2.5, at 500, is a sixth; 2.5 to 2.15 is not
        (10_000, 0.0, 1200),
    ],
)
def test_early_stopping_by_the_means_of_a_hundred_losses(patience, least, ended, tmp_path):
    """And a fit that was killed ends where one that was not does."""
    means = np.repeat([9.0, 6.0, 4.0, 3.0, 2.5, 2.2, 2.15], 100)
    losses = jnp.asarray(np.concatenate([means, np.full(500, 2.15)]), jnp.float32)
    stopping = do.train.EarlyStopping(patience, least)

    def fitted(*listeners, every=None):
        kept = None if every is None else do.train.Checkpoints(tmp_path, every=every)
        model, given = {"made": jnp.zeros(())}, {"key": KEY, "steps_per_dispatch": 100}
        found = do.train.fit(
            *(model, loss_at(losses), COUNTING, 1200),
            **given,
            listeners=listeners,
            checkpoints=kept,
        )
        return found.losses.size

    assert fitted(do.train.EarlyStopping(patience, least)) == ended
    with pytest.raises(Killed):
        fitted(do.train.EarlyStopping(patience, least), Noting(600, Killed), every=100)
    assert fitted(stopping, every=1000) == ended


@pytest.mark.parametrize(("patience", "least"), [(0, 0.0), (1, -0.1), (1, 1.0)])
def test_early_stopping_out_of_range(patience, least):
    with pytest.raises(ValueError, match=rf"of at least 1 and least from 0 .* got {patience} and"):
        do.train.EarlyStopping(patience, least)


class StopAtError(do.train.AbstractListener):
    """Ends a run whose error is small enough, and writes it to a file."""

    def __init__(self, error, path):
        self.error, self.path = error, path

    def after(self, state):
        if state.error is not None and state.error <= self.error:
            self.path.write_text(json.dumps({"step": state.step, "error": state.error}))
            raise StopIteration


def test_a_run_that_ends_at_an_error(tmp_path):
    """Its results are those of the steps that it has made, and it has ended."""
    whole = do.train.solve(SETTINGS, tmp_path / "whole")
    lines = (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()
    errors = [json.loads(line)["error"] for line in lines]
    assert whole.ended_at is None and errors[3] < min(errors[:3])
    listener = StopAtError(errors[3], tmp_path / "found.json")
    report = do.train.solve(SETTINGS, tmp_path / "run", listeners=[listener])
    assert json.loads((tmp_path / "found.json").read_text()) == {"step": 400, "error": errors[3]}
    assert (report.steps, report.ended_at) == (600, 400)
    assert "400 of 600 steps at" in report.as_text()
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"report.json", "model.eqx", "curve.png", "run.json"}
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("\n") == 4
    assert do.train.solve(SETTINGS, tmp_path / "run", resume=True) == report
