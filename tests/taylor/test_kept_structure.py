"""What keeps sparse directions sparse, read off from programs, and by value beside nested
`jax.jacfwd`; what does not is logged with its place. What is known of directions is not folded.
"""

import dataclasses
import logging
import math

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax

import diffop as do
from diffop.taylor import arithmetic, primitive

from .. import jaxprs

D, N, WIDTH = 101, 7, 13
PLACES = np.array([3, 1], np.int32)


def chained(x):
    for _ in range(4):
        x = 0.5 * (jnp.sin(x) * x + x)
    return x


def rematerialised(x):
    for _ in range(4):
        x = jax.checkpoint(lambda x: 0.5 * (jnp.sin(x) * jax.checkpoint(jnp.cos)(x) + x))(x)
    return x


def branch(index, *branches):
    return lambda x: lax.switch(jnp.asarray(index(x), np.int32), branches, x)


CASES = {
    "set": lambda x: jnp.sin(x).at[2].set(x[0] * x[1]),
    "set_to_what_all_move": lambda x: jnp.sin(x).at[0].set(jnp.sum(x * x)),
    "set_several": lambda x: jnp.sin(x).at[PLACES].set(x[:2] ** 2),
    "add": lambda x: jnp.sin(x).at[PLACES].add(x[:2] ** 2),
    "subtract": lambda x: jnp.sin(x).at[1:].subtract(x[:-1] ** 2),
    "update": lambda x: lax.dynamic_update_slice(jnp.sin(x), x[:3] ** 2, (1,)),
    "update_unknown": lambda x: lax.dynamic_update_slice(
        jnp.sin(x), jnp.ones(2, x.dtype), (jnp.argmax(x),)
    ),
    "roll": lambda x: jnp.roll(x, 1) * x,
    "cond": branch(lambda x: x[0] > 0, jnp.cos, lambda x: 0.5 * x * x),
    "cond_moving_about": branch(lambda x: x[0] > 0, jnp.cos, lambda x: x[::-1] * x),
    "cond_with_a_constant": branch(lambda x: x[0] > 0, jnp.ones_like, lambda x: x[::-1] ** 2),
    "cond_with_the_same": branch(
        lambda x: x[0] > 9, lambda x: x[::-1] ** 3, lambda x: x[::-1] ** 2
    ),
    "switch_inside": branch(lambda x: 1, jnp.sin, branch(lambda x: x[1] > 0, jnp.exp, jnp.sin)),
    "checkpoint": jax.checkpoint(chained),
    "checkpoints": rematerialised,
    "jit_in_checkpoint": jax.checkpoint(jax.jit(chained)),
    "checkpoints_apart": lambda x: (
        jnp.cos(x[::-1])
        + jax.checkpoint(lambda y: jnp.sin(y[::-1]))(x)
        + jax.checkpoint(jax.jit(lambda y: y[::-1] ** 2))(x)
    ),
    "equal_slices": lambda x: jnp.pad(x[1:] + jnp.sin(x[1:]) * x[1:] + x[1:] ** 2, (1, 0)),
    "joined_again": lambda x: x + x[::-1] + jnp.sin(x) + jnp.cos(x[::-1]) + x * x,
}
OPERATORS = {
    "exact": do.Laplacian(),
    "exact_of_order_3": do.DiagonalK(3),
    "estimate": do.Laplacian().estimate(jr.key(1), N),
    "estimate_of_order_3": do.DiagonalK(3).estimate(jr.key(1), N),
}


def layer(function):
    """A function in front of a dense layer."""

    def u(x):
        weights = jnp.sin(jnp.arange(1.0, 1 + WIDTH * x.size)).reshape(WIDTH, x.size)
        return jnp.sum(jnp.tanh(weights.astype(x.dtype) @ function(x)))

    return u


def shapes(eqns):
    return [getattr(var.aval, "shape", ()) for eqn in eqns for var in eqn.outvars]


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("name", CASES)
def test_no_array_of_directions_by_coordinates(name, kind):
    made = shapes(jaxprs.of(OPERATORS[kind].exact(layer(CASES[name])), jnp.ones(D) / 3))
    if kind.startswith("exact"):
        assert not [s for s in made if sum(axis in (D, D - 1) for axis in s) > 1]
        assert not [s for s in made if math.prod(s) and math.prod(s) % (D * D) == 0]
    else:
        sampled = [s for s in made if N in s]
        assert not [s for s in sampled if D in s or D - 1 in s]
        few = max(math.prod(s) for s in sampled if WIDTH not in s)
        assert few <= 4 * N  # entries do not multiply


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    u = layer(CASES[name])
    operators = [do.Laplacian(), do.DiagonalK(3), do.Laplacian().estimate(jr.key(1), 4)]

    def values(x):
        tensors = [u]
        for _ in range(3):
            tensors.append(jax.jacfwd(tensors[-1]))
        second, third = jnp.diagonal(tensors[2](x)), jnp.einsum("iii->i", tensors[3](x))
        return tuple(do.exact(operators)(u)(x)), (second, third, second)

    with jax.enable_x64(True):
        found, terms = jax.jit(values)(jnp.array([0.4, 0.9, 1.3, -0.7]))
    for value, each in zip(found, terms, strict=True):  # of which some cancel
        each = np.asarray(each)
        assert abs(float(value) - each.sum()) <= 1e-13 * np.abs(each).sum()


