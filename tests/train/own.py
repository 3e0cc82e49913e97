"""Your own problems, in a module that is imported by its name."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

import diffop as do


class Transport(do.pde.AbstractSolvedProblem):
    """u_t + speed · u_x = 0 on a square: a problem of two coordinates."""

    name: ClassVar[str] = "transport"
    recommended: ClassVar[do.pde.Recommended] = do.pde.Recommended(
        steps=10, batch=16, width=8, depth=1, probes="exact"
    )
    dim: ClassVar[int] = 2
    speed: float = 1.0

    def operators(self):
        return do.Directional(jnp.array([self.speed, 1.0]))

    def residual(self, values, x):
        return values

    def sample(self, key, count):
        return do.pde.points_in_box(key, count, [-1.0, -1.0], [1.0, 1.0])

    def ansatz(self, net):
        return do.nn.InitialCondition(net, self.null_shape)

    def solution(self, x):
        return jnp.sin(x[0] - self.speed * x[1])

    def null_shape(self, x):
        return jnp.sin(x[0])


class Waves(Transport):
    """Two that go apart, as one vector."""

    name: ClassVar[str] = "waves"
    outputs: ClassVar[int] = 2

    def operators(self):
        return {"u_x": do.Partial(0), "u_t": do.Partial(1)}

    def residual(self, values, x):
        return values["u_t"] + jnp.array([1.0, -1.0]) * values["u_x"]

    def solution(self, x):
        return jnp.stack([jnp.sin(x[0] - x[1]), jnp.cos(x[0] + x[1])])

    def null_shape(self, x):
        return jnp.stack([jnp.sin(x[0]), jnp.cos(x[0])])

    def sections(self, resolution):
        ends = jnp.linspace(-1, 1, 4)
        points = jnp.stack(jnp.meshgrid(ends, ends), axis=-1)
        return (do.pde.Section("all", ("x", "t"), (-1, 1, -1, 1), points),)


class Ball(do.pde.AbstractSolvedProblem):
    """Δu = −2d, in any dimension."""

    name: ClassVar[str] = "own-ball"
    dim: int = eqx.field(static=True)

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values + 2.0 * self.dim

    def sample(self, key, count):
        return do.pde.unit_ball_by_radius(key, count, self.dim)

    def ansatz(self, net):
        return do.nn.ZeroOnUnitSphere(net)

    def solution(self, x):
        return 1 - x @ x

    def null_shape(self, x):
        return jnp.ones(())


class Unsolved(do.pde.AbstractProblem):
    name: ClassVar[str] = "unsolved"
    dim: ClassVar[int] = 2

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values

    def sample(self, key, count):
        return do.pde.unit_ball_by_radius(key, count, 2)


class Column(Unsolved):
    """Its networks return one number in an array."""

    outputs: ClassVar[int] = 1

    def source(self, x):
        return jnp.zeros(())


class Apart(Unsolved):
    """Two arguments, whose networks take one."""

    def residual(self, values, x, t):
        return values

    def sample(self, key, count):
        return do.pde.unit_ball_by_radius(key, count, 1), jnp.zeros(count)


class Demanding(Ball):
    charge: float


nothing = 3
