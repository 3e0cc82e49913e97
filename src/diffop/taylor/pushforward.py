"""The two public functions of the engine: `push` for many jets at once, `jet` for one."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree

from ..algebra.algebra import Algebra
from ..arrays import filled, type_of
from ..kept import own_policy
from ..kernels import call
from ..precision import full_precision
from ..tracebacks import short_tracebacks
from .bundle import (
    Families,
    Family,
    Value,
    bundle,
    is_inexact,
    is_moving,
    laid_out,
    primal_of,
    series_of,
)
from .chunks import in_chunks
from .coefficients import Full, Series, all_zero, scale, without_notes
from .replacing.walk import interpret_replacing
from .tangents import (
    Jets,
    as_differentiable,
    by_weights,
    check_analytic,
    family_of,
    flat_tangents,
    places_read,
    tangent_of,
)


class Pushed(NamedTuple):
    """What `push` returns.

    `value` is u(*args). `derivatives[f][k - 1]` holds the k-th derivatives at t = 0 of u along the
    jets of family f, each leaf `(n, *shape)` for k < K and, at k = K, collapsed to `(*m, *shape)`
    if the family has weights. With several parameters there is one entry for each monomial of the
    algebra, the derivative $∂^γ$ with respect to t at 0, and the maximal ones are collapsed.
    """

    value: PyTree
    derivatives: list[tuple[PyTree, ...]]


@short_tracebacks
def push(
    u: Callable[..., PyTree],
    args: tuple[PyTree, ...],
    jets: Sequence[Jets],
    chunk: int | None = None,
) -> Pushed:
    """Pushes jets through a function: Taylor-mode automatic differentiation in one pass, any order.

    All families share the primal, the derivatives of its nonlinearities and the pass itself.

    **Arguments:**

    - `u`: any function that JAX can differentiate in forward mode; arguments and results are
        pytrees of arrays.
    - `args`: the point, a tuple of u's positional arguments. Constant arguments may be anything.
    - `jets`: the families of jets, see [`diffop.taylor.Jets`][].
    - `chunk`: at most how many jets of a family with `top_only` are pushed together; the others
        follow chunk by chunk, each rematerialised in reverse mode. By default all jets are pushed
        together, or as many as fit if all would need more than a fair share of the device's memory.

    **Returns:**

    A named tuple `(value, derivatives)`, see [`diffop.taylor.Pushed`][]. Derivatives, not Taylor
    coefficients: order k is $d^k/dt^k$ at t = 0.

    **Raises:**

    `TypeError` for a moving argument that is not of a floating type, and for tangents that its type
    cannot hold. `ValueError` for tangents without the structure or shape of the argument, for
    positions and numbers out of range if they are known while tracing, for orders whose factorials
    are out of the range of the argument's type (29 in single precision), and for a `chunk` below 1.
    `UnsupportedPrimitiveError` for a primitive that `jax.jvp` cannot differentiate.

    Source: STDE (Shi et al., 2024), equation of the k-th order pushforward; the collapse: Dangel et
    al., 2025.
    """
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk must be at least 1; got {chunk}.")
    families = [family_of(each) for each in jets]
    pairs = list(zip(jets, families, strict=True))
    sizes = [_chunk_size(u, args, *pair, chunk) for pair in pairs]
    together = [pair for pair, size in zip(pairs, sizes, strict=True) if not size]
    curves = [each for each, _ in together]
    pushed = at_a_point(args, curves, functools.partial(_push_together, u, args, together))
    rest = iter(pushed.derivatives)
    return Pushed(
        pushed.value,
        [
            _push_in_chunks(u, args, *pair, size) if size else next(rest)
            for pair, size in zip(pairs, sizes, strict=True)
        ],
    )


def _chunk_size(
    u: Callable[..., PyTree],
    args: tuple[PyTree, ...],
    jets: Jets,
    family: Family,
    chunk: int | None,
) -> int | None:
    """How many jets of a family to push together; None for all. `jax.make_jaxpr` of `whole` shows
    a kernel how much memory all of them need.
    """
    size = jets.size
    if not jets.top_only:
        return None
    if chunk is not None:
        return chunk if chunk < size else None
    leaves, structure = jax.tree.flatten(args)
    inexact = [p for p, leaf in enumerate(leaves) if is_inexact(leaf)]

    def whole(*arrays: Array) -> PyTree:
        point = jax.tree.unflatten(structure, filled(leaves, inexact, arrays))
        return _push_together(u, point, [(jets, family)]).derivatives

    point = [jnp.asarray(leaves[position]) for position in inexact]
    # None without a kernel that knows how many directions there is room for
    return call("chunks", lambda *_, **__: None, whole, point, directions=size)


def at_a_point(
    args: tuple[PyTree, ...], curves: Sequence[Jets | Family], compute: Callable[[], Any]
) -> Any:
    """`compute()`, what is pushed along curves through a point. It is one call, so that a kernel
    can take points in parts if `jax.vmap` maps over many.
    """
    inexact = [leaf for leaf in jax.tree.leaves(args) if is_inexact(leaf)]
    if not any(isinstance(leaf, Tracer) for leaf in inexact):
        return compute()
    sizes = tuple((each.order, each.size) for each in curves)
    return call("parts", lambda **_: compute(), curves=sizes, policy=own_policy)


def _push_in_chunks(
    u: Callable[..., PyTree], args: tuple[PyTree, ...], jets: Jets, family: Family, size: int
) -> tuple[PyTree, ...]:
    places, jets = places_read(jets), by_weights(jets, args)

    def top(tangents: PyTree, weights: Array | None) -> PyTree:
        part = dataclasses.replace(jets, tangents=tangents, weights=weights)  # pyright: ignore
        pushed = _push_together(u, args, [(part, family_of(part))])
        return [pushed.derivatives[0][at] for at in places_read(part) if at is not None]

    # rows of directions in every array: notes about them do not hold for a part
    rows = jax.tree.map(without_notes, jets.tangents, is_leaf=lambda n: isinstance(n, Full))
    tops = iter(in_chunks(top, rows, jets.weights, jets.size, size))
    return tuple(None if place is None else next(tops) for place in places)


def _push_together(
    u: Callable[..., PyTree], args: tuple[PyTree, ...], jets: Sequence[tuple[Jets, Family]]
) -> Pushed:
    """All jets in one pass."""
    families = tuple(family for _, family in jets)
    leaves = jax.tree.leaves(args)
    series = [flat_tangents(*each, args, leaves) for each in jets]
    structure, values, _ = push_series(u, args, families, series)

    def derivative(index: int, place: int | None) -> PyTree:
        if place is None:
            return None
        return structure.unflatten([derivative_of(v, families, index, place) for v in values])

    return Pushed(
        structure.unflatten(map(_primal_array, values)),
        [
            tuple(derivative(index, place) for place in places_read(each))
            for index, (each, _) in enumerate(jets)
        ],
    )


@short_tracebacks
def jet(
    fun: Callable[..., PyTree], primals: Sequence[PyTree], series: Sequence[Any]
) -> tuple[PyTree, PyTree]:
    """Pushes one jet through a function: like `jax.experimental.jet.jet`, but for every primitive
    and for pytrees.

    **Arguments:**

    - `fun`: a function of `len(primals)` arguments.
    - `primals`: the point x.
    - `series`: for each primal the list of its K derivatives: `series[i][k - 1]` is the k-th
        derivative of $x_i(t)$ at 0 (derivatives, not Taylor coefficients). For a primal that is a
        pytree, a list of K such pytrees, or the pytree with a list of K arrays at each leaf.

    **Returns:**

    `(primals_out, series_out)`: fun's output, and the same structure with a list of the K
    derivatives at each leaf.

    **Raises:**

    `ValueError` if lengths, structures or shapes do not agree, and for orders whose factorials are
    out of the range of a primal's type; `TypeError` for integer primals, and for terms that a
    primal's type cannot hold.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        y, (dy, d2y, d3y) = do.taylor.jet(jnp.sin, (0.0,), ([1.0, 0.0, 0.0],))  # 0, [1, 0, -1]
        ```
    """
    if len(primals) != len(series):
        raise ValueError(
            f"jet needs one series for each primal; got {len(primals)} primals and "
            f"{len(series)} series."
        )
    primals = tuple(primals)
    per_leaf = [
        terms for i in range(len(primals)) for terms in leaf_series(primals[i], series[i], i)
    ]
    orders = {len(terms) for terms in per_leaf}
    if len(orders) != 1 or 0 in orders:
        raise ValueError(
            f"jet needs series of one length K >= 1 for all primals; got lengths {sorted(orders)}."
        )
    (order,) = orders
    family = Family(weights=None, algebra=Algebra.curve(order), size=None)
    leaves = jax.tree.leaves(primals)
    coefficients = [
        tuple(
            scale(tangent_of(term, (), leaf, "series"), 1 / math.factorial(k))
            for k, term in enumerate(terms, start=1)
        )
        for leaf, terms in zip(leaves, per_leaf, strict=True)
    ]
    structure, values, _ = push_series(fun, primals, (family,), [coefficients])
    terms = [[derivative_of(v, (family,), 0, place) for place in family.places] for v in values]
    return structure.unflatten(map(_primal_array, values)), structure.unflatten(terms)


def leaf_series(primal: PyTree, series: Any, position: int) -> list[Sequence[Any]]:
    """The K terms of each leaf of a primal."""
    structure = jax.tree.structure(primal)
    if jax.tree_util.treedef_is_leaf(structure):
        return [series]
    if (
        isinstance(series, list | tuple)
        and series
        and all(jax.tree.structure(term) == structure for term in series)
    ):
        return list(zip(*(jax.tree.leaves(term) for term in series), strict=True))
    try:
        return structure.flatten_up_to(series)
    except ValueError as error:
        raise ValueError(
            f"series[{position}] must be a list of pytrees like primals[{position}], or that "
            f"pytree with a list at each leaf; got {jax.tree.structure(series)} for {structure}."
        ) from error


@full_precision()
def push_series(
    u: Callable[..., PyTree],
    args: tuple[PyTree, ...],
    families: Families,
    series: Sequence[Sequence[Series]],
) -> tuple[Any, list[Value], Families]:
    """Traces u in its moving leaves and interprets it: the structure of u(*args), its leaves as
    values with their series, and the families of these, in which directions may be replaced.
    """
    leaves, structure = jax.tree.flatten(args)
    along = list(zip(*series, strict=True)) or [()] * len(leaves)
    moving = [position for position, each in enumerate(along) if not all(map(all_zero, each))]
    for position in moving:
        leaves[position] = as_differentiable(leaves[position])

    def traced(*arrays: Array) -> PyTree:
        return u(*jax.tree.unflatten(structure, filled(leaves, moving, arrays)))

    for family in families:
        if family.algebra.degree > _ALWAYS_IN_RANGE:
            _check_range(family.algebra.degree, [type_of(leaves[p]) for p in moving])
    closed, shape = jax.make_jaxpr(traced, return_shape=True)(*(leaves[p] for p in moving))
    bundles = [bundle(leaves[p], along[p]) for p in moving]
    operands = [laid_out(families, each) for each in bundles]
    return jax.tree.structure(shape), *interpret_replacing(closed, families, operands)


_ALWAYS_IN_RANGE = 7
"""The highest order that half precision can hold."""


def _check_range(order: int, kinds: Sequence[np.dtype]) -> None:
    """Checks that factorials are in range: with 1/K! = 0 derivatives would be 0, or NaN with an
    infinite K!.
    """
    for kind in kinds:
        most = _highest_order(kind)
        if order > most:
            raise ValueError(
                f"derivatives at a point of type {kind} are taken up to order {most}, beyond which "
                f"factorials are out of its range; got order {order}: give the point in a wider "
                "type, or take fewer derivatives."
            )


@functools.cache
def _highest_order(kind: np.dtype) -> int:
    """The largest K for which K! and 1/K! are numbers of a type, the latter with room for smaller
    numbers with all digits. XLA has subnormal numbers only in half precision.
    """
    limits = jnp.finfo(kind)
    least = limits.smallest_subnormal if kind == jnp.float16 else limits.tiny
    most, order = min(float(limits.max), float(limits.eps) / float(least)), 0
    while math.factorial(order + 1) < most:
        order += 1
    return order


def _primal_array(value: Value) -> Array:
    return jnp.asarray(primal_of(value))


def derivative_of(value: Value, families: Families, index: int, place: int) -> Array:
    """∂^γ with respect to t at 0: γ! times the Taylor coefficient, of a family before directions
    were replaced. The top is the last place then as well.
    """
    family, primal = families[index], _primal_array(value)
    if jnp.iscomplexobj(family.weights) and is_moving(value):
        check_analytic(family.weights, [primal])
    factorial = float(family.algebra.factorial(place))  # an integer may not fit
    from_end = place - len(family.algebra)
    term = scale(series_of(value, families, index)[from_end], factorial)
    return family.instantiate(term, place, primal).array
