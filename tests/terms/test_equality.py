"""Equal operators and estimates agree on every function, and unequal ones differ somewhere."""

import equinox as eqx
import hypothesis
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import strategies as st

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

D = 6
L, THIRD, SOME = do.Laplacian(), do.DiagonalK(3), do.Laplacian(dims=(0, 2, 3, 5))
F = lambda x: x[:2]
G = lambda x: x[:2]


class Power(eqx.Module):
    """A coefficient whose settings are all static: JAX sees no leaf of it."""

    order: int = eqx.field(static=True)

    def __call__(self, x):
        return x[0] ** self.order


def E(operator=L, seed=0, n=2, probes="auto"):
    """A new object with a new key each time."""
    return operator.estimate(jr.key(seed), n, probes)


def diagonal(values):
    return do.SecondOrder(jnp.asarray(values))


net = lambda seed: eqx.nn.Linear(2, "scalar", key=jr.key(seed))
EQUAL = {
    "twice": lambda: (E() + E(), 2 * E()),
    "sum in another order": lambda: (E() + E(THIRD, 1), E(THIRD, 1) + E()),
    "difference": lambda: (E() - E(), 0 * E()),
    "with its exact part": lambda: (E(L + do.Partial(0)), do.Partial(0) + E()),
    "never drawn": lambda: (E(do.Partial(0), 0), E(do.Partial(0), 1)),
    "nothing": lambda: (E() + 0 * E(THIRD, 1), E()),
    "kinds of keys": lambda: (L.estimate(jr.PRNGKey(0), 2), E()),
    "names of probes": lambda: (E(), E(probes=do.probes.Sparse())),
    "weights": lambda: (
        E(probes=do.probes.Importance(np.arange(1.0, 7))),
        E(probes=do.probes.Importance(np.arange(1.0, 7))),
    ),
    "scaled matrices": lambda: (E(diagonal([2.0, 4.0])), 2 * E(diagonal([1.0, 2.0]))),
    "matrices": lambda: (
        E(do.SecondOrder(jnp.eye(3) + 1)),
        E(do.SecondOrder(jnp.asarray(np.eye(3) + 1))),
    ),
    "an equal diagonal": lambda: (E(diagonal([1.0] * 4)), E(do.Laplacian(dims=(0, 1, 2, 3)))),
    "sigma": lambda: (do.Gradient(jnp.eye(2)), do.Gradient(jnp.eye(2))),
    "scaled sigma": lambda: (2 * do.Gradient(jnp.eye(2)), do.Gradient(2 * jnp.ones(2))),
    "sparse sigma": lambda: (
        do.ParabolicTrace(do.operators.SparseColumns(np.arange(2)[:, None], jnp.ones((2, 1)), 2)),
        do.ParabolicTrace(jnp.eye(2)),
    ),
    "networks": lambda: (net(0) * L, net(0) * L),
    "functions in another order": lambda: (
        E(Power(2) * (Power(3) * L)),
        E(Power(3) * (Power(2) * L)),
    ),
    "functions": lambda: (do.TensorOperator([{0: 2}], F), do.TensorOperator([{0: 2}], F)),
    "a number along t": lambda: (do.Directional(2.0), do.Directional(jnp.asarray([2.0]))),
}
DIFFERENT = {
    "parts are counted": lambda: (E() + E(), E() + E(THIRD, 1, 2)),
    "coefficients": lambda: (E() + E(THIRD, 1), E() + 2 * E(THIRD, 1)),
    "one more": lambda: (E() + E(seed=1), E() + E(seed=1) + E(seed=2)),
    "swapped": lambda: (E() + 2 * E(seed=1), 2 * E() + E(seed=1)),
    "keys": lambda: (E(seed=0), E(seed=1)),
    "n": lambda: (E(n=2), E(n=3)),
    "probes": lambda: (E(probes="sparse"), E(probes="gaussian")),
    "the exact one": lambda: (E(), L),
    "weights": lambda: (
        E(probes=do.probes.Importance(np.ones(6))),
        E(probes=do.probes.Importance(np.arange(1.0, 7))),
    ),
    "how it is drawn": lambda: (E(do.SecondOrder(jnp.eye(4))), E(do.Laplacian(dims=(0, 1, 2, 3)))),
    "sigma": lambda: (do.Gradient(jnp.eye(2)), do.Gradient(2 * jnp.eye(2))),
    "networks": lambda: (net(0) * L, net(1) * L),
    "functions": lambda: (do.TensorOperator([{0: 2}], F), do.TensorOperator([{0: 2}], G)),
    "settings of functions": lambda: (E(Power(-1) * L), E(Power(-2) * L)),
    "how often functions stand": lambda: (E(Power(2) * (Power(2) * L)), E(Power(2) * L)),
    "indices of functions": lambda: (
        do.TensorOperator([{0: 2}], F),
        do.TensorOperator([{1: 2}], F),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name):
    a, b = EQUAL[name]()
    assert (a == b) is True
    assert (b == a) is True
    assert (a != b) is False


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name):
    a, b = DIFFERENT[name]()
    assert (a == b) is False
    assert (b == a) is False


