"""Three squares of an estimated residual: which of them are unbiased, by enumeration of all draws.

The random sources of the probes are replaced by every outcome that they can have, for the two draws
of a call apart; what these sources themselves return is proved in `tests/probes`.
"""

import itertools

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.estimators.draws import make_draw
from diffop.losses.squares import SQUARES, draw_keys
from diffop.probes import sampling
from diffop.streams import stream, streams

from .toy import Frozen

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(3)


class Quasilinear(Frozen):
    """(2 + u + u_0²) Δu = f: affine in what is sampled, and not in what is exact."""

    def operators(self):
        return {"u": do.Identity(), "slope": do.Partial(0), "lap": do.Laplacian()}

    def residual(self, values, x):
        factor = 2 + values["u"] + values["slope"] ** 2
        return factor * values["lap"] - self.source(x)


def allen_cahn(dim):
    return Frozen(do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(0)))


def quasilinear(dim):
    return Quasilinear(do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(0)))


@pytest.fixture(scope="module")
def networks(x64):
    """A network for each dimension."""

    def network(dim):
        net = eqx.nn.MLP(dim, "scalar", 3, depth=1, activation=jnp.tanh, key=jax.random.key(1))
        return do.nn.ZeroOnUnitSphere(do.nn.ScaledInput(net, 3.0))

    return {dim: network(dim) for dim in (3, 6)}


def loss_of(problem, square, n, probes, gpinn=0.0):
    return do.losses.ResidualLoss(
        problem, 2, n, probes, gpinn=gpinn, gpinn_terms=problem.dim, square=square
    )


def with_gradient(function, u):
    """The gradient in the network's parameters, the value, and what is returned beside it."""
    parameters, static = eqx.partition(u, eqx.is_inexact_array)
    flat, unravel = jax.flatten_util.ravel_pytree(parameters)
    of_parameters = lambda p: function(eqx.combine(unravel(p), static))
    (value, beside), gradient = jax.value_and_grad(of_parameters, has_aux=True)(flat)
    return jnp.append(gradient, jnp.stack([value, beside]))


def mean_over(monkeypatch, owner, name, outcomes, draw, function):
    """E over two independent outcomes: in a call the draw with the first key is the first one.

    `outcomes` are arrays, with their probabilities; the sources are called with the stream of the
    draw (n and probe), for the number of terms or coordinates.
    """
    values, probabilities = outcomes
    first_of_call = make_draw(draw_keys(stream(KEY, "jets"))[0], *draw).stream

    def one(first, second):
        def source(*args):
            key = next(each for each in args if _is_key(each))
            numbers = [each for number in (3, 6) for each in _streams(first_of_call, number)]
            same = [jnp.all(jax.random.key_data(key) == jax.random.key_data(k)) for k in numbers]
            chosen = jnp.any(jnp.stack(same))
            return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), first, second)

        monkeypatch.setattr(owner, name, source)
        return function(KEY)

    each = jax.vmap(jax.vmap(one, (None, 0)), (0, None))
    found = jax.jit(each)(values, values)
    return np.einsum("a,b,absk->sk", probabilities, probabilities, found)


def _is_key(value):
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _streams(key, count):
    """Where directions, terms and independent terms are drawn from."""
    yield from (stream(key, name, count) for name in ("directions", "terms"))
    yield stream(stream(key, "copies", count), "copy", 0)


def uniform(outcomes):
    rows = jnp.asarray(list(outcomes))
    return rows, np.full(len(rows), 1 / len(rows))


def signs():
    return uniform(np.reshape(list(itertools.product([-1.0, 1.0], repeat=6)), (-1, 2, 3)))


def importance():
    p = np.array([0.5, 0.25, 0.25])
    index = np.array(list(itertools.product(range(3), repeat=2)))
    return (jnp.asarray(index), jnp.asarray(1 / p[index])), p[index].prod(axis=1)


def strata():
    pairs = list(itertools.combinations(range(3), 2))
    return uniform([[*a, *(3 + i for i in b)] for a in pairs for b in pairs])


