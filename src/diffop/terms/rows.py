"""The rows of a plan's table: the terms of an operator as formulas."""

import math
from typing import NamedTuple, final

from ..jets.arranged_terms import ArrangedTerms, HessianTerms
from ..jets.by_coordinates import MOST
from ..jets.field_terms import FactoredForm, LinearForm, MatrixForm
from ..jets.index_terms import INDICES, CoordinateTerms, Monomial, PowerSum
from ..jets.table import PlanRow
from ..jets.terms import Factor, Factors, ProbedTerms
from ..notation import dims_mark, variable_symbol
from ..probes import AbstractDenseProbe, AbstractProbe, Shifted
from ..probes.base import target_of
from ..schemes.expansion import Alpha
from ..schemes.names import PlanKind, scheme_of
from ..schemes.scheme import Readout, Scheme
from .inner import InnerFunction
from .nonlocal_terms import Nonlocal
from .products import is_drawn, is_linear, order_of

_LETTERS = "ijklmnopqrst"


def describe_derivative(name: str, alpha: Alpha, scheme: Scheme) -> PlanRow:
    """The row of one mixed derivative with respect to coordinates."""
    readout = scheme.readouts[alpha]
    order = sum(order for _, order in alpha)
    directions = ", ".join("e" + variable_symbol(v, 1).lstrip("∂") for v, _ in alpha)
    jets, weights = _jets_and_weights(readout)
    return PlanRow(name, order, "1", jets, directions, weights, "exact")


def _jets_and_weights(readout: Readout) -> tuple[str, str]:
    """The number of jets from which a derivative is read, and their coefficients."""
    weights = dict.fromkeys(str(coefficient) for coefficient, _, _ in readout.terms)
    return str(len({jet for _, jet, _ in readout.terms})), ", ".join(weights)


def describe(
    name: str, factors: Factors, draws: int | None, probe: AbstractProbe | None, kind: PlanKind
) -> tuple[PlanRow, Scheme | None]:
    """The row of one product of factors, and the scheme of its terms' pattern if it needs one."""
    order = order_of(factors)
    if not factors:
        return PlanRow(name, 0, "1", "0", "", "", "primal"), None
    if isinstance(arranged := factors[0][0], ArrangedTerms):
        number, directions, _ = _formulas(arranged)
        return PlanRow(name, order, number, "1", directions, "1", "exact"), None
    if isinstance(factors[0][0], InnerFunction):
        return PlanRow(name, 0, "1", "0", "", "", "a function of u, exact"), None
    if isinstance(whole := factors[0][0], Nonlocal):
        method = whole.by if draws is None or not whole.drawn else f"{draws} draws"
        return PlanRow(name, order, "∞", "0", "points elsewhere", "", method), None
    if not is_drawn(factors):
        return PlanRow(name, order, "d", "0", "reverse mode", "", "reverse mode"), None
    single = all(terms.single for terms, _ in factors)
    exact = draws is None or single or is_linear(factors)
    method = "exact" if exact else f"{draws} draws, exact if terms ≤ {draws}"
    directions = ", ".join(_formulas(terms).directions for terms, _ in factors)
    row = PlanRow(name, order, _count(factors), "1", directions, "1", method)
    exponents = tuple(p for terms, power in factors for p in terms.exponents * power)
    if not exact and isinstance(probe, AbstractDenseProbe | Shifted):
        return _dense_row(row, factors, probe), None
    if len(exponents) == 1:
        return row, None
    if exact and kind == "auto" and order > 2 and all(terms.constant for terms, _ in factors):
        row = row._replace(method=f"exact, up to {MOST} coefficients as one polynomial")
    if math.prod(power + 1 for power in exponents) > 2 ** len(_LETTERS):
        return row._replace(jets="…", weights="…"), None  # a scheme that nobody would read
    alpha: Alpha = tuple(zip(_LETTERS, exponents, strict=False))
    scheme = scheme_of((alpha,), kind)
    jets, weights = _jets_and_weights(scheme.readouts[alpha])
    return row._replace(jets=jets, weights=weights), scheme


def _dense_row(row: PlanRow, factors: Factors, probe: AbstractDenseProbe | Shifted) -> PlanRow:
    """The row of dense draws of a product of factors."""
    if isinstance(probe, Shifted):
        return row._replace(jets="2", directions="Rz, z", weights="1, −λ")
    terms, target = factors[0][0], target_of(factors)
    assert isinstance(terms, ProbedTerms) and target is not None  # the probe supports it
    jets, weights = probe.jets_per_draw(target), "1 over the probe's moment"
    directions = f"{probe.name} {_formulas(terms).probed}"
    return row._replace(jets=str(jets), directions=directions, weights=weights)


@final
class _Formulas(NamedTuple):
    """The number of terms as a formula in d, their directions, and those of one jet of a dense
    probe, in the isotropic vector v.
    """

    number: str = "d"
    directions: str = "eᵢ"
    probed: str = "v"


def _formulas(factor: Factor) -> _Formulas:
    found = _Formulas()
    match factor:
        case PowerSum() if factor.dims is not None:
            found = _Formulas(directions=f"eᵢ, i ∈ {dims_mark(factor.dims)}")
        case Monomial():
            places = [variable_symbol(place, 1) for place, _ in factor.alpha]
            found = _Formulas(directions=", ".join("e" + each.lstrip("∂") for each in places))
        case CoordinateTerms():
            letters = [f"e{each}" for each, _ in zip(INDICES, factor.exponents, strict=False)]
            found = _Formulas(directions=", ".join(letters))
        case LinearForm():
            found = _Formulas(directions="b")
        case HessianTerms():
            found = _Formulas("d(d+1)/2", "eᵢ, eⱼ")
        case MatrixForm():
            found = _Formulas("d", "eᵢ" if factor.is_diagonal else "eᵢ, Ceᵢ", "v, Cv")
        case FactoredForm(weights=None):
            found = _Formulas("columns of σ", "σeᵢ", "σv")
        case FactoredForm():
            found = _Formulas("r", "fᵣ", "Fv, F(sv)")
    return found if factor.number is None else found._replace(number=str(factor.number))


def _count(factors: Factors) -> str:
    counts = []
    for terms, power in factors:
        symbol = _formulas(terms).number
        if symbol == "1":
            continue
        if power == 1:
            counts.append(symbol)
        elif power == 2 and symbol == "d":
            counts.append("d(d+1)/2")
        else:
            counts.append(f"C({symbol}+{power - 1}, {power})")
    return " · ".join(counts) or "1"
