"""The input of a push: jets and their tangents, in the structure of a function's arguments."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..algebra.algebra import Algebra
from ..array_types import AnyArray, CollapsingWeights
from ..arrays import at_run_time, known_or_traced
from ..coefficients.blocks import Blocks
from .bundle import Family, is_inexact
from .coefficients import (
    Coefficient,
    Full,
    Series,
    Zero,
    all_zero,
    scale,
)
from .replacing.second_moments import SecondMoment


@final
class Matrix(eqx.Module):
    """How the directions of [`diffop.taylor.Jets`][] meet at order two: $Σ_ij C_ij D²u(v_i, v_j)$.

    There are as many directions as rows of C, half as many as in pairs of $v_i$ and $Σ_j C_ij v_j$.

    **Arguments:**

    - `entries`: C, of shape `(n, n)`, of which only the symmetric part matters.

    **Raises:** `ValueError` for an array of another shape, `TypeError` for a complex one.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        C = do.taylor.Matrix(jnp.ones((3, 3)))
        jets = do.taylor.Jets(((jnp.eye(3),), (None,)), C, top_only=True)
        do.taylor.push(lambda x: jnp.sum(x) ** 2, (jnp.ones(3),), [jets]).derivatives[0][1]  # 18.0
        ```
    """

    entries: AnyArray | np.ndarray = eqx.field(converter=known_or_traced)

    def __check_init__(self) -> None:
        shape = jnp.shape(self.entries)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"entries of a Matrix must have shape (n, n); got {shape}.")
        if jnp.iscomplexobj(self.entries):
            raise TypeError(f"entries of a Matrix must be real; got {self.entries.dtype}.")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def symmetric(self) -> Array:
        """½ (C + Cᵀ)."""
        entries = at_run_time(self.entries)
        return (entries + entries.T) / 2


@final
class Jets(eqx.Module):
    """n jets through one point, pushed together: curves $x(t) = x + Σ_k v_k t^k / k!$, or jets with
    several parameters, $x(t) = x + Σ_γ v_γ t^γ / γ!$.

    **Arguments:**

    - `tangents`: for each order k = 1 … K (each basis element of the algebra) the tangents $v_k$: a
        tuple with one entry for each argument of the function. An entry is like the argument but
        with a leading axis of n directions on each leaf, or with a structured coefficient in place
        of a leaf ([`diffop.taylor.basis`][], [`diffop.taylor.entries`][]); `None` for an argument
        that does not move at this order.
    - `weights`: order K (each maximal monomial) is returned as the sums $Σ_r w_r$ (order K of jet
        r): shape `(n,)` for one sum, `(m, n)` for m of them. The engine carries only the sums (the
        collapse), so order K costs as much as one more primal. `None` returns order K jet by jet. A
        [`diffop.taylor.Matrix`][] says how each two directions of curves of order two meet; the
        curves must be straight lines, and only order two may be read. Complex weights need complex
        arguments, and a function that is analytic in them.
    - `top_only`: whether only order K (the maximal monomials) is wanted. Curves of order two, and
        pairs (s, t) from which s t is read, may then be replaced on the way by fewer ones with the
        same second moment; lower orders are returned as `None`.
    - `algebra`: the algebra of jets with several parameters; by default the orders 1 … K of curves.

    **Raises:** `ValueError` if there are no tangents, or not as many as the algebra has monomials,
    for weights that are no such array, and for a `Matrix` unless the jets are straight lines from
    which only order two is read.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        def u(x):
            return jnp.sum(x**3)

        jets = do.taylor.Jets(tangents=((jnp.eye(3),), (None,)), weights=jnp.ones(3))
        value, [(gradient, laplacian)] = do.taylor.push(u, (jnp.ones(3),), [jets])

        both = do.taylor.Algebra.closure([(1, 2)])  # ∂_s ∂_t² along x + s e_0 + t e_1
        e0, e1 = jnp.eye(3)[:1], jnp.eye(3)[1:2]
        still = (None,)
        mixed = do.taylor.Jets(((e1,), (e0,), still, still, still), algebra=both)
        ```
    """

    tangents: tuple[tuple[PyTree, ...], ...]
    weights: CollapsingWeights | Matrix | None = None
    top_only: bool = eqx.field(static=True, default=False)
    algebra: Algebra = eqx.field(static=True, default=None)  # pyright: ignore

    def __post_init__(self) -> None:
        if not self.tangents:
            raise ValueError("Jets need at least one order of tangents; got an empty tuple.")
        if self.algebra is None:
            self.algebra = Algebra.curve(len(self.tangents))
        if len(self.tangents) != len(self.algebra):
            raise ValueError(
                f"Jets need tangents for each of the {len(self.algebra)} monomials of their "
                f"algebra; got {len(self.tangents)}."
            )
        if self.weights is not None and len(getattr(self.weights, "shape", ())) not in (1, 2):
            raise ValueError(
                f"weights must be an array (n,) or (m, n), with a number for each jet; got "
                f"{self.weights!r}."
            )
        if isinstance(self.weights, Matrix):
            lines = self.algebra == _CURVE and not jax.tree.leaves(self.tangents[1])
            if not (lines and self.top_only):
                raise ValueError(
                    "directions meet by a Matrix where they are those of straight lines and only "
                    "order two is wanted: tangents of order one, and None for all arguments at "
                    "order two, with top_only=True."
                )

    @property
    def order(self) -> int:
        """The largest total order K."""
        return self.algebra.degree

    @property
    def size(self) -> int:
        """The number n of jets."""
        for leaf in jax.tree.leaves(self.tangents, is_leaf=_is_tangent):
            if isinstance(leaf, Blocks):
                return leaf.shape[0]
            if not (leaf is None or isinstance(leaf, Zero)):
                return (leaf.base if isinstance(leaf, Full) else leaf).shape[0]
        raise ValueError("Jets need at least one tangent that is not None.")


_CURVE, _PAIR = Algebra.curve(2), Algebra.closure([(1, 1)])


def family_of(jets: Jets) -> Family:
    """How their coefficients are carried. Curves of order two and pairs may be replaced by fewer
    directions if nothing else is read.
    """
    if isinstance(jets.weights, Matrix):
        return Family.by_moment(SecondMoment.by_matrix(jets.weights.symmetric), replaceable=True)
    replaceable = jets.top_only and jets.weights is not None and jets.algebra in (_CURVE, _PAIR)
    return Family(jets.weights, jets.algebra, jets.size, replaceable=replaceable)


def by_weights(jets: Jets, args: tuple[PyTree, ...]) -> Jets:
    """Directions v_i that meet through a matrix, as the pairs of v_i and Σ_j C_ij v_j: a sum, which
    can be computed in parts.
    """
    if not isinstance(jets.weights, Matrix):
        return jets
    (first, still), size, (leaves, structure) = jets.tangents, jets.size, jax.tree.flatten(args)
    moment = SecondMoment.by_matrix(jets.weights.entries)

    def partner(entry: Any, leaf: Any) -> Array | None:
        if entry is None:
            return None
        ((_, met),) = moment.as_pairs([(tangent_of(entry, (size,), leaf, "tangents"),)], [leaf])
        return met

    entries = chain(*map(by_leaf, args, first))
    second = jax.tree.unflatten(structure, map(partner, entries, leaves))
    return Jets((first, second, still), jnp.ones(size), True, _PAIR)


def places_read(jets: Jets) -> list[int | None]:
    """For each monomial its place if its derivative is returned, otherwise None."""
    return [
        at if at in jets.algebra.tops or not jets.top_only else None
        for at in range(len(jets.algebra))
    ]


def as_differentiable(leaf: Any) -> Array:
    """A moving leaf of an argument, as an array of a floating or complex type."""
    array = jnp.asarray(leaf)
    if not is_inexact(array):
        raise TypeError(
            f"a point to differentiate at must be floating; got {array.dtype} of shape "
            f"{array.shape}. Convert it, for example with jnp.asarray(x, float)."
        )
    return array


def flat_tangents(
    jets: Jets, family: Family, args: tuple[PyTree, ...], leaves: Sequence[Any]
) -> list[Series]:
    """For each leaf of the arguments its Taylor coefficients v_k / k!, the top one collapsed."""
    size, weights = jets.size, jets.weights
    if weights is not None and weights.shape[-1] != size:
        raise ValueError(
            f"weights must have one entry for each of the {size} jets; got shape {weights.shape}."
        )
    columns = []
    for place, tangents in enumerate(jets.tangents):
        if len(tangents) != len(args):
            raise ValueError(
                f"tangents of order {_order(jets, place)} must have one entry for each of the "
                f"{len(args)} arguments (None where nothing moves); got {len(tangents)}."
            )
        share, terms = 1 / family.algebra.factorial(place), []
        for leaf, tangent in zip(leaves, chain(*map(by_leaf, args, tangents)), strict=True):
            term = scale(tangent_of(tangent, (size,), leaf, "tangents"), share)
            terms.append(family.collapse(term, leaf) if family.is_top(place) else term)
        columns.append(terms)
    series = [tuple(each) for each in zip(*columns, strict=True)]
    if jnp.iscomplexobj(family.weights):
        moving = [leaf for leaf, each in zip(leaves, series, strict=True) if not all_zero(each)]
        check_analytic(family.weights, moving)
    return series


def check_analytic(weights: Any, moving: Sequence[Any]) -> None:
    """Refuses complex weights of real arguments, or of real values, which are not analytic."""
    if not all(map(jnp.iscomplexobj, moving)):
        raise TypeError(
            f"weights must be real where what moves is; got {weights.dtype}. Give their real and "
            "their imaginary parts as two rows of weights."
        )


def _order(jets: Jets, place: int) -> Any:
    monomial = jets.algebra.monomials[place]
    return monomial[0] if len(monomial) == 1 else monomial


def by_leaf(arg: PyTree, tangent: PyTree) -> list[Any]:
    """The tangent of each leaf of an argument, None if it does not move."""
    leaves, structure = jax.tree.flatten(arg)
    if tangent is None:
        return [None] * len(leaves)
    try:
        return structure.flatten_up_to(tangent)
    except ValueError as error:
        found = len(jax.tree.leaves(tangent, is_leaf=_is_tangent))
        raise ValueError(
            f"tangents must have the structure of their argument, {structure} of {len(leaves)} "
            f"leaves; got {found} in {jax.tree.structure(tangent)}."
        ) from error


def _is_tangent(node: Any) -> bool:
    return node is None or isinstance(node, Coefficient)


def tangent_of(tangent: Any, lead_shape: tuple[int, ...], leaf: Any, name: str) -> Coefficient:
    """A leaf's tangent as a coefficient, in the leaf's type.

    **Raises:** `ValueError` for shapes, positions and numbers that do not fit the leaf, `TypeError`
    for values of another kind.
    """
    if tangent is None or isinstance(tangent, Zero):
        return Zero()
    expected, dtype = (*lead_shape, *jnp.shape(leaf)), as_differentiable(leaf).dtype
    if isinstance(tangent, Blocks):
        if tangent.shape != expected:
            raise ValueError(
                f"blocks must be directions of shape {expected} here; got {tangent.shape}."
            )
        parts = [
            part if part.values is None else part.with_values(_in_type(part.values, dtype, name))
            for part in tangent.parts
        ]
        return Blocks(tuple(parts), tangent.shape) if parts else Zero()
    given = tangent if isinstance(tangent, Full) else Full(jnp.asarray(tangent))
    if given.base.shape != expected:
        raise ValueError(f"{name} must have shape {expected} here; got {given.base.shape}.")
    return Full(_in_type(given.base, dtype, name), given.factor)


def _in_type(values: Any, dtype: Any, name: str) -> Array:
    """Values of a tangent in the leaf's type."""
    array = jnp.asarray(values)
    cut = jnp.iscomplexobj(array) and not jnp.issubdtype(dtype, jnp.complexfloating)
    if cut or not jnp.issubdtype(array.dtype, jnp.number):
        raise TypeError(
            f"values of {name} must be numbers that its argument's type, {dtype}, can hold; got "
            f"{array.dtype}."
        )
    return at_run_time(array.astype(dtype))
