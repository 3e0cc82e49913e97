"""Equations: operators, a residual of their values, and data."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from ..complete import Complete
from ..estimators.together import flat_operators
from ..operators.base import Operator
from ..operators.nonlinear import NonlinearOperator
from ..scalars import described
from ..terms.arguments import is_function, kind_of
from ..terms.shapes import check_shapes
from .condition import AnyCondition
from .points import as_function, check_arguments
from .sampled import AtPoints
from .unknowns import Divided, check_reached, fields

GivenConditions: TypeAlias = Sequence[AnyCondition] | Callable[[Any, int], Sequence[AnyCondition]]


class AbstractEquation(Complete):
    """A differential equation `residual(values of the operators at x, x) = 0`, with the data that
    its solution has to match.

    A [`diffop.nn.PINN`][] holds an equation, and a [`diffop.losses.ResidualLoss`][] is made from
    one. A [`diffop.pde.AbstractProblem`][] is an equation with a domain. For most equations a
    [`diffop.equations.Equation`][] is enough. A subclass has a name for each of its parts; it
    defines `operators` and `residual`, and the other methods if it needs them.

    A PINN learns the arrays of its equation, such as a coefficient that is a field of type
    `jax.Array` (an inverse problem); Python numbers are known. If a class has other arrays, such as
    measurements, the attribute `trainable` names the fields that are learnt:
    `trainable = ("rate",)`, or `False` for none, as in problems.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        class Helmholtz(do.equations.AbstractEquation):
            k: float

            def operators(self):
                return {"u": do.Identity(), "lap": do.Laplacian()}

            def residual(self, values, x):
                return values["lap"] + self.k**2 * values["u"]

        wave = do.nn.PINN(lambda x: jnp.sin(2 * x[0]), Helmholtz(2.0))
        wave.loss(jnp.ones((4, 3)))  # 0 up to rounding
        ```
    """

    trainable: ClassVar[bool | tuple[str, ...]] = True

    @abstractmethod
    def operators(self) -> PyTree:
        """The operators that the equation applies to u.

        **Returns:** a pytree of operators, as `diffop.exact` and `diffop.estimate` take it.
        """

    @abstractmethod
    def residual(self, values: PyTree, *args: Any, **kwargs: Any) -> PyTree:
        """Left side minus right side of the equation at a point: zero for the solution.

        **Arguments:**

        - `values`: the values of `operators()` at the point, in the same structure.
        - `*args`: the point, that is, u's arguments. For $u(x)$ one array of shape `(dim,)`, in
            `residual(self, values, x)`; for $u(x, t)$ it is `residual(self, values, x, t)`.

        **Returns:** a scalar; for a system an array or a pytree of arrays, whose squares are added.
        """

    def source(self, *args: Any, **kwargs: Any) -> PyTree:
        """The right side f of the equation at a point: a scalar, or an array like the residual of a
        system. A scalar or an array tells losses which shape u has; None, the default, leaves it
        open.

        **Arguments:**

        - `*args`: the point, as for `residual`: `source(self, x)`, or `source(self, x, t)`.
        """
        return None

    def conditions(self, key: PRNGKeyArray, count: int) -> Sequence[AnyCondition]:
        """The data that a solution has to match and that `ansatz` does not build in: on the
        boundary of the domain, at the first or last time, or at measured points. None by default.

        **Arguments:**

        - `key`: a key from `jax.random.key`.
        - `count`: how many random points each condition has.

        **Returns:** [`diffop.equations.Condition`][]s, or other objects with a method `misfit(u)`.
        """
        return ()

    def ansatz(self, net: Callable) -> Callable:
        """Wraps a network from points to scalars so that it fits the domain and satisfies the data
        that `conditions` does not contain. By default the network itself.
        """
        return net


@final
class Equation(AbstractEquation):
    """A differential equation `residual(values of the operators at x, x) = 0`, by its parts.

    By default its coefficients are known: no optimiser changes them, not even by weight decay. With
    `trainable=True` all arrays are learnt: those of the operators, of a residual that is a module,
    and of the conditions, such as `C` in `diffop.pde.Neumann(C, on=face)`. Known coefficients are
    then Python numbers, or stand inside functions. Points and values of a
    [`diffop.equations.Condition`][] are data, and are not learnt.

    **Arguments:**

    - `operators`: a pytree of operators, as `diffop.exact` takes it: all that the equation applies
        to u.
    - `residual`: a function `(values, x)` of the operators' values at a point, in the same
        structure, and of the point; `(values, x, t)` for a u of x and t. It returns left side minus
        right side: a scalar, or a pytree of arrays for a system. For unbiased estimates it has to
        be affine in the estimated values.
    - `conditions`: data that a solution has to match: a list of [`diffop.equations.Condition`][]s,
        or a function `(key, count)` that returns one with `count` random points each. None by
        default.
    - `trainable`: whether arrays are learnt (an inverse problem): True or False for all of them; or
        a tuple for operators, residual and conditions, as `equinox.partition` takes it, such as
        `(True, False, False)` for those of the operators only, and `({"u": False, "lap": True},
        False, False)` for some. The conditions may be left out, for False.

    **Raises:** `TypeError` if the operators are not operators, the residual is not callable, or the
    conditions are neither conditions nor a function; `ValueError` if what is trainable has no
    arrays.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        allen_cahn = do.equations.Equation(
            {"u": do.Identity(), "lap": do.Laplacian()},
            lambda v, x: v["lap"] + v["u"] - v["u"] ** 3,
        )
        kappa = jnp.array(0.5)  # a first guess
        heat = do.equations.Equation.linear(
            do.Partial(1) - kappa * do.Laplacian(dims=(0,)),
            source=lambda x: jnp.sin(x[0]),
            trainable=True,
        )
        points = jnp.array([[-1.0, 0.0], [1.0, 0.0]])
        ends = do.equations.Condition(do.Identity(), points, jnp.zeros(2))
        do.equations.Equation.linear(do.Laplacian(), lambda x: -4.0, conditions=[ends])
        ```
    """

    _operators: Divided
    _residual: Divided
    _conditions: Divided

    def __init__(
        self,
        operators: PyTree,
        residual: Callable[..., PyTree],
        *,
        conditions: GivenConditions = (),
        trainable: PyTree = False,
    ):
        flat_operators(operators)  # refuses what is not an operator
        if not is_function(residual):
            raise TypeError(
                "Equation expects a residual that is a function (values, x), got "
                f"{residual!r} of type {type(residual).__name__}."
            )
        if not _are_conditions(conditions):
            raise TypeError(
                "Equation expects conditions that are a list of diffop.equations.Condition, or a "
                "function (key, count) that returns one, such as diffop.pde.Conditions(*given) "
                f"makes of diffop.pde.Dirichlet and others, got {_in_words(conditions)}."
            )
        parts, asked = (operators, residual, conditions), _by_part(trainable)
        of_conditions = _without_data(conditions, asked[2])
        divided = [Divided(*each) for each in zip(parts, (*asked[:2], of_conditions), strict=True)]
        self._operators, self._residual, self._conditions = divided
        check_reached(trainable, asked, [each.learnt for each in divided])

    @staticmethod
    def linear(
        operator: Operator | NonlinearOperator,
        source: Callable[..., PyTree] | int | float | Shaped[Array, "..."],
        *,
        conditions: GivenConditions = (),
        trainable: PyTree = False,
    ) -> "Equation":
        """The equation L u = f.

        **Arguments:**

        - `operator`: L; a nonlinear operator N gives N(u) = f.
        - `source`: f, a function of u's arguments that returns values in the shape of L u; or a
            number for a constant.
        - `conditions`, `trainable`: as for `Equation`; arrays of a source that is a module are
            learnt too.

        **Raises:** `TypeError` if `source` is neither a function nor a number.
        """
        made = _Difference(as_function(source))
        return Equation(operator, made, conditions=conditions, trainable=trainable)

    def operators(self) -> PyTree:
        return self._operators.whole()

    def residual(self, values: PyTree, *args: Any) -> PyTree:
        function = self._residual.whole()
        check_arguments("the residual", function, args, ("values",))
        return function(values, *args)

    def conditions(self, key: PRNGKeyArray, count: int) -> Sequence[AnyCondition]:
        given = self._conditions.whole()
        return given(key, count) if is_function(given) else given


def _by_part(trainable: PyTree) -> tuple[PyTree, PyTree, PyTree]:
    """What `trainable` asks for operators, residual and conditions."""
    if not isinstance(trainable, tuple):
        return trainable, trainable, trainable
    operators, residual, *conditions = trainable
    return operators, residual, conditions[0] if conditions else False


def _without_data(conditions: GivenConditions, asked: PyTree) -> PyTree:
    """What `trainable` asks for conditions does not include measurements, that is, their points and
    values.
    """
    if not (asked is True or callable(asked)):
        return asked

    def is_data(node: Any) -> bool:
        return isinstance(node, AtPoints)

    def of_each(node: Any) -> Any:
        if not is_data(node):
            return asked
        nothing = jax.tree.map(lambda _: False, node)
        return eqx.tree_at(lambda data: data.operator, nothing, asked)

    return jax.tree.map(of_each, conditions, is_leaf=is_data)


def _are_conditions(given: Any) -> bool:
    """Whether it is a function or conditions. Some single conditions are tuples of their parts."""
    if is_function(given):
        return True
    return isinstance(given, Sequence) and all(isinstance(c, AnyCondition) for c in given)


def _in_words(given: Any) -> str:
    if isinstance(given, list):
        return f"a list of {', '.join(type(each).__name__ for each in given)}"
    return type(given).__name__


def as_equation(whose: str, given: Any) -> AbstractEquation:
    """An equation, for any argument that has to be one.

    **Raises:** `TypeError` for anything else.
    """
    if not isinstance(given, AbstractEquation):
        raise TypeError(
            f"{whose} expects a diffop.equations.Equation, or a problem or another object whose "
            f"class is derived from diffop.equations.AbstractEquation, got {_shown(given)}."
        )
    return given


def _shown(given: Any) -> str:
    """A value for an error message: for a network its class, not its layers."""
    return kind_of(given) if isinstance(given, eqx.Module) else described(given)


@final
class _Difference(eqx.Module):
    """L u − f, as a module, so that a source may be learnable."""

    source: Callable[..., PyTree]

    def __call__(self, values: PyTree, *args: Any) -> PyTree:
        check_arguments("the source", self.source, args)
        source = self.source(*args)
        check_shapes("the operator of u", values, "the source", source)
        return jax.tree.map(jnp.subtract, values, source)


@final
class Known(AbstractEquation):
    """An equation some or all of whose arrays are known.

    Known arrays are not leaves, so no optimiser changes them, not even by weight decay; programs
    hold them as constants.
    """

    _equation: Divided

    def __init__(self, equation: AbstractEquation):
        asked = equation.trainable
        named = () if isinstance(asked, bool) else asked
        self._equation = Divided(equation, fields(equation, named) if named else False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # called before the equation exists
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def whole(self) -> Any:
        """The equation as it was given, with the learnt values."""
        return self._equation.whole()

    def operators(self) -> PyTree:
        return self.whole().operators()

    def residual(self, values: PyTree, *args: Any) -> PyTree:
        return self.whole().residual(values, *args)

    def source(self, *args: Any) -> PyTree:
        return self.whole().source(*args)

    def conditions(self, key: PRNGKeyArray, count: int) -> Sequence[AnyCondition]:
        return self.whole().conditions(key, count)

    def ansatz(self, net: Callable) -> Callable:
        return self.whole().ansatz(net)


def learnable(equation: AbstractEquation) -> AbstractEquation:
    """An equation whose leaves are the arrays that are learnt.

    **Raises:** `ValueError` if it declares something learnable that has no arrays.
    """
    if isinstance(equation, Known) or equation.trainable is True:
        return equation
    return Known(equation)


def opened(equation: Any) -> Any:
    """An equation to which programs give the arrays of its residual and conditions as arguments, if
    none of its arrays is learnt. Those of its operators stay known, which makes programs shorter.
    """
    if not isinstance(equation, Equation) or has_unknowns(equation):
        return equation

    def parts(equation: Equation) -> tuple[Divided, Divided]:
        return equation._residual, equation._conditions

    return eqx.tree_at(parts, equation, [Divided(e.whole(), True) for e in parts(equation)])


def has_unknowns(equation: AbstractEquation) -> bool:
    """Whether an equation returned by `learnable` has anything to learn."""
    return bool(jax.tree.leaves(eqx.filter(equation, eqx.is_inexact_array)))


def with_unknowns(model: Any) -> AbstractEquation | None:
    """The equation of a model that learns something of it: its attribute `equation`, as in a PINN.
    Otherwise None.
    """
    own = getattr(model, "equation", None)
    return own if isinstance(own, AbstractEquation) and has_unknowns(own) else None


def of_model(equation: AbstractEquation, model: Any) -> AbstractEquation:
    """The equation of a loss, with the values that a model has learnt.

    **Raises:** `ValueError` if the model learns something of another equation.
    """
    own = with_unknowns(model)
    if own is None:
        return equation
    mine, given = (each.whole() if isinstance(each, Known) else each for each in (own, equation))
    if jax.tree.structure(mine) != jax.tree.structure(given):
        raise ValueError(
            "ResidualLoss expects the equation of its model, which has arrays that are to be "
            "learnt, got a loss of another equation; make the loss of the equation that the model "
            "is made of, or give it the function alone, as pinn.u."
        )
    return mine
