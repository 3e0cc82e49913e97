"""The flux through a wall that nobody can reach, from measurements inside."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import diffop as do

from .training import network, relative, trained

pytestmark = pytest.mark.usefixtures("x64")

SQUARE = do.pde.Box((0.0, 0.0), (1.0, 1.0))
LEFT, RIGHT, LOWER, UPPER = SQUARE.faces


def solution(x):
    return jnp.cosh(jnp.pi * x[0]) / jnp.cosh(jnp.pi) * jnp.cos(jnp.pi * x[1]) + x[0]


def flux(x):
    """∂u/∂x at x = 1, by hand."""
    return jnp.pi * jnp.tanh(jnp.pi) * jnp.cos(jnp.pi * x[1]) + 1


class Flux(eqx.Module):
    """An unknown function of the place on the wall."""

    net: eqx.nn.MLP

    def __call__(self, x):
        return self.net(x[1:])


class Heat(do.equations.AbstractEquation):
    """Δu = 0 in a square of which one wall has an unknown flux."""

    flux: Flux

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values

    def conditions(self, key, count):
        ends = (0.5, 0.0), (0.95, 1.0)
        sensors = do.pde.points_in_box(jax.random.key(5), 40, *ends, unit=do.pde.sobol)
        return do.pde.Conditions(
            do.pde.Dirichlet(solution, on=LEFT),
            *(do.pde.Neumann(0.0, on=wall) for wall in (LOWER, UPPER)),
            do.pde.Neumann(self.flux, on=RIGHT),
            do.equations.Condition(do.Identity(), sensors, jax.vmap(solution)(sensors)),
        )(key, count)


def test_the_flux_is_found_from_data_inside(seed=0):
    equation = Heat(Flux(network(1, "scalar", seed, width=8, depth=1)))
    pinn = do.nn.PINN(network(2, "scalar", seed), equation)
    options = {"points": SQUARE.sample, "batch": 200, "data_batch": 30, "data_weight": 10.0}
    pinn = trained(pinn, equation, 100, seed, **options)
    wall = RIGHT.sample(jax.random.key(9), 200)
    # on seeds 0 to 4: 0.010 to 0.036 of the flux, 1.2e-3 to 3.3e-3 of the temperature
    assert relative(pinn.equation.flux, flux, wall) < 0.1
    assert relative(pinn, solution, SQUARE.sample(jax.random.key(9), 500)) < 0.01
