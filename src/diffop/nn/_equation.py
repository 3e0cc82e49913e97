"""What a PINN solves: linear operators, and a residual made of their values."""

from collections.abc import Callable
from typing import Any, Protocol, final, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..operators.arguments import is_function
from ..operators.base import Operator
from ..operators.shapes import check_shapes
from ..operators.together import flatten


@runtime_checkable
class AnyEquation(Protocol):
    """What a PINN asks of an equation; `diffop.pde.AbstractProblem` has it too."""

    def operators(self) -> PyTree: ...

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> PyTree: ...

    def ansatz(self, net: Callable) -> Callable: ...


@final
class Equation(eqx.Module):
    """A differential equation `residual(values of the operators at x, x) = 0`.

    Its coefficients are known: no optimiser sees them, not even to let them decay. `trainable=True`
    makes all arrays learnable instead, those of the operators and those of a residual that is a
    module; what is known then goes in as Python numbers, or inside functions.

    **Arguments:**

    - `operators`: a pytree of operators, as `diffop.exact` takes it: all that the equation applies
        to u.
    - `residual`: a function `(values, x)` of their values at a point, in the same structure, and of
        the point. It returns left side minus right side: a scalar, or a pytree of arrays for a
        system. For unbiased estimates it has to be affine in the values that are estimated.
    - `trainable`: whether arrays are learnable (an inverse problem): for all of them True or False,
        or as `equinox.partition` takes it, such as `(True, False)` for those of the operators only,
        and `({"u": False, "lap": True}, False)` for some.

    **Raises:** `TypeError` if the operators are not operators, or the residual is not callable.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        allen_cahn = do.nn.Equation(
            {"u": do.Identity(), "lap": do.Laplacian()},
            lambda v, x: v["lap"] + v["u"] - v["u"] ** 3,
        )
        kappa = jnp.array(0.5)  # a first guess
        heat = do.nn.Equation.linear(
            do.Partial(1) - kappa * do.Laplacian(dims=(0,)),
            source=lambda x: jnp.sin(x[0]),
            trainable=True,
        )
        ```
    """

    _learnt: PyTree
    _known: "_Held" = eqx.field(static=True)

    def __init__(
        self,
        operators: PyTree,
        residual: Callable[[PyTree, Any], PyTree],
        *,
        trainable: PyTree = False,
    ):
        flatten(operators)  # refuses what is not an operator
        if not is_function(residual):
            raise TypeError(
                "Equation expects a residual that is a function (values, x), got "
                f"{residual!r} of type {type(residual).__name__}."
            )
        self._learnt, known = eqx.partition((operators, residual), trainable)
        self._known = _Held(known)

    @staticmethod
    def linear(
        operator: Operator, source: Callable[[Any], PyTree], *, trainable: PyTree = False
    ) -> "Equation":
        """The equation L u = f.

        **Arguments:**

        - `operator`: L.
        - `source`: f, a function of the point, returning what L u does: in its shape.
        - `trainable`: as for `Equation`; with True also the arrays of a source that is a module.

        **Raises:** `TypeError` if `source` is not callable.
        """
        if not is_function(source):
            raise TypeError(
                "Equation.linear expects a source that is a function of the point, such as "
                f"lambda x: 0.0, got {source!r} of type {type(source).__name__}."
            )
        return Equation(operator, _Difference(source), trainable=trainable)

    def operators(self) -> PyTree:
        """The operators that the equation applies to u."""
        return self._whole()[0]

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> PyTree:
        """Left side minus right side at a point, from the values of the operators there."""
        return self._whole()[1](values, x)

    def ansatz(self, net: Callable) -> Callable:
        """The network itself: an equation alone has no boundary."""
        return net

    def _whole(self) -> tuple[PyTree, Callable[[PyTree, Any], PyTree]]:
        return eqx.combine(self._learnt, self._known.value)


@final
class _Difference(eqx.Module):
    """L u − f. A module, so that a source may be learnable."""

    source: Callable[[Any], PyTree]

    def __call__(self, values: PyTree, x: Float[Array, " dim"]) -> PyTree:
        source = self.source(x)
        check_shapes("the operator of u", values, "the source", source)
        return jax.tree.map(jnp.subtract, values, source)


@final
class Given(eqx.Module):
    """An equation none of whose arrays are learnable.

    They are no leaves, so that no optimiser sees them, not even to let them decay; programs have
    them as constants.
    """

    _held: "_Held" = eqx.field(static=True)

    def __init__(self, equation: AnyEquation):
        self._held = _Held(equation)

    def operators(self) -> PyTree:
        return self._held.value.operators()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> PyTree:
        return self._held.value.residual(values, x)

    @property
    def source(self) -> Callable | None:
        return getattr(self._held.value, "source", None)

    def ansatz(self, net: Callable) -> Callable:
        return self._held.value.ansatz(net)


@final
class _Held:
    """An object compared by identity: arrays can not be hashed, as a program's structure is."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
