"""Functions that are found by a solver: roots, minima, linear systems, differential equations."""

import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optimistix
import pytest

import diffop as do

X = jnp.array([0.3, -0.4, 0.1, 0.5])
TIGHT = (1e-12, 1e-12)


def root(x):
    def f(y, x):
        return y + 0.3 * jnp.sin(y * x) - jnp.tanh(x)

    return jnp.sum(optimistix.root_find(f, optimistix.Newton(*TIGHT), 0 * x, args=x).value ** 2)


def fixed_point(x):
    solver = optimistix.FixedPointIteration(*TIGHT)
    found = optimistix.fixed_point(lambda y, x: jnp.cos(y) / 2 + x, solver, 0 * x, args=x)
    return jnp.sum(found.value**2)


def minimum(x):
    def f(y, x):
        return jnp.sum((y - x) ** 2 + 0.1 * (y * x) ** 4)

    return jnp.sum(optimistix.minimise(f, optimistix.BFGS(*TIGHT), 0 * x, args=x).value ** 3)


def least_squares(x):
    def f(y, x):
        return jnp.stack([y[0] - x[0] * x[1], y[1] - jnp.sin(x[2]) + 0.1 * y[0] ** 2])

    solver = optimistix.LevenbergMarquardt(*TIGHT)
    return jnp.sum(optimistix.least_squares(f, solver, jnp.zeros(2), args=x).value)


def linear(solver):
    def u(x):
        matrix = 2 * jnp.eye(4) + 0.3 * jnp.outer(jnp.sin(x), x)
        operator = lineax.MatrixLinearOperator(matrix)
        return jnp.sum(lineax.linear_solve(operator, jnp.cos(x), solver).value ** 2)

    return u


def at_the_end(solver, controller, adjoint):
    def u(x):
        term = diffrax.ODETerm(lambda t, y, x: jnp.sin(x * y) - 0.3 * y * t)
        return jnp.sum(
            diffrax.diffeqsolve(
                term,
                solver,
                *(0.0, 1.0, 0.1, x, x[::-1]),
                stepsize_controller=controller,
                adjoint=adjoint,
                max_steps=64,
            ).ys
            ** 2
        )

    return u


CONSTANT, ADAPTIVE = diffrax.ConstantStepSize(), diffrax.PIDController(1e-6, 1e-6)
PROGRAMS = {
    "root": root,
    "fixed point": fixed_point,
    "minimum": minimum,
    "least squares": least_squares,
    "LU": linear(lineax.LU()),
    "QR": linear(lineax.QR()),
    "SVD": linear(lineax.SVD()),
    "GMRES": linear(lineax.GMRES(*TIGHT)),
    "explicit": at_the_end(diffrax.Tsit5(), ADAPTIVE, diffrax.ForwardMode()),
    "implicit": at_the_end(diffrax.Kvaerno3(), ADAPTIVE, diffrax.ForwardMode()),
    "direct": at_the_end(diffrax.Heun(), CONSTANT, diffrax.DirectAdjoint()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_laplacian_is_that_of_nested_differentiation(name):
    u = PROGRAMS[name]
    found = jax.jit(do.Laplacian().exact(u))(X)
    expected = jnp.trace(jax.jit(jax.jacfwd(jax.jacfwd(u)))(X))
    np.testing.assert_allclose(found, expected, rtol=1e-8)
