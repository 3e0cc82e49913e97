"""How a loss takes its operators: exactly, by random jets, or in another way."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from jaxtyping import PyTree

from ..array_types import Key
from ..estimators.draws import NAMED, AbstractProbe, as_probe
from ..estimators.together import estimate, exact


@runtime_checkable
class HasJoint(Protocol):
    """Another way to compute operators, such as a baseline of `diffop.baselines`. Its values need
    not have derivatives with respect to the point, and their variance is not known.

    - `name`: for messages.
    - `random`: whether it is random.

    !!! example

        ```python
        import jax
        import diffop as do

        class Exact:
            name = "by jets"
            random = False

            def joint(self, ops, key, n):
                return do.exact(ops)

        problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
        loss = do.losses.ResidualLoss(problem, batch=10, probes=Exact())
        loss(problem.solution, jax.random.key(1))  # 0, but for rounding
        ```
    """

    @property
    def name(self) -> str: ...

    @property
    def random(self) -> bool: ...

    def joint(self, ops: PyTree, key: Key, n: int) -> Callable[[Callable], Callable]:
        """A map from u to the values of the operators, a pytree, with n draws from a key."""
        ...


LossProbes: TypeAlias = AbstractProbe | HasJoint | None
"""None if operators are exact."""

PROBES = ("exact", *NAMED)


def as_probes(given: Any) -> LossProbes:
    """Probes from themselves or their name.

    **Raises:** `ValueError` for anything else.
    """
    if given is None or isinstance(given, AbstractProbe | HasJoint):
        return given  # already converted
    if not (isinstance(given, str) and given in PROBES):
        raise ValueError(
            f"a loss expects probes among {', '.join(PROBES)}, one of diffop.probes, or a baseline "
            f"such as diffop.baselines.SDGD(), got {given!r}."
        )
    return None if given == "exact" else as_probe(given)


def exact_name(probes: LossProbes) -> str | None:
    """The name of probes without anything random; None for others."""
    if probes is None:
        return "exact"
    return None if isinstance(probes, AbstractProbe) or probes.random else probes.name


def joint(probes: LossProbes, ops: PyTree, key: Any, n: Any) -> Callable[[Callable], Callable]:
    """All operators together, with a draw of jets."""
    if probes is None:
        return exact(ops)
    if isinstance(probes, AbstractProbe):
        return estimate(ops, key, n, probes=probes)
    return probes.joint(ops, key, n)