def frames():
    """Two columns of each rotation of the icosahedron, times √3: they average polynomials of
    degree 5 in the columns, such as R̂², as all rotations do.
    """
    phi = (1 + 5**0.5) / 2
    even = [(0, 1, 2, 3), (1, 2, 0, 3), (2, 0, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (1, 0, 3, 2)]
    even += [(1, 3, 2, 0), (2, 1, 3, 0), (2, 3, 0, 1), (3, 0, 2, 1), (3, 1, 0, 2), (3, 2, 1, 0)]
    units = {tuple(s * row) for s in (1, -1) for row in np.eye(4)}
    units |= set(itertools.product([0.5, -0.5], repeat=4))
    for a, b, c in itertools.product([1, -1], repeat=3):
        corner = np.array([a * phi, b, c / phi, 0]) / 2
        units |= {tuple(corner[list(order)]) for order in even}
    quaternions = np.array(sorted(units))
    assert quaternions.shape == (120, 4)
    w, x, y, z = quaternions.T
    first = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    second = [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)]
    columns = np.sqrt(3) * np.stack([np.stack(first), np.stack(second)]).transpose(2, 0, 1)
    return uniform(columns[w + 1e-9 * (x + 2 * y + 4 * z) > 0])  # q and −q are the same rotation


WEIGHTS = np.array([2.0, 1.0, 1.0])
CASES = {
    "sparse": ("sparse", 2, 3, 0.3, sampling, "subset", lambda: uniform([[0, 1], [0, 2], [1, 2]])),
    "importance": (do.probes.Importance(WEIGHTS), 2, 3, 0.0, sampling, "weighted", importance),
    "stratified": ("stratified", 4, 6, 0.0, sampling, "stratified", strata),
    "rademacher": ("rademacher", 2, 3, 0.0, do.probes.Rademacher, "directions", signs),
    "orthogonal": ("orthogonal", 2, 3, 0.0, do.probes.Orthogonal, "directions", frames),
}


QUICK = ("rademacher", "stratified")


@pytest.mark.usefixtures("compiled_quickly")
@pytest.mark.parametrize(
    ("case", "make"),
    [
        pytest.param(
            case, make, marks=[] if case in QUICK else [pytest.mark.slow("enumerates many draws")]
        )
        for case, make in [*((case, allen_cahn) for case in CASES), ("rademacher", quasilinear)]
    ],
)
def test_means_over_all_draws(monkeypatch, networks, case, make):
    """Product and pairs have the exact loss and gradient as their means, the biased square with
    what it tells to be its bias."""
    probes, n, dim, gpinn, owner, name, outcomes = CASES[case]
    problem, u = make(dim), networks[dim]
    losses = {square: loss_of(problem, square, n, probes, gpinn) for square in SQUARES}

    def every(key):
        def corrected(u):
            bias = losses["biased"].bias(u, key)
            return losses["biased"](u, key) - bias, bias

        product, pairs = (lambda u, s=s: (losses[s](u, key), 0.0) for s in ("product", "pairs"))
        return jnp.stack([with_gradient(each, u) for each in (product, pairs, corrected)])

    means = mean_over(monkeypatch, owner, name, outcomes(), (n, probes), every)
    exact = loss_of(problem, "biased", n, "exact", gpinn)
    expected = jax.jit(lambda: with_gradient(lambda u: (exact(u, KEY), 0.0), u))()[:-1]
    for mean in means[:, :-1]:
        np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    assert means[2, -1] > 1e-4 * expected[-1]  # there is a bias to be seen


def test_pairs_are_the_mean_over_pairs_of_draws(networks):
    """The definition: R_r R_s over all r ≠ s, each R_r an estimate by one direction."""
    problem, u = allen_cahn(3), networks[3]
    key = jax.random.key(0)
    points = problem.sample(stream(key, "points"), 2)
    jets_key, _ = draw_keys(stream(key, "jets"))
    joint = do.estimate(problem.operators(), jets_key, 2, probes="rademacher")

    def squared(x):
        drawn = joint.draws(u)(x)
        (source,) = drawn.contributions  # Δu is the sum of two draws, which is the mean of 2 z_r
        one = [
            jax.tree.map(lambda v, z: v + 2 * z[r] - z.sum(), drawn.value, source) for r in (0, 1)
        ]
        return problem.residual(one[0], x) * problem.residual(one[1], x)

    loss = loss_of(problem, "pairs", 2, "rademacher")
    both = eqx.filter_jit(lambda: (loss(u, key), jnp.mean(jax.vmap(squared)(points))))()
    np.testing.assert_allclose(*both, rtol=1e-11)


