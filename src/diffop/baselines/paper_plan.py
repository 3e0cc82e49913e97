"""Curves with several tangents: the scheme of the paper, searched for and corrected.

Give variable t the tangent of order j_t. The output of order k = Σ_t q_t j_t then holds Π_t
∂_t^{q_t}, and one other derivative for every other solution p of Σ_t p_t j_t = k. If there is no
other solution, the output is clean; large and nearly coprime j achieve this at the price of a high
order. Otherwise the contaminants are computed from further jets, if they have fewer variables:
powers of one variable from curves along its axis, others in the same way again.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ..schemes.expansion import Alpha, alpha_text, bell, word_of
from ..schemes.scheme import Jet, Readout, Scheme

HIGHEST = 33
"""The highest order searched: 33! is the last factorial below the largest number of float32."""
_TRIED = 8
"""How many jets are compared for a wanted derivative."""


@functools.lru_cache(maxsize=4096)
def paper(wanted: tuple[Alpha, ...]) -> Scheme:
    """The paper's scheme of mixed derivatives, as a `plan`: curves with several tangents, searched
    for up to order 33, and corrected if the output holds other derivatives than the wanted one.

    It is correct ([`diffop.schemes.Scheme`][] verifies it) and never the cheapest: jets with a
    parameter for each variable need fewer coefficients.

    **Arguments:**

    - `wanted`: mixed derivatives, each as pairs (variable, order).

    **Returns:** a [`diffop.schemes.Scheme`][].

    **Raises:** `ValueError` if there is no such jet.

    Source: STDE, appendix "Evaluating arbitrary mixed partial derivatives".

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        L = do.Mixed({0: 2, 1: 1})
        L.exact(lambda x: x[0] ** 2 * x[1], plan=do.baselines.paper)(jnp.ones(2))  # 2.0
        ```
    """
    simple: dict[Jet, int] = {}
    for alpha in wanted:
        if len(alpha) == 1:
            _require(simple, alpha)
    jets: dict[Jet, int] | None = simple
    mixed = [alpha for alpha in wanted if len(alpha) > 1]
    for alpha in sorted(mixed, key=lambda a: -sum(order for _, order in a)):
        jets = None if jets is None else _with(jets, alpha, _TRIED)
    scheme = None if jets is None else _scheme(jets, wanted)
    if scheme is None:
        raise ValueError(
            f"no curve with several tangents up to order {HIGHEST} has all of "
            f"{', '.join(map(alpha_text, wanted))} without contaminants that no simple curve "
            'can correct; use plan="nested" or leave `plan` out.'
        )
    return scheme


def _with(jets: dict[Jet, int], alpha: Alpha, tried: int) -> dict[Jet, int] | None:
    """The jets and those that a derivative needs as well: the cheapest of `tried` patterns."""
    if alpha in _peeled(jets):
        return jets
    extended = [_extended(jets, alpha, each) for each in _patterns(alpha)[:tried]]
    schemes = [(each, _scheme(each, [alpha])) for each in extended if each is not None]
    possible = [(_cost(scheme), each) for each, scheme in schemes if scheme is not None]
    return min(possible, key=lambda pair: pair[0])[1] if possible else None


def _cost(scheme: Scheme) -> tuple[int, Fraction]:
    return sum(map(len, scheme.jets.values())), scheme.amplification


def _scheme(jets: Mapping[Jet, int], wanted: Sequence[Alpha]) -> Scheme | None:
    known = _peeled(jets)
    if any(alpha not in known for alpha in wanted):
        return None
    return Scheme({word_of(alpha): known[alpha] for alpha in wanted}, "paper")


def _require(jets: dict[Jet, int], alpha: Alpha) -> None:
    """The curve along an axis, to the order of a power of its variable."""
    ((variable, order),) = alpha
    curve = Jet({1: variable})
    jets[curve] = max(order, jets.get(curve, 0))


def _extended(
    jets: Mapping[Jet, int], alpha: Alpha, pattern: tuple[int, ...]
) -> dict[Jet, int] | None:
    """The jets with one more for a mixed derivative, and the jets that its contaminants need."""
    jet = Jet({j: variable for j, (variable, _) in zip(pattern, alpha, strict=True)})
    order = _order(alpha, pattern)
    extended = {**jets, jet: max(order, jets.get(jet, 0))}
    for contaminant, _ in bell(jet.tangents, (order,)):
        if contaminant == alpha or contaminant in _peeled(extended):
            continue
        if len(contaminant) == 1:
            _require(extended, contaminant)
        else:
            further = _with(extended, contaminant, 1)
            if further is None:
                return None
            extended = further
    return extended


def _order(alpha: Alpha, pattern: Sequence[int]) -> int:
    return sum(j * q for j, (_, q) in zip(pattern, alpha, strict=True))


def _patterns(alpha: Alpha) -> list[tuple[int, ...]]:
    """The possible orders of the variables' tangents, by the order of the output: those that can be
    corrected by powers of one variable, and by mixed derivatives if these are not enough.
    """
    return _correctable(alpha, 1) or _correctable(alpha, len(alpha) - 1)


def _correctable(alpha: Alpha, variables: int) -> list[tuple[int, ...]]:
    """Orders whose contaminants have at most `variables` variables, up to the first without any."""
    result: list[tuple[int, ...]] = []
    for pattern in _by_order(alpha):
        others = list(_contaminants(alpha, pattern))
        if all(sum(p > 0 for p in powers) <= variables for powers in others):
            result.append(pattern)
            if not others:
                break
    return result[: _TRIED - 1] + result[-1:]


def _by_order(alpha: Alpha) -> Iterator[tuple[int, ...]]:
    """Different orders for the variables, those with a low output first. Variables with the same
    power are interchangeable, so their orders ascend.
    """
    powers = [q for _, q in alpha]
    alike = [(s, t) for t in range(len(powers)) for s in range(t) if powers[s] == powers[t]]
    for total in range(sum(powers), HIGHEST + 1):
        for pattern in _solutions(powers, total, 1):
            distinct = len(set(pattern)) == len(pattern)
            if distinct and all(pattern[s] < pattern[t] for s, t in alike):
                yield pattern


def _contaminants(alpha: Alpha, pattern: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The other derivatives in the output."""
    own = tuple(q for _, q in alpha)
    return (p for p in _solutions(pattern, _order(alpha, pattern), 0) if p != own)


def _solutions(steps: Sequence[int], total: int, least: int) -> Iterator[tuple[int, ...]]:
    """All p with Σ p_t steps_t = total and p_t ≥ least."""
    if len(steps) == 1:
        if total % steps[0] == 0 and total // steps[0] >= least:
            yield (total // steps[0],)
        return
    for first in range(least, total // steps[0] + 1):
        for rest in _solutions(steps[1:], total - first * steps[0], least):
            yield (first, *rest)


def _peeled(jets: Mapping[Jet, int]) -> dict[Alpha, Readout]:
    """What can be read: outputs that hold one derivative, and then those with one unknown."""
    outputs = [(jet, (k,)) for jet, order in jets.items() for k in range(1, order + 1)]
    known: dict[Alpha, Readout] = {}
    while True:
        found = dict(_newly_known(outputs, known))
        if not found:
            return known
        known |= found


def _newly_known(
    outputs: Sequence[tuple[Jet, tuple[int]]], known: Mapping[Alpha, Readout]
) -> Iterator[tuple[Alpha, Readout]]:
    seen: set[Alpha] = set()
    for jet, order in outputs:
        content = bell(jet.tangents, order)
        unknown = [(alpha, number) for alpha, number in content if alpha not in known]
        if len(unknown) != 1 or unknown[0][0] in seen:
            continue
        (alpha, number), rest = unknown[0], jet[order]
        for other, times in content:
            if other != alpha:
                rest = rest - times * known[other]
        seen.add(alpha)
        yield alpha, Fraction(1, number) * rest
