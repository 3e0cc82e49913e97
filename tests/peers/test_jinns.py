"""jinns' operators by ours: on its networks, in its dynamic losses, and in training."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax
import pytest
from jinns.loss import _DynamicLoss, _operators
from jinns.nn import PINN_MLP, SPINN_MLP
from jinns.parameters import Params

import diffop as do

close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


def space(inputs, u, params, eq_type):
    """u as a function of how far all inputs are moved in space, and no move: what PINNs take, and
    separable ones, of whose inputs each is moved alike.
    """
    first = 1 if _operators._get_eq_type(u, eq_type) == "PDENonStatio" else 0
    count = inputs.shape[-1] - first
    moved = lambda s: u(inputs.at[..., first:].add(s), params)
    return moved, jnp.zeros(count, inputs.dtype), first


def laplacian_rev(inputs, u, params, method="", eq_type=None):
    moved, zero, _ = space(inputs, u, params, eq_type)
    return do.Laplacian().exact(lambda s: jnp.squeeze(moved(s)))(zero)


def laplacian_fwd(inputs, u, params, method="", eq_type=None):
    moved, zero, _ = space(inputs, u, params, eq_type)
    return do.Laplacian().exact(moved)(zero)


def divergence(inputs, u, params, eq_type=None):
    moved, zero, first = space(inputs, u, params, eq_type)
    parts = [
        do.Partial(i).exact(lambda s, i=i: moved(s)[..., first + i])(zero) for i in range(zero.size)
    ]
    return sum(parts)


def vectorial_laplacian(inputs, u, params, dim_out=None, eq_type=None):
    moved, zero, _ = space(inputs, u, params, eq_type)
    return do.Laplacian().exact(lambda s: moved(s)[..., : dim_out or inputs.shape[0]])(zero)


OURS = {
    "laplacian_rev": laplacian_rev,
    "laplacian_fwd": laplacian_fwd,
    "divergence_rev": divergence,
    "divergence_fwd": divergence,
    "vectorial_laplacian_rev": vectorial_laplacian,
    "vectorial_laplacian_fwd": vectorial_laplacian,
}
THEIRS = {name: getattr(_operators, name) for name in OURS}


@pytest.fixture
def replace(monkeypatch):
    """Ours where jinns' losses look for theirs."""

    def replacing():
        for name, function in OURS.items():
            monkeypatch.setattr(_operators, name, function)
            monkeypatch.setattr(_DynamicLoss, name, function)

    return replacing


LAYERS = ((eqx.nn.Linear, 1, 16), (jax.nn.tanh,), (eqx.nn.Linear, 16, 16), (jax.nn.tanh,))


def plain(eq_type, dim, out=1):
    """A PINN, and a point of time and space or of space."""
    size = dim + (eq_type == "PDENonStatio")
    net = eqx.nn.MLP(size, out, 16, 2, jnp.tanh, key=jax.random.key(0))
    u, params = PINN_MLP.create(eqx_network=net, eq_type=eq_type)
    return u, params, jax.random.normal(jax.random.key(1), (size,))


def separable(eq_type, dim, out=1):
    """A separable PINN, and the coordinates of a grid."""
    size = dim + (eq_type == "PDENonStatio")
    last = ((eqx.nn.Linear, 16, 5 * out),)
    u, params = SPINN_MLP.create(jax.random.key(0), size, 5, LAYERS + last, eq_type, out)
    return u, params, jax.random.normal(jax.random.key(1), (4, size))


def agree(ours, theirs, u, params, x):
    """In one program."""
    both = eqx.filter_jit(lambda params, x: (ours(x, u, params), theirs(x, u, params)))
    found, expected = both(params, x)
    assert found.shape == expected.shape
    close(found, expected)