@pytest.mark.parametrize("gpinn", [0.0, 0.3])
def test_the_biased_square_is_the_pairs_and_the_bias(networks, gpinn):
    problem, u = allen_cahn(3), networks[3]
    biased, pairs = (
        do.losses.ResidualLoss(problem, 2, 2, "sparse", gpinn=gpinn, gpinn_terms=1, square=square)
        for square in ("biased", "pairs")
    )
    values = eqx.filter_jit(lambda: [biased(u, KEY), biased.bias(u, KEY), pairs(u, KEY)])()
    np.testing.assert_allclose(values[0] - values[1], values[2], rtol=1e-11)
    assert values[1] > 0 and pairs.bias(u, KEY) == 0


@pytest.mark.parametrize("probes", ["exact", "auto"])
def test_nothing_sampled_has_no_bias(networks, probes):
    """All three terms are taken, so there is no variance either."""
    loss = loss_of(allen_cahn(3), "biased", 3, probes, 0.3)
    assert eqx.filter_jit(loss.bias)(networks[3], KEY) == 0.0


def test_the_draws_of_a_product_are_independent(monkeypatch):
    """The second key is no number of the first, nor one of its streams."""
    keys = []

    def estimate(ops, key, n, probes):
        keys.append(key)
        return do.exact(ops)

    monkeypatch.setattr("diffop.losses.probes.estimate", estimate)
    loss = loss_of(allen_cahn(3), "product", 2, "sparse")
    keys.clear()
    loss(lambda x: x[0], KEY)
    first, second = keys
    folded = jax.vmap(lambda number: jax.random.fold_in(first, number))(jnp.arange(10_000))
    more = [
        jnp.append(streams(first, name, 100), first) for name in ("directions", "terms", "draw")
    ]
    every = jax.random.key_data(jnp.concatenate([folded, *more]))
    assert not (every == jax.random.key_data(second)[None]).all(axis=1).any()


@pytest.mark.parametrize(
    ("square", "n", "probes", "message"),
    [
        ("pairs", 1, "sparse", "'pairs' takes the variance .* away: .* at least 2 draws; .* n = 1"),
        ("pairs", 1, "rademacher", "at least 2 draws; got an estimate with n = 1"),
        ("pairs", 2, "systematic", "systematic draws have no unbiased standard error"),
        ("pairs", 2, do.probes.Stratified(1), "one draw from each stratum has no unbiased standar"),
        ("pairs", 2, "exact", "'pairs' takes away .* 'exact', whose loss has no"),
        (
            "product",
            2,
            "exact",
            "'product' takes away the bias of random jets, .* 'exact', whose l",
        ),
        ("both", 2, "sparse", "a square among biased, product, pairs, got 'both'"),
    ],
)
def test_squares_that_are_refused(square, n, probes, message):
    with pytest.raises(ValueError, match=message):
        loss_of(allen_cahn(3), square, n, probes)


def test_one_draw_of_a_biased_square_has_no_known_bias(networks):
    with pytest.raises(ValueError, match="at least 2 draws"):
        loss_of(allen_cahn(3), "biased", 1, "sparse").bias(networks[3], KEY)


@pytest.mark.parametrize("probes", ["auto", "orthogonal", do.probes.Sparse()])
def test_estimators_are_probes_by_name_or_themselves(networks, probes):
    loss = loss_of(allen_cahn(3), "biased", 2, probes)
    again = loss_of(allen_cahn(3), "biased", 2, do.probes.as_probe(probes))
    same = eqx.filter_jit(lambda: (loss(networks[3], KEY), again(networks[3], KEY)))()
    assert same[0] == same[1]
