"""The plan at a point is what evaluation pushes, function by function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop import taylor

X = np.arange(1.0, 5.0, dtype=np.float32) / 4
KEY = jax.random.key(0)


def c(x):
    return 1.0 + x[0] ** 2


def u(x):
    return jnp.sin(jnp.sum(x * jnp.linspace(1.0, 2.0, x.size))) + jnp.sum(x**3)


OPERATORS = {
    "laplacian": do.exact(do.Laplacian()),
    "few or many coordinates": do.exact(do.Biharmonic()),
    "sum": do.exact(do.Mixed({0: 1, 2: 1}) + 2.0 * do.Mixed({1: 3, 2: 1})),
    "first order": do.exact(2.0 * do.Partial(0) + c * do.Partial(1) - do.Partial(3)),
    "composition": do.exact(do.Laplacian() @ (c * do.Laplacian() + do.Identity())),
    "divergence of a flux": do.exact(do.DivergenceForm(c)),
    "estimate": do.Biharmonic().estimate(KEY, 3),
    "exact beside an estimate": do.Laplacian().estimate(KEY, 3) + do.DiagonalK(4),
    "several": do.exact([do.Laplacian(), do.DiagonalK(2), do.Hessian(), do.Partial(1)]),
    "nonlinear": do.exact(do.Laplacian() @ (do.Partial(0) * do.Laplacian())),
}


def of_every_push(pushes):
    """The numbers of jets that are pushed together, of each function that has some."""
    for push in pushes:
        if push.named:
            yield sorted(group.size for group in push.groups)
        yield from of_every_push(push.inside)


def number_of(jets):
    (first, *_) = (each for slot in jets.tangents for each in slot if each is not None)
    return jax.tree.leaves(first, is_leaf=lambda each: hasattr(each, "shape"))[0].shape[0]


@pytest.mark.parametrize("dim", [4, 12])
@pytest.mark.parametrize("name", OPERATORS)
def test_plan_is_what_is_pushed(name, dim, monkeypatch):
    """In twelve dimensions powers are applied one after another."""
    found, push = [], taylor.push

    def recorded(function, args, jets, *rest):
        if jets:
            found.append(sorted(map(number_of, jets)))
        return push(function, args, jets, *rest)

    monkeypatch.setattr(taylor, "push", recorded)
    x = jnp.asarray(np.resize(X, dim))
    OPERATORS[name](u)(x)
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    for point in (x, shape):
        assert sorted(found) == sorted(of_every_push(OPERATORS[name].jets(point).pushes))


def test_coefficients_of_a_function_that_has_coefficients():
    """(N + 2)^m values, less u's own: each of those of the inner operator has all of the outer."""
    plan = do.PolyLaplacian(3).jets(jnp.ones(20))
    assert plan.coefficients == (20 + 2) ** 3 - 1
    assert [push.function for push in plan.pushes] == ["Δ Δ u"]


def test_divergences_are_read_jet_by_jet():
    plan = (do.Divergence() @ (c * do.Gradient())).jets(jnp.ones(5))
    assert plan.coefficients == 5


def test_sums_that_are_read_from_one_output_count_each():
    both = do.exact([do.Laplacian(), 2.0 * do.SecondOrder(np.arange(1.0, 6.0, dtype=np.float32))])
    assert both.jets(jnp.ones(5)).coefficients == 5 + 2


@pytest.mark.parametrize("operator", [do.Identity(), do.Gradient(), do.Hessian()], ids=str)
def test_values_and_gradients_push_no_jets(operator):
    """Hessians of many coordinates are gradients of gradients."""
    plan = operator.jets(jnp.ones(5))
    assert plan.total == plan.coefficients == 0
    assert str(plan) == "no jets: values alone, and gradients in reverse mode"
