"""The nested scheme: one parameter for each variable, so mixed derivatives are outputs themselves.

The jet with v_{e_j} = e_{variable j} has ∂^γ u as its output of exponents γ, and nothing else is
mixed in. Everything that divides a wanted derivative comes with it. Variables that share no mixed
derivative have separate jets; those with one variable only are curves, pushed side by side.
"""

from collections.abc import Sequence

from ..algebra.algebra import units
from ..connected import connected
from .expansion import Alpha, word_of
from .scheme import Jet, Readout, Scheme


def nested(wanted: Sequence[Alpha]) -> Scheme:
    """The scheme of a set of mixed derivatives."""
    readouts: dict[Alpha, Readout] = {}
    names = [[variable for variable, _ in alpha] for alpha in wanted]
    for group in connected([set(each) for each in names]):
        variables = list(dict.fromkeys(name for member in group for name in names[member]))
        jet = Jet(dict(zip(units(len(variables)), variables, strict=True)))
        for alpha in (wanted[member] for member in group):
            orders = dict(alpha)
            readouts[alpha] = jet[tuple(orders.get(variable, 0) for variable in variables)]
    return Scheme({word_of(alpha): readouts[alpha] for alpha in wanted}, "nested")
