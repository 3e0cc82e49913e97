"""Windows of time: what they end with, and that a march that was stopped goes on as one."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do

from .toy import COUNTING, Killed

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
STEP = 0.25


class Number(eqx.Module):
    """A stage of implicit Euler's method for u' = −u³."""

    u: jax.Array


class Stage(eqx.Module):
    before: jax.Array

    def residuals(self, model, key):
        return model.u + STEP * model.u**3 - self.before


def stage(window, before):
    assert (before is None) == (window == 0)
    return Stage(jnp.ones(1) if before is None else before.u)


def march(windows, steps=8, **options):
    newton = do.methods.GaussNewton(1e-12)
    return do.train.march(Number(jnp.ones(1)), stage, newton, steps, windows, key=KEY, **options)


def test_each_window_begins_where_the_last_one_ended():
    """Beside the roots of the cubic polynomials."""
    u, expected = 1.0, []
    for _ in range(4):
        roots = np.roots([STEP, 0, 1, -u])
        u = float(roots[np.isreal(roots)].real[0])
        expected.append(u)
    found = [float(each.model.u[0]) for each in march(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def bits(fits):
    return [(np.asarray(f.model.u).tobytes(), f.losses.tobytes()) for f in fits]


def test_a_march_that_was_stopped_goes_on(tmp_path, capfd):
    """Within a window, after one, and to more windows: every bit of one that was never stopped."""
    whole = march(4, steps_per_dispatch=2)
    seen = []

    def die(step, model, losses):
        seen.append(step)
        if len(seen) == 7:  # in the second window, after step 6, whose checkpoint is of step 4
            raise Killed

    options = {"directory": tmp_path, "every": 2, "steps_per_dispatch": 2}
    with pytest.raises(Killed):
        march(3, observe=die, **options)
    later = []
    gone_on = march(3, observe=lambda step, *_: later.append(step), **options)
    assert later == [6, 8, 2, 4, 6, 8]
    assert bits(gone_on) == bits(whole[:3])
    later.clear()
    assert bits(march(4, observe=lambda step, *_: later.append(step), **options)) == bits(whole)
    assert later == [2, 4, 6, 8]


LINE = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=0.5)


class Ended(eqx.Module):
    before: Callable

    def __call__(self, x):
        return self.before(x.at[1].set(0.5))


def decaying(window, before):
    """An equation of its own for each window: only arrays differ, from the second one on."""
    start = do.pde.Initial(1.0 if before is None else Ended(before), on=LINE)
    operator = do.Partial(1) + do.Identity()
    equation = do.equations.Equation.linear(operator, 0.0, conditions=do.pde.Conditions(start))
    return do.losses.ResidualLoss(equation, 20, probes="exact", points=LINE.sample)


def compiled(caplog, march):
    """How many programs of steps a march makes, as JAX logs them; and the march."""
    caplog.clear()
    with jax.log_compiles(), caplog.at_level("WARNING"):
        fits = march()
    return sum("Compiling jit(steps)" in each.message for each in caplog.records), fits


def numbers(fits):
    models = [eqx.filter(each.model, eqx.is_array) for each in fits]
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(models)]


def test_windows_that_differ_in_arrays_share_a_program(caplog):
    net = eqx.nn.MLP(2, "scalar", 8, 1, jnp.tanh, key=KEY)
    newton = do.methods.GaussNewton(1e-6)

    def march():
        return do.train.march(net, decaying, newton, 10, 4, key=KEY)

    count, fits = compiled(caplog, march)
    assert count == 2  # the first one begins with a number, the others with a network
    ends = [float(each.model(jnp.array([0.3, 0.5]))) for each in fits]
    np.testing.assert_allclose(ends, np.exp(-0.5 * np.arange(1, 5)), rtol=2e-3)
    count, again = compiled(caplog, march)
    assert count == 0  # functions and numbers are those of the march before
    jax.clear_caches()
    count, anew = compiled(caplog, march)
    assert count == 2
    assert numbers(again) == numbers(anew) == numbers(fits)


class Halved(eqx.Module):
    """A sum, times half of a number: that of an integer is an integer."""

    number: int | float
    function: Callable

    def __call__(self, u, key):
        half = self.number // 2 if isinstance(self.number, int) else self.number / 2
        return half * self.function(u)


def test_what_a_program_is_made_of_is_told_apart():
    """Numbers of other types, and functions that look alike."""

    def value(loss):
        result = do.train.fit(jnp.ones(2), loss, optax.sgd(0.0), 1, key=KEY)
        return float(result.losses[0])

    losses = [Halved(3, jnp.sum), Halved(3.0, jnp.sum), Halved(3, lambda u: -jnp.sum(u))]
    losses += [Halved(3, lambda u: jnp.sum(u) + 1), Halved(3, jnp.sum)]
    assert [value(loss) for loss in losses] == [2.0, 3.0, -2.0, 3.0, 2.0]


class Turning(eqx.Module):
    """Falls with each step in the first window; is larger and rises in those after it."""

    window: int = eqx.field(static=True)

    def __call__(self, steps, key):
        return jnp.sum(steps if self.window else -steps)


class Steps(do.train.AbstractListener):
    def __init__(self):
        self.seen = []

    def after(self, state):
        self.seen.append(state.step)


def test_listeners_are_told_of_all_windows_and_count_within_each():
    """A loss that only rises is patiently seen for 20 steps after the first 10."""
    steps, patient = Steps(), do.train.EarlyStopping(20)
    options = {"steps_per_dispatch": 10, "listeners": [steps, patient]}
    start = jnp.zeros(1), lambda window, _: Turning(window), COUNTING, 100, 3
    fits = do.train.march(*start, key=KEY, **options)
    assert [each.losses.size for each in fits] == [100, 30, 30]
    assert steps.seen == [*range(10, 101, 10)] + [10, 20, 30] * 2


def test_each_window_has_random_numbers_of_its_own():
    class Noise(eqx.Module):
        def __call__(self, u, key):
            return jnp.sum(u * jax.random.normal(key, (1,)))

    fits = do.train.march(
        jnp.zeros(1), lambda *_: Noise(), optax.sgd(1.0), 1, 2, key=KEY, steps_per_dispatch=1
    )
    first, second = float(fits[0].model[0]), float(fits[1].model[0] - fits[0].model[0])
    assert first != second


class At(eqx.Module):
    at: jax.Array

    def __call__(self, x, key):
        return jnp.sum((x - self.at - 0.1 * jax.random.normal(key, (2,))) ** 2)


def stopped(windows, directory):
    """Windows that end when their loss has stopped falling."""
    return do.train.march(
        3 * jnp.ones(2),
        lambda _, before: At(jnp.zeros(2) if before is None else before + 1.0),
        optax.sgd(0.05),
        1000,
        windows,
        key=KEY,
        directory=directory,
        steps_per_dispatch=10,
        listeners=[do.train.EarlyStopping(50)],
    )


def test_windows_that_a_listener_has_ended_stay_ended(tmp_path):
    """The same call gives the same, and one for more windows goes on from the last."""
    first = stopped(2, tmp_path)
    assert all(10 < len(each.losses) < 1000 for each in first)
    *again, third = stopped(3, tmp_path)
    assert 10 < len(third.losses) < 1000
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.model, other.model)
        np.testing.assert_array_equal(one.losses, other.losses)


def test_a_window_is_kept_at_its_end_at_the_latest(tmp_path):
    march(2, directory=tmp_path, every=1000)
    assert [do.train.Checkpoints(tmp_path / name).steps for name in "01"] == [(8,), (8,)]


def test_finished_windows_have_their_steps(tmp_path):
    """With others nothing is touched; what is not followed by a window may go on."""
    two = march(2, directory=tmp_path)
    for windows in (1, 2, 3):
        with pytest.raises(ValueError, match=r"have made, 8 in .*/0, got steps=9; take steps=8"):
            march(windows, steps=9, directory=tmp_path)
    assert bits(march(2, directory=tmp_path)) == bits(two)
    (shorter,) = march(1, steps=3, directory=tmp_path / "one")
    assert len(shorter.losses) == 3
    assert bits(march(2, directory=tmp_path / "one")) == bits(two)


@pytest.mark.usefixtures("as_users_see_it")
def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="windows of march must be at least 1; got 0"):
        march(0)
    with pytest.raises(ValueError, match="every of march must be at least 1; got 0"):
        march(1, every=0, directory="never-made")
    with pytest.raises(ValueError, match="every=2 and directory=None"):
        march(1, every=2)
