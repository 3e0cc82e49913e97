"""Jets of jets: one parameter for each variable, and mixed derivatives by themselves.

The jet with v_{e_j} = e_{variable j} has ∂^γ u as its output of exponents γ, nothing else is mixed
in, and whatever divides a derivative that is wanted comes with it. Variables that meet in no mixed
derivative have jets of their own: those with one variable only are curves, pushed side by side.
"""

from collections.abc import Hashable, Sequence

from ..expansion import Alpha, units, word_of
from ..scheme import Jet, Readout, Scheme


def nested(wanted: Sequence[Alpha]) -> Scheme:
    """The scheme of a set of mixed derivatives."""
    readouts: dict[Alpha, Readout] = {}
    for variables in _connected(wanted):
        jet = Jet(dict(zip(units(len(variables)), variables, strict=True)))
        for alpha in wanted:
            if alpha[0][0] in variables:
                orders = dict(alpha)
                readouts[alpha] = jet[tuple(orders.get(variable, 0) for variable in variables)]
    return Scheme({word_of(alpha): readouts[alpha] for alpha in wanted}, "nested")


def _connected(wanted: Sequence[Alpha]) -> list[list[Hashable]]:
    """The variables, those together that meet in a mixed derivative."""
    groups: list[list[Hashable]] = []
    for alpha in wanted:
        variables = [variable for variable, _ in alpha]
        touched = [group for group in groups if any(v in group for v in variables)]
        groups = [group for group in groups if group not in touched]
        joined = [v for group in touched for v in group]
        groups.append([*joined, *(v for v in variables if v not in joined)])
    return groups
