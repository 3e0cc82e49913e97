"""Jets of jets: one parameter for each variable, and mixed derivatives by themselves.

The jet with v_{e_j} = e_{variable j} has ∂^γ u as its output of exponents γ, nothing else is mixed
in, and whatever divides a derivative that is wanted comes with it. Variables that meet in no mixed
derivative have jets of their own: those with one variable only are curves, pushed side by side.
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
