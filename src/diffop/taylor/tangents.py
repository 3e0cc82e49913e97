"""What is pushed: jets and their tangents, in the shape of a function's arguments."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..array_types import CollapsingWeights
from .binding import at_run_time
from .bundle import Family, Joined
from .coefficients import ByDirection, ByEntry, Coefficient, Full, Series, Zero, scale
from .sparsity import by_entry
from .truncation import Truncation


@final
class Jets(eqx.Module):
    """n jets through one point, pushed together: curves $x(t) = x + Σ_k v_k t^k / k!$, or jets with
    several parameters, $x(t) = x + Σ_γ v_γ t^γ / γ!$.

    **Arguments:**

    - `tangents`: for each order k = 1 … K (each monomial of the truncation) the tangents $v_k$: a
        tuple with one entry for each argument of the function, like that argument but with a
        leading axis of n directions on each leaf, or with a structured coefficient in a leaf's
        place ([`diffop.taylor.ByDirection`][], [`diffop.taylor.ByEntry`][]); `None` for an argument
        that does not move at this order.
    - `weights`: order K (each maximal monomial) is returned as the sums $Σ_r w_r$ (order K of jet
        r): shape `(n,)` for one sum, `(m, n)` for m of them. The engine carries the sums alone (the
        collapse), so order K costs as much as one more primal. `None` returns order K jet by jet.
    - `top_only`: order K (the maximal monomials) is all that is wanted. Curves of order two, and
        pairs (s, t) of which s t is read, may then be replaced by fewer ones with the same second
        moment on the way, so the orders below are returned as `None`.
    - `truncation`: the monomials of jets with several parameters; by default the orders 1 … K of
        curves.
    - `joined`: triples (place, into, number): the derivative at the place of one maximal monomial,
        times a number, is added to that of another, and returned with it. The engine carries the
        sum alone; `None` is returned in its own place.

    **Raises:** `ValueError` for no tangents at all, or not as many as the truncation has monomials.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        def u(x):
            return jnp.sum(x**3)

        jets = do.taylor.Jets(tangents=((jnp.eye(3),), (None,)), weights=jnp.ones(3))
        value, [(gradient, laplacian)] = do.taylor.push(u, (jnp.ones(3),), [jets])

        both = do.taylor.Truncation.closure([(1, 2)])  # ∂_s ∂_t² along x + s e_0 + t e_1
        e0, e1 = jnp.eye(3)[:1], jnp.eye(3)[1:2]
        still = (None,)
        mixed = do.taylor.Jets(((e1,), (e0,), still, still, still), truncation=both)
        ```
    """

    tangents: tuple[tuple[PyTree, ...], ...]
    weights: CollapsingWeights | None = None
    top_only: bool = eqx.field(static=True, default=False)
    truncation: Truncation = eqx.field(static=True, default=None)  # pyright: ignore
    joined: tuple[tuple[int, int, float], ...] = eqx.field(static=True, default=())

    def __post_init__(self) -> None:
        if self.truncation is None:
            self.truncation = Truncation.curve(len(self.tangents))

    def __check_init__(self) -> None:
        if not self.tangents:
            raise ValueError("Jets need at least one order of tangents; got an empty tuple.")
        if len(self.tangents) != len(self.truncation):
            raise ValueError(
                f"Jets need tangents for each of the {len(self.truncation)} monomials of their "
                f"truncation; got {len(self.tangents)}."
            )
        own = {place for place, *_ in self.joined}
        tops = self.truncation.tops
        if len(own) < len(self.joined) or any(
            not {place, into} <= tops or into in own for place, into, _ in self.joined
        ):
            raise ValueError(
                "Jets join each maximal monomial with one other, which is not joined itself; the "
                f"maximal ones are at {sorted(tops)}, got {self.joined}."
            )

    @property
    def order(self) -> int:
        """The largest total order K."""
        return self.truncation.degree

    @property
    def size(self) -> int:
        """The number n of jets."""
        for leaf in jax.tree.leaves(self.tangents, is_leaf=_is_tangent):
            if isinstance(leaf, ByEntry):
                return leaf.size
            if isinstance(leaf, ByDirection):
                return leaf.positions.shape[0]
            if leaf is not None:
                return (leaf.array if isinstance(leaf, Full) else leaf).shape[0]
        raise ValueError("Jets need at least one tangent that is not None.")


_SECOND = (Truncation.curve(2), Truncation.pair())


def family_of(jets: Jets) -> Family:
    """How their coefficients are carried."""
    replaceable = jets.top_only and jets.truncation in _SECOND and jets.weights is not None
    factorial = jets.truncation.factorial
    joined = tuple(
        Joined(place, into, number * (factorial(place) / factorial(into)))
        for place, into, number in jets.joined
    )
    return Family(jets.weights, jets.truncation, jets.size, replaceable=replaceable, joined=joined)


def is_inexact(leaf: Any) -> bool:
    """Whether a leaf of an argument is an array that can move."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact)


def as_differentiable(leaf: Any) -> Array:
    """A leaf of an argument that moves, as an array of a floating or complex type."""
    array = jnp.asarray(leaf)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        raise TypeError(
            f"a point to differentiate at must be floating; got {array.dtype} of shape "
            f"{array.shape}. Convert it, for example with x.astype(float)."
        )
    return array


def flat_tangents(
    jets: Jets, family: Family, args: tuple[PyTree, ...], leaves: Sequence[Any]
) -> list[Series]:
    """For each leaf of the arguments its Taylor coefficients v_k / k!, the top one collapsed."""
    size = family.size
    assert size is not None
    if jets.weights is not None and jets.weights.shape[-1] != size:
        raise ValueError(
            f"weights must have one entry for each of the {size} jets; "
            f"got shape {jets.weights.shape}."
        )
    columns = []
    for place, tangents in enumerate(jets.tangents):
        if len(tangents) != len(args):
            raise ValueError(
                f"tangents of order {_order(jets, place)} must have one entry for each of the "
                f"{len(args)} arguments (None where nothing moves); got {len(tangents)}."
            )
        share, terms = 1 / family.truncation.factorial(place), []
        for leaf, tangent in zip(leaves, chain(*map(entries, args, tangents)), strict=True):
            term = scale(tangent_of(tangent, (size,), leaf, "tangents"), share)
            is_top = place in family.truncation.tops
            terms.append(family.collapse(term, leaf) if is_top else term)
        columns.append(terms)
    return [tuple(series) for series in zip(*columns, strict=True)]


def _order(jets: Jets, place: int) -> Any:
    monomial = jets.truncation.monomials[place]
    return monomial[0] if len(monomial) == 1 else monomial


def entries(arg: PyTree, tangent: PyTree) -> list[Any]:
    """The tangent of each leaf of an argument, None where it does not move."""
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
    """A leaf's tangent as a coefficient, in the leaf's type."""
    if tangent is None:
        return Zero()
    if isinstance(tangent, ByDirection):
        return tangent.with_values(at_run_time(tangent.values))
    if isinstance(tangent, ByEntry) and not (tangent.is_ones or tangent.numbers.full):
        return tangent.with_values(by_entry.zero_elsewhere(tangent, tangent.values.dtype))
    if isinstance(tangent, Coefficient):
        return tangent
    array = jnp.asarray(tangent, dtype=as_differentiable(leaf).dtype)
    expected = (*lead_shape, *jnp.shape(leaf))
    if array.shape != expected:
        raise ValueError(f"{name} must have shape {expected} here; got {array.shape}.")
    return Full(at_run_time(array))