@pytest.mark.parametrize(
    ("function", "primitive"),
    [
        (lambda x: jnp.sin(lax.scan(lambda c, r: (c, r * r), 0, x)[1]), "scan"),
        (lambda x: lax.fori_loop(0, 3, lambda i, h: h * x, x), "scan"),
        (lambda x: lax.while_loop(lambda h: h[0] < 3, lambda h: 2 * h, x), "while"),
        (lambda x: lax.cumsum(x), "cumsum"),
        (lambda x: jnp.sin(x) + jnp.ones((x.size, x.size)) @ x, "add"),
    ],
    ids=["scan", "fori_loop", "while", "cumsum", "sum"],
)
def test_what_ends_it_is_logged_with_its_place(function, primitive, caplog):
    arithmetic._logged.clear()
    with caplog.at_level(logging.INFO, logger="diffop.taylor"):
        jax.make_jaxpr(do.DiagonalK(3).exact(layer(function)))(jnp.ones(D) / 3)
    assert any(
        f"primitive {primitive} (" in message
        and "test_kept_structure.py:" in message
        and "makes sparse directions dense" in message
        for message in caplog.messages
    )


def test_branches_are_pushed_once(monkeypatch):
    """However deep they are nested."""
    records, pushed = primitive._records, []
    sine = records["sin"]

    def counting(families, *rest):
        pushed.append(families[0].size)
        return sine.rule(families, *rest)

    monkeypatch.setitem(records, "sin", dataclasses.replace(sine, rule=counting))

    def nested(depth):
        inner = nested(depth - 1) if depth else jnp.sin
        return branch(lambda x: x[0] > depth, inner, jnp.cos)

    jax.make_jaxpr(do.DiagonalK(3).exact(lambda x: jnp.sum(nested(3)(x))))(jnp.ones(3))
    assert pushed.count(3) == 1  # not those along the lone curve of its derivatives


CHEAP = ("add", "broadcast_in_dim", "div", "pad", "reshape", "slice", "squeeze", "transpose")
"""Entry by entry, or moving entries about: no more than reading the constant."""


def folded(jaxpr, known):
    """The sizes of arrays that are made of known ones alone, which XLA may compute as it compiles;
    what it makes of an iota, or behind a barrier, it does not.
    """
    there = dict.fromkeys(jaxpr.constvars, True) | dict(zip(jaxpr.invars, known, strict=True))
    sizes = []
    for eqn in jaxpr.eqns:
        inputs = [isinstance(v, jex.Literal) or there.get(v, False) for v in eqn.invars]
        name = eqn.primitive.name
        everything = all(inputs) and name not in ("iota", "optimization_barrier")
        there.update(dict.fromkeys(eqn.outvars, everything))
        inner = eqn.params.get("jaxpr")
        if isinstance(inner, jex.ClosedJaxpr) and len(inner.jaxpr.invars) == len(inputs):
            sizes += folded(inner.jaxpr, inputs)
        elif everything and name not in CHEAP:
            sizes += [var.aval.size for var in eqn.outvars]
    return sizes


WEIGHTS = jnp.sin(jnp.arange(1.0, 1 + D))
MATRIX = np.sin(np.arange(1.0, 1 + D * D)).reshape(D, D).astype(np.float32)


@pytest.mark.parametrize(
    "operator",
    [do.Laplacian(), do.SecondOrder(MATRIX), do.Directional(MATRIX[0]), do.DiagonalK(3)],
    ids=["laplacian", "second_order", "directional", "order_3"],
)
@pytest.mark.parametrize(
    "function",
    [
        jnp.cumsum,
        lambda x: lax.reduce_window(x, 0.0, lax.add, (5,), (1,), "SAME"),
        lambda x: jnp.convolve(x, WEIGHTS[:5], "same"),
        lambda x: jnp.roll(x, 3) + x[::-1],
        lambda x: jnp.real(jnp.fft.fft(x)),
        lambda x: MATRIX @ x,
    ],
    ids=["cumsum", "window", "convolution", "roll", "fft", "layer"],
)
def test_xla_has_nothing_large_to_fold(function, operator):
    def u(x):
        return jnp.tanh(function(x)) @ WEIGHTS

    closed = jax.make_jaxpr(operator.exact(u))(jnp.ones(D))
    assert max(folded(closed.jaxpr, [False]), default=0) <= 2 * D


def test_the_folded_identity_would_be_noticed():
    constant = jax.make_jaxpr(lambda x: jnp.cumsum(jnp.asarray(MATRIX), axis=1) @ x)(jnp.ones(D))
    assert max(folded(constant.jaxpr, [False])) == D * D