@pytest.mark.parametrize("operand", ["estimate", "coefficient", "network"])
def test_traced_values_are_not_compared(operand):
    """Neither keys nor coefficients, with one sentence."""

    def compare(value):
        made = {
            "estimate": lambda: L.estimate(value, 2),
            "coefficient": lambda: do.Gradient(value),
            "network": lambda: eqx.tree_at(lambda n: n.weight, net(0), value) * L,
        }[operand]()
        return made == made

    value = {"estimate": jr.key(0), "coefficient": jnp.eye(2), "network": jnp.ones((1, 2))}
    with pytest.raises(TypeError, match="cannot be compared with ==.*Compare them outside"):
        jax.jit(compare)(value[operand])


def test_a_closed_over_estimate_is_known_in_jit():
    made = E()
    assert jax.jit(lambda x: x if made + made == 2 * made else -x)(3.0) == 3.0


# Sums of terms with known coefficients, each beside what it is: equality is that of these.
numbers = st.integers(-4, 4).map(lambda n: n / 2)
ATOMS = (L, THIRD, SOME, do.Partial(1), do.Mixed({0: 1, 1: 1}), do.Identity())
SAMPLED = (0, 1, 2)
atoms = st.tuples(st.integers(0, len(ATOMS) - 1), st.sampled_from([None, 0, 1]))
sums = st.lists(st.tuples(atoms, numbers), min_size=1, max_size=4)


def built(entries):
    operators = [
        c * (ATOMS[i] if draw is None else E(ATOMS[i], draw, 2)) for (i, draw), c in entries
    ]
    return sum(operators[1:], operators[0])


def symbol(entries):
    """Coefficients by what is drawn; what is never drawn does not depend on a key."""
    found = {}
    for (i, draw), c in entries:
        key = (i, draw if i in SAMPLED else None)
        found[key] = found.get(key, 0) + c
    return {key: c for key, c in found.items() if c}


@hypothesis.given(sums, sums, st.randoms(use_true_random=False))
def test_equality_of_random_sums(a, b, random):
    shuffled = random.sample(a, len(a))
    assert built(a) == built(shuffled)
    assert (built(a) == built(b)) is (symbol(a) == symbol(b))


@pytest.fixture(scope="module")
def values():
    """Every atom, exact and for each draw, of some polynomials at a point: from one program."""
    rng = np.random.default_rng(0)
    cubes, pairs = rng.normal(size=(3, D)), rng.normal(size=(3, D, D))
    x = jnp.asarray(rng.normal(size=D))

    def polynomials(x):
        quadratic = jnp.sum(pairs * x[None, :, None] * x[None, None, :], axis=(1, 2))
        return jnp.sum(cubes * x[None, :] ** 3, axis=1) + quadratic

    kinds = [(i, draw) for i in range(len(ATOMS)) for draw in (None, 0, 1)]
    of = lambda i, draw: ATOMS[i].exact if draw is None else E(ATOMS[i], draw, 2)
    every = jax.jit(lambda x: [of(*kind)(polynomials)(x) for kind in kinds])(x)
    return polynomials, x, dict(zip(kinds, map(np.asarray, every), strict=True))


@hypothesis.given(sums, sums)
def test_equal_sums_agree_and_others_differ(values, a, b):
    """By the values of their atoms, of which sums are linear."""
    *_, atoms = values
    of = lambda entries: sum(c * atoms[kind] for kind, c in entries)
    assert (built(a) == built(b)) is bool(np.allclose(of(a), of(b), rtol=0, atol=1e-9))


def test_merged_sums_evaluate_as_their_parts(values):
    polynomials, x, atoms = values
    entries = [((0, 0), 0.5), ((1, 0), -2.0), ((0, 0), 1.0), ((2, 1), 1.0), ((3, 1), 3.0)]
    made = built(entries)
    assert len(made.parts) == 2
    got = jax.jit(made(polynomials))(x)
    expected = sum(c * atoms[kind] for kind, c in entries)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