KINDS = ["PDEStatio", "PDENonStatio"]
PLAIN = ["trace_hessian_x", "trace_hessian_t_x", "loop"]


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_laplacian_of_a_pinn(kind, dim, method):
    u, params, x = plain(kind, dim)
    params = Params(nn_params=params, eq_params={})
    other = functools.partial(THEIRS["laplacian_rev"], method=method)
    agree(laplacian_rev, other, u, params, x)


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_laplacian_of_a_separable_pinn(kind, dim):
    u, params, x = separable(kind, dim)
    params = Params(nn_params=params, eq_params={})
    agree(laplacian_fwd, THEIRS["laplacian_fwd"], u, params, x)


@pytest.mark.parametrize("make, way", [(plain, "rev"), (separable, "fwd")], ids=["rev", "fwd"])
@pytest.mark.parametrize("kind", KINDS)
def test_divergence(kind, make, way):
    u, params, x = make(kind, 2, out=2 + (kind == "PDENonStatio"))
    params = Params(nn_params=params, eq_params={})
    agree(divergence, THEIRS[f"divergence_{way}"], u, params, x)


@pytest.mark.parametrize("make, way", [(plain, "rev"), (separable, "fwd")], ids=["rev", "fwd"])
@pytest.mark.parametrize("kind", KINDS)
def test_vectorial_laplacian(kind, make, way):
    u, params, x = make(kind, 2, out=3)
    params = Params(nn_params=params, eq_params={})
    pair = (vectorial_laplacian, THEIRS[f"vectorial_laplacian_{way}"])
    agree(*(functools.partial(each, dim_out=3) for each in pair), u, params, x)


def fisher(make):
    u, params, x = make("PDENonStatio", 2)
    constants = {"D": jnp.array(0.3), "r": jnp.array(2.0), "g": jnp.array(1.5)}
    return jinns.loss.FisherKPP(Tmax=2, dim_x=2), u, Params(params, constants), x


def navier_stokes(make):
    u, params, x = make("PDEStatio", 2, out=3)
    constants = {"rho": jnp.array(1.1), "nu": jnp.array(0.2)}
    return (
        jinns.loss.NavierStokesMassConservation2DStatio(), u, Params(params, constants), x
    )  # fmt: skip


@pytest.mark.parametrize("make", [plain, separable])
@pytest.mark.parametrize("equation", [fisher, navier_stokes])
def test_residuals_and_their_gradients(equation, make, replace):
    """Of jinns' own equations, by all parameters of the network."""
    jinns.parameters.EqParams.clear()
    loss, u, params, x = equation(make)

    def found():
        squares = lambda weights: jnp.sum(
            loss.equation(x, u, eqx.tree_at(lambda p: p.nn_params, params, weights)) ** 2
        )
        return loss.equation(x, u, params), eqx.filter_grad(squares)(params.nn_params)

    # a fresh function each time: programs are kept by function
    expected = eqx.filter_jit(lambda: found())()
    replace()
    jax.tree.map(close, eqx.filter_jit(lambda: found())(), expected)


def heat(make):
    """A loss with a term for each of the equation, the boundary and the beginning."""
    jinns.parameters.EqParams.clear()
    dynamic, u, params, _ = fisher(make)
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=dynamic,
        initial_condition_fun=lambda x: jnp.exp(-jnp.sum(x**2, axis=-1, keepdims=True)),
        params=params,
        loss_weights=jinns.loss.LossWeightsPDENonStatio(dyn_loss=1.0, initial_condition=1.0),
    )
    data = jinns.data.CubicMeshPDENonStatio(
        key=jax.random.key(2), n=64, nb=None, ni=32, dim=2, domain_batch_size=16,
        initial_batch_size=16, border_batch_size=None, min_pts=(-1, -1), max_pts=(1, 1), tmin=0,
        tmax=1,
    )  # fmt: skip
    return loss, params, data


def test_training_takes_the_same_way(replace):
    """Losses of twenty steps."""

    def trained():
        loss, params, data = heat(plain)
        result = jinns.solve(
            n_iter=20, init_params=params, data=data, loss=loss, optimizer=optax.adam(1e-3),
            verbose=False, print_loss_every=1,
        )  # fmt: skip
        return np.asarray(result[1])

    expected = trained()
    replace()
    jax.clear_caches()
    found = trained()
    assert found.shape == (20,) and found[-1] < found[0]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
