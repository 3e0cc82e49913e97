"""Errors point at the user's line: no frames of diffop between the call and what was wrong."""

import contextlib
import pathlib
import traceback

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import diffop as do

LIBRARY = str(pathlib.Path(do.__file__).parent)
X = jnp.ones(4)
L = do.Laplacian()


def mistaken(x):
    return jnp.sum(x @ jnp.ones(5))  # the line of the mistake


CALLS = {
    "exact": lambda u: L.exact(u)(X),
    "estimate": lambda u: L.estimate(jax.random.key(0), 2)(u)(X),
    "stats": lambda u: L.estimate(jax.random.key(0), 2).stats(u)(X),
    "until": lambda u: L.estimate_to(jax.random.key(0), rtol=0.1)(u)(X),
    "together": lambda u: do.exact({"a": L, "b": do.Partial(0)})(u)(X),
    "composed": lambda u: (do.Partial(0) @ (X[0] * L)).exact(u)(X),
    "joint_stats": lambda u: do.estimate([L, L], jax.random.key(0), 2).stats(u)(X),
    "deflated": lambda u: L.deflate(jax.random.key(0), 9)(u)(X),
    "controlled": lambda u: L.estimate(jax.random.key(0), 2).controlled(jnp.sum)(u)(X),
    "variance": lambda u: do.variance(L, n=2)(u)(X),
    "chosen": lambda u: do.choose(L, jax.random.key(0), 2)(u)(X[None]),
    "baseline": lambda u: do.baselines.estimate("sdgd", L, jax.random.key(0), 2)(u)(X),
    "jet": lambda u: do.taylor.jet(u, (X,), ([X],)),
    "under_jit": lambda u: jax.jit(L.exact(u))(X),
    "under_all": lambda u: eqx.filter_jit(jax.vmap(jax.grad(L.exact(u))))(X[None]),
}


def frames(error):
    return [(entry.filename, entry.line) for entry in traceback.extract_tb(error.__traceback__)]


def raised(call, u):
    with pytest.raises((TypeError, ValueError)) as info:
        call(u)
    return info.value


@pytest.mark.parametrize("name", CALLS)
def test_a_mistake_in_u(name):
    found = frames(raised(CALLS[name], mistaken))
    assert any("the line of the mistake" in line for _, line in found)
    assert sum(file.startswith(LIBRARY) for file, _ in found) <= 1
    assert contextlib.__file__ not in dict(found)


REFUSED = {
    "exact": lambda: L.exact(jnp.sum)(jnp.arange(3)),
    "estimate": lambda: L.estimate(jax.random.key(0), 2)(jnp.sum)(jnp.arange(3)),
    "together": lambda: do.exact([L])(jnp.sum)(jnp.arange(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_diffop_refuses_ends_at_its_call(name):
    found = frames(raised(lambda _: REFUSED[name](), None))
    assert sum(file.startswith(LIBRARY) for file, _ in found) <= 1
    assert "equinox" not in found[-1][0]


def test_all_frames_on_demand():
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        error = raised(CALLS["exact"], mistaken)
    finally:
        jax.config.update("jax_traceback_filtering", before)
    assert sum(file.startswith(LIBRARY) for file, _ in frames(error)) > 3


def test_the_note_is_there_once():
    error = raised(CALLS["composed"], mistaken)
    assert sum("diffop has left out" in note for note in error.__notes__) == 1
