"""Equations with mixed derivatives of order four: the paper's table `tab:high-ord`.

2D KdV, 2D KP and the gradient-enhanced 1D KdV. Beside: nested `jax.grad` and `jax.jvp`, forward
over reverse, and the paper's jets with several tangents. Points, network and optimiser are the
same; only who computes the derivatives differs.
"""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, duration, listing, ratio
from ..harness.training import Training
from ..subjects.agreement import check_agreement
from ..subjects.equations import BY_NAME, EQUATIONS
from ..subjects.methods import Method
from ..subjects.networks import NETWORKS, Network, mlp, normal_points
from ..subjects.words import OURS, REFERENCE, derivatives, residuals

POINTS = 100
"""Those of the paper's table."""
MANY = 1000
"""So many that products are what counts."""


class HighOrder(AbstractTimed):
    name = "high-order"
    title = "a training step of equations with derivatives of order four"

    def cases(self, scope: Scope) -> Iterator[Case]:
        for network in scope.pick(["base"], ["base"], ["base"], list(NETWORKS)):
            for equation in EQUATIONS[: scope.pick([1], [3], [3])[0]]:
                ways = list(residuals(equation))
                if network != "base":  # the others take as long again
                    ways = [way for way in ways if way == OURS or way in _ELSEWHERE]
                for method in scope.pick([REFERENCE], ways, ways):
                    yield self.case(method, equation=equation.name, network=network, points=POINTS)
        for equation in scope.pick([], [], list(EQUATIONS)):
            for method in (OURS, *_OF_JAX):
                yield self.case(method, equation=equation.name, network="base", points=MANY)

    def program(self, case: Case) -> Training:
        equation = BY_NAME[str(case.sizes["equation"])]
        method = residuals(equation)[case.method]
        network = NETWORKS[str(case.sizes["network"])]
        return training(equation.dim, method, network, case.whole("points"))

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def check(self, case: Case) -> None:
        """In float64, on a small network, derivatives and residuals are those by nested grad."""
        equation = BY_NAME[str(case.sizes["equation"])]
        with jax.enable_x64(True):
            u, x = mlp(equation.dim, Network(width=16)), normal_points(2, equation.dim)
            for ways in (derivatives(equation), residuals(equation)):
                if case.method in ways:
                    pair = {REFERENCE: ways[REFERENCE], case.method: ways[case.method]}
                    check_agreement(pair, u, x, tolerance=1e-9)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        def printed(record: Record) -> str:
            """The paper's time beside its time with jets: what its ratio would be."""
            sizes = {name: record.case.sizes[name] for name in ("equation", "network")}
            if record.case.whole("points") != POINTS:
                return ""
            jets, method = (paper.one(way, **sizes) for way in (_PAPERS, record.case.method))
            if jets is None or method is None or method is jets:
                return ""
            return f"{jets.values['steps_per_s'] / method.values['steps_per_s']:.3g}"

        columns = {
            "equation": lambda record: str(record.case.sizes["equation"]),
            "network": lambda record: str(record.case.sizes["network"]),
            "points": lambda record: f"{record.case.whole('points'):,}",
            "method": lambda record: record.case.method,
            "step": duration,
            "beside diffop": ratio,
            "in the paper, beside its jets": printed,
        }
        yield listing("speed", ours, columns)


_PAPERS = "paper's jets"
_OF_JAX = (REFERENCE, "nested jvp", "jvp over grad")
_ELSEWHERE = (REFERENCE, _PAPERS, "paper's 13-jet", "grad of the residual")


def training(dim: int, method: Method, network: Network, points: int) -> Training:
    """Minimises the mean over normal points of the sum of the squared residuals."""

    def loss(u: eqx.nn.MLP, key: jax.Array, _: None) -> jax.Array:
        values = jax.vmap(method(u))(jax.random.normal(key, (points, dim)))
        return jnp.sum(jnp.mean(jnp.stack(values) ** 2, axis=1))

    return Training(loss, mlp(dim, network))
