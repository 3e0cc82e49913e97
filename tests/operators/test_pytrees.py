"""Operators are pytrees: through jit, with learnable coefficients, with static numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..functions import SCALAR
from .table import SIGMA, B, C, matrix_of

pytestmark = pytest.mark.usefixtures("x64")

FUNCTION = SCALAR[1]

WITHOUT_LEAVES = [
    do.Identity(),
    do.Partial(1, order=2),
    do.Laplacian(),
    do.Biharmonic(dims=(0, 1)),
    do.DiagonalK(3),
    do.Mixed({0: 2, 1: 1}),
    do.Gradient(),
    do.Divergence(),
    do.ParabolicTrace(0.5),
    2.5 * do.Laplacian() - do.Partial(0) / 3,
    do.Laplacian() @ (2 * do.Partial(0) + do.Identity()),
]


@pytest.mark.parametrize("operator", WITHOUT_LEAVES, ids=str)
def test_python_numbers_are_static(operator):
    assert jax.tree.leaves(operator) == []


def test_array_coefficients_are_leaves():
    scale, b = jnp.array(2.0), jnp.asarray(B)
    leaves = jax.tree.leaves(
        scale * do.Laplacian() + do.Directional(b) + do.SecondOrder(jnp.asarray(C))
    )
    assert sorted(leaf.shape for leaf in leaves) == [(), (3,), (3, 3)]


@pytest.mark.parametrize("operator", WITHOUT_LEAVES, ids=str)
def test_flattening_round_trip(operator):
    leaves, structure = jax.tree.flatten(operator)
    again = jax.tree.unflatten(structure, leaves)
    assert again == operator
    assert str(again) == str(operator)
    assert hash(structure) == hash(jax.tree.structure(again))


def learnable():
    """For each kind of coefficient: build the operator from it, and L u as a contraction of it."""
    H, g = (FUNCTION.derivatives("float64")[k] for k in (2, 1))
    return {
        "scale": (
            jnp.array(1.5),
            lambda c: c * do.Laplacian(),
            lambda c: c * jnp.trace(H, axis1=-2, axis2=-1),
        ),
        "squared_scale": (
            jnp.array(1.5),
            lambda c: (c * do.Partial(0)) @ (c * do.Partial(1)),
            lambda c: c**2 * H[:, 0, 1],
        ),
        "divisor": (jnp.array(1.5), lambda c: do.Partial(0) / c, lambda c: g[:, 0] / c),
        "b": (jnp.asarray(B), do.Directional, lambda b: g @ b),
        "C": (jnp.asarray(C), do.SecondOrder, lambda C: jnp.einsum("nij,ij->n", H, C)),
        "diagonal": (jnp.asarray(B), do.SecondOrder, lambda c: jnp.einsum("nii,i->n", H, c)),
        "sigma": (
            jnp.asarray(SIGMA),
            do.ParabolicTrace,
            lambda s: 0.5 * jnp.einsum("nij,ik,jk->n", H, s, s),
        ),
        "sigma_scalar": (
            jnp.array(0.5),
            do.ParabolicTrace,
            lambda s: 0.5 * s**2 * jnp.trace(H, axis1=-2, axis2=-1),
        ),
        "gradient_sigma": (jnp.asarray(SIGMA), do.Gradient, lambda s: g @ s),
        "tensor": (
            jnp.array([2.0, -1.0]),
            lambda c: do.TensorOperator([{0: 1, 1: 1}, {2: 1}], c),
            lambda c: c[0] * H[:, 0, 1] + c[1] * g[:, 2],
        ),
        "sum": (
            jnp.array(0.3),
            lambda c: do.Laplacian() - c * do.Laplacian() + do.Partial(0),
            lambda c: (1 - c) * jnp.trace(H, axis1=-2, axis2=-1) + g[:, 0],
        ),
    }


NAMES = ["scale", "squared_scale", "divisor", "b", "C", "diagonal", "sigma", "sigma_scalar"]
NAMES += ["gradient_sigma", "tensor", "sum"]


@pytest.mark.parametrize("name", NAMES)
def test_gradient_with_respect_to_coefficients(name):
    coefficient, build, contraction = learnable()[name]
    model, (points,) = FUNCTION.model("float64"), FUNCTION.points("float64")

    def loss(operator):
        return jnp.sum(jnp.sin(jax.vmap(operator.exact(model))(points)))

    # through the construction, and with respect to the operator's own leaves
    got = jax.jit(jax.grad(lambda c: loss(build(c))))(coefficient)
    expected = jax.grad(lambda c: jnp.sum(jnp.sin(contraction(c))))(coefficient)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    leaves = jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(loss))(build(coefficient)))
    assert len(leaves) >= 1
    if name not in ("squared_scale", "sum", "divisor", "tensor"):  # one leaf, the coefficient
        np.testing.assert_allclose(leaves[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_operators_pass_through_jit(name):
    coefficient, build, contraction = learnable()[name]
    model, (points,) = FUNCTION.model("float64"), FUNCTION.points("float64")
    apply = jax.jit(lambda operator, x: jax.vmap(operator.exact(model))(x))
    np.testing.assert_allclose(
        apply(build(coefficient), points), contraction(coefficient), rtol=1e-9, atol=1e-12
    )
    # a second coefficient must not reuse the first one's value
    np.testing.assert_allclose(
        apply(build(2 * coefficient), points), contraction(2 * coefficient), rtol=1e-9, atol=1e-12
    )


def test_callables_pass_through_filter_jit():
    model, (points,) = FUNCTION.model("float64"), FUNCTION.points("float64")
    apply = eqx.filter_jit(lambda operator, x: jax.vmap(operator.exact(model))(x))
    expected = jnp.einsum(
        "nij,nij->n", FUNCTION.derivatives("float64")[2], jax.vmap(matrix_of)(points)
    )
    np.testing.assert_allclose(apply(do.SecondOrder(matrix_of), points), expected, rtol=1e-9)


def test_operators_come_out_of_jit():
    operator = jax.jit(lambda c: c * do.Laplacian() + do.Partial(0))(jnp.array(2.0))
    assert operator == jnp.array(2.0) * do.Laplacian() + do.Partial(0)


def test_vmap_over_coefficients():
    """A batch of operators: one scale, and one direction, for each member."""
    model, (points,) = FUNCTION.model("float64"), FUNCTION.points("float64")
    b = jnp.arange(12.0).reshape(4, 3)
    got = jax.jit(jax.vmap(lambda b: do.Directional(b).exact(model)(points[0])))(b)
    expected = b @ FUNCTION.derivatives("float64")[1][0]
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    batch = eqx.filter_vmap(do.Directional)(b)
    apply = eqx.filter_vmap(lambda operator: operator.exact(model)(points[0]))
    got = eqx.filter_jit(apply)(batch)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_equality_of_traced_coefficients_raises():
    with pytest.raises(
        (TypeError, ValueError, jax.errors.ConcretizationTypeError), match="(?i)trace"
    ):
        jax.jit(lambda c: c * do.Laplacian() == do.Laplacian())(jnp.array(2.0))


def test_equality_without_traced_coefficients_works_under_jit():
    def f(x):
        assert (do.Laplacian() == do.DiagonalK(2)) is True
        return x

    jax.jit(f)(1.0)


def test_estimates_with_learnable_coefficients():
    """∂_σ of an estimate of ½ tr(σσᵀ Hess) with every draw: the exact gradient."""
    u = lambda x: jnp.sum(jnp.sin(x)) * x[0]
    x = jnp.array([0.5, 1.0, -0.5])
    H = jax.hessian(u)(x)
    got = jax.grad(lambda s: do.ParabolicTrace(s).estimate(jax.random.key(0), 9)(u)(x))(
        jnp.asarray(SIGMA)
    )
    np.testing.assert_allclose(got, H @ SIGMA, rtol=1e-10)


INDICES = {
    "indices": lambda c: do.TensorOperator([{0: 2}, {1: 1, 2: 1}], c),
    "coordinates": lambda c: do.TensorOperator.from_coordinates(np.array([[0, 0], [1, 2]]), c),
    "columns": lambda c: do.ParabolicTrace(
        do.operators.SparseColumns(np.array([[0], [1]]), c[:, None], rows=3)
    ),
}


@pytest.mark.parametrize("name", INDICES)
def test_floating_leaves_are_the_coefficients(name):
    """And there are no others: `jax.grad` by an operator works, and 2 × its leaves is 2 × its
    coefficients.
    """
    build, c = INDICES[name], jnp.array([2.0, -0.5])
    operator, x = build(c), jnp.array([0.5, -1.0, 2.0])
    leaves = jax.tree.leaves(operator)
    assert len(leaves) <= 2 and all(leaf.dtype == jnp.float64 for leaf in leaves)
    u = lambda x: x[0] ** 4 * x[1] + x[1] ** 3 * x[2] ** 2
    value = jax.jit(lambda operator: operator.exact(u)(x))
    doubled = jax.tree.map(lambda leaf: 2 * leaf, operator)
    np.testing.assert_allclose(value(doubled), value(build(2 * c)), rtol=1e-12)
    slope = jax.tree.leaves(jax.jit(jax.grad(value))(operator))
    expected = jax.jit(jax.grad(lambda c: value(build(c))))(c)
    np.testing.assert_allclose(np.sort(np.concatenate(slope, axis=None)), np.sort(expected))


def test_a_traced_coordinate_is_no_coefficient():
    """It is a leaf, of integers; the 1 in front of the derivative is none."""
    operator = jax.jit(lambda i: do.Partial(i, order=2))(jnp.asarray(1))
    (leaf,) = jax.tree.leaves(operator)
    assert jnp.issubdtype(leaf.dtype, jnp.integer)
    assert operator.exact(lambda x: x[1] ** 2)(jnp.ones(3)) == 2


def test_many_indices_are_hashed_once():
    """A structure with a million indices is as quick to compare as one with few."""
    table = np.arange(10**6).reshape(-1, 2)
    operator = do.TensorOperator.from_coordinates(table, np.ones(len(table)))
    leaves, structure = jax.tree.flatten(operator)
    assert [leaf.shape for leaf in leaves] == [(len(table),)]
    again = jax.tree.structure(jax.tree.unflatten(structure, leaves))
    assert structure == again and hash(structure) == hash(again)


def test_joint_operators_are_pytrees():
    """κ Δ|x|² = 2dκ and κ ∂₀|x|² = 2κ x₀ as fields of a module: their derivatives in κ; equal
    structures, and the key a leaf beside κ.
    """
    kappa, x = jnp.array(0.5), jnp.array([1.0, 2.0, 3.0])
    u = lambda x: jnp.sum(x**2)
    ops = lambda: {"lap": kappa * do.Laplacian(), "slope": do.Partial(0)}
    model = (do.exact(ops()), (kappa * do.Partial(0)).exact)

    def loss(model):
        values = model[0](u)(x)
        return values["lap"] + values["slope"] + 3 * model[1](u)(x)

    got = jax.tree.leaves(eqx.filter_grad(loss)(model))
    np.testing.assert_allclose(got, [6.0, 3 * 2.0], rtol=1e-14)
    assert jax.tree.structure(do.exact(ops())) == jax.tree.structure(model[0])
    assert len(jax.tree.leaves(do.estimate(ops(), jax.random.key(0), 2))) == 2
    assert repr(model[0]) == "exact({'lap': 0.5 Δ, 'slope': ∂₀})"
    assert repr(model[1]) == "exact(0.5 ∂₀)"
    estimate = do.estimate({"lap": do.Laplacian()}, jax.random.key(0), 2)
    assert repr(estimate) == "estimate({'lap': Δ}, 2 × sparse)"


def test_joint_estimates_are_compiled_once():
    u, x = lambda x: jnp.sum(x**4), jnp.arange(9.0)
    traces = []

    @eqx.filter_jit
    def apply(joint):
        traces.append(joint)
        return joint(u)(x)

    joints = [do.estimate([do.Laplacian()], jax.random.key(seed), 2) for seed in range(3)]
    got = [apply(joint)[0] for joint in joints]
    np.testing.assert_allclose(got, [joint(u)(x)[0] for joint in joints], rtol=1e-12)
    assert len(traces) == 1 and len(set(map(float, got))) > 1


ESTIMATES = {
    "estimate": lambda key: 2.5 * do.Laplacian() + do.Laplacian().estimate(key, 2),
    "joint": lambda key: do.estimate([do.Laplacian()], key, 2),
    "deflated": lambda key: do.Laplacian().deflate(key, 4),
}


@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("name", ESTIMATES)
def test_estimates_are_written_to_files(name, generator, tmp_path):
    make = lambda seed: ESTIMATES[name](jax.random.key(seed, impl=generator))
    u, x = lambda x: jnp.sum(x**4), jnp.arange(9.0)
    path = tmp_path / "estimate.eqx"
    eqx.tree_serialise_leaves(path, make(0))
    got = eqx.tree_deserialise_leaves(path, make(1))
    value = lambda estimate: np.asarray(jax.tree.leaves(estimate(u)(x)))
    np.testing.assert_array_equal(value(got), value(make(0)))
    assert (value(got) != value(make(1))).all()
