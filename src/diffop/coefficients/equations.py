"""Equations between coordinates, and how they are solved.

A slice says i = start + stride · o, a gather i = table[o], a reshape equates row-major numbers, a
convolution says i = stride · o + k − pad, and a product says that two entries are one. Equations
are solved one by one, the easiest first. Each solution expresses an axis by others, or keeps the
places that satisfy the equation:

- *match*: one axis on each side. The places that agree are known, and the axes become one.
- *digits*: all steps are multiples of some q, except those that add up to less. Both parts agree.
- *substitution*: an axis with step one, alone on its side, is the sum of the others. Values along
    it are looked up there; places outside are masked.
- *fusion*: several axes become one with a table, which is then a match.
- *comparison*: a mask, if numbers are known only at run time.

If the solution would be too large, `Unstructured` is raised, and the coefficient becomes an array.
"""

import math

import numpy as np

from .coordinate import Coordinate, along, at, stepped
from .index import Index, Range, Table, Traced, known, places_of, sum_of_indices, taken
from .tied_product import TiedProduct, Unstructured


def solve_equations(product: TiedProduct) -> None:
    """Solves all equations of a product."""
    while product.equations and not product.is_empty:
        product.equations = [_simple(product, *each) for each in product.equations]
        easiest = min(product.equations, key=_difficulty)
        product.equations.remove(easiest)
        _solve_one(product, *easiest)


def _difficulty(equation: tuple[Coordinate, Coordinate]) -> tuple[int, bool]:
    left, right = equation
    return len(left.terms) + len(right.terms), left.is_traced or right.is_traced


def _simple(
    product: TiedProduct, left: Coordinate, right: Coordinate
) -> tuple[Coordinate, Coordinate]:
    """The same equation with all numbers on the left, and each axis on one side: only an axis with
    a number that is known at run time may be on both.
    """
    left, right = product.normal(left), product.normal(right)
    mine, other = dict(left.terms), dict(right.terms)
    for name in set(mine) & set(other):
        first, second = mine[name], other.pop(name)
        del mine[name]
        if first == second:
            continue
        if first.is_traced or second.is_traced:
            mine[name], other[name] = first, second
            continue
        mine[name] = sum_of_indices(first, second.scaled(-1, 0), product.sizes[name])
    total = product.normal(Coordinate(left.const - right.const, mine))
    return total, Coordinate(0, other)


def _solve_one(product: TiedProduct, left: Coordinate, right: Coordinate) -> None:
    """Solves a simple equation in the first way that applies."""
    names, traced = {**left.terms, **right.terms}, left.is_traced or right.is_traced
    apart = len(names) == len(left.terms) + len(right.terms) > 1
    if not names:
        product.empty = product.empty or left.const != 0
    elif not traced and len(names) == 1:
        _keep(product, left.minus(right))
    elif not traced and len(names) == 2:
        _match(product, left.minus(right))
    elif not (apart and any(way(product, left.minus(right)) for way in _WAYS)):
        (_compare if traced else _fuse)(product, left, right)


def _keep(product: TiedProduct, total: Coordinate) -> None:
    """Keeps the places along one axis where a known index plus a number is 0."""
    ((name, index),) = total.terms.items()
    if isinstance(index, Range):
        place, rest = divmod(-total.const, index.step)
        if rest or not 0 <= place < product.sizes[name]:
            product.empty = True
        else:
            product.take(name, Range(place), 1)
        return
    places = np.flatnonzero(index.numbers(product.sizes[name]) == -total.const)
    product.empty = product.empty or places.size == 0
    if places.size:
        product.take(name, known(places), places.size)


def _match(product: TiedProduct, total: Coordinate) -> None:
    """Makes one axis of two whose known indices add up to 0, at the places where they do."""
    (x, index), (y, negative) = total.terms.items()
    of_x, of_y, size = _agreeing(
        (index.scaled(1, total.const), product.sizes[x]), (negative.scaled(-1, 0), product.sizes[y])
    )
    if size == 0:
        product.empty = True
        return
    product.take(x, of_x, size)
    product.take(y, of_y, size)
    product.unify(y, x)


def _agreeing(x: tuple[Index, int], y: tuple[Index, int]) -> tuple[Index, Index, int]:
    """The places of two known indices with sizes at which their numbers agree: those of the first,
    those of the second, and how many pairs there are.
    """
    (ix, nx), (iy, ny) = x, y
    if isinstance(ix, Range) and x == y:
        return Range(), Range(), nx
    first, second = ix.numbers(nx), iy.numbers(ny)
    # one index is inverted at the numbers of the other, without a table if it is a range
    ways = [(first, iy, ny, False), (second, ix, nx, True)]
    for numbers, index, size, flip in ways[::-1] if isinstance(ix, Range) else ways:
        assert not isinstance(index, Traced)
        places = places_of(numbers, index, size)
        if places is not None:
            there = np.flatnonzero(places >= 0)
            own, other = known(there), known(places[there])
            return (other, own, there.size) if flip else (own, other, there.size)
    # both repeat numbers: each place of the first meets a stretch of the sorted second
    order = np.argsort(second, kind="stable")
    starts = np.searchsorted(second[order], first, "left")
    counts = np.searchsorted(second[order], first, "right") - starts
    if counts.sum() > 4 * (nx + ny):
        raise Unstructured
    of_x = np.repeat(np.arange(nx), counts)
    rank = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return known(of_x), known(order[np.repeat(starts, counts) + rank]), int(counts.sum())


def _by_digits(product: TiedProduct, total: Coordinate) -> bool:
    """Σ high + Σ low + const = 0, where steps of high are multiples of q.

    With const = rest + q · whole, Σ low + rest is a multiple of q. If it lies between −q and q, it
    is 0, and so is Σ high / q + whole. The rest may be taken on either side of 0.
    """
    steps = total.steps
    if steps is None:
        return False
    for q in sorted({abs(step) for step in steps.values() if abs(step) > 1}, reverse=True):
        low = {n: step for n, step in steps.items() if step % q}
        high = {n: step // q for n, step in steps.items() if step % q == 0}
        for rest in (total.const % q, total.const % q - q):
            least, most = product.bounds(stepped(rest, low))
            if low and -q < least and most < q:
                product.equate(*_sided(rest, low))
                product.equate(*_sided((total.const - rest) // q, high))
                return True
    return False


def _sided(const: int, steps: dict[int, int]) -> tuple[Coordinate, Coordinate]:
    """The equation that a coordinate is 0, with positive steps on both sides."""
    left = stepped(const, {n: step for n, step in steps.items() if step > 0})
    return left, stepped(0, {n: -step for n, step in steps.items() if step < 0})


def _by_division(product: TiedProduct, total: Coordinate) -> bool:
    """Digits of a number t that is known only at run time: t = low + Σ high, where low has step
    one, if it is there, and the others have steps that are multiples of q. Then low is the
    remainder t mod q, and Σ high / q is the quotient.
    """
    traced = [n for n, index in total.terms.items() if index.is_traced]
    steps = Coordinate(0, {n: i for n, i in total.terms.items() if n not in traced}).steps
    if len(traced) != 1 or not steps or len({step > 0 for step in steps.values()}) > 1:
        return False
    sign = -1 if min(steps.values()) > 0 else 1
    index = total.terms[traced[0]].scaled(sign, sign * total.const)
    steps = {n: abs(step) for n, step in steps.items()}
    units = [n for n, step in steps.items() if step == 1]
    rest = [step for step in steps.values() if step > 1]
    q = min(rest, default=0)
    if len(units) > 1 or not q or any(step % q for step in rest):
        return False
    if any(product.sizes[unit] > q for unit in units):  # it has multiples of q, too
        return False
    assert isinstance(index, Traced)
    whole, below = index.divided(q)
    high = {n: step // q for n, step in steps.items() if n not in units}
    product.equate(at(traced[0], below), stepped(0, dict.fromkeys(units, 1)))
    product.equate(at(traced[0], whole), stepped(0, high))
    return True


def _by_inverse(product: TiedProduct, total: Coordinate) -> bool:
    """A match of a table without repetitions and a number that is known only at run time, which is
    looked up in the table's inverse.
    """
    if len(total.terms) != 2:
        return False
    (y, table), (x, index) = sorted(total.terms.items(), key=lambda term: term[1].is_traced)
    if not isinstance(table, Table) or not isinstance(index, Traced):
        return False
    index = index.scaled(-1, -total.const)
    places = places_of(np.arange(index.low, index.high + 1), table, product.sizes[y])
    if places is None:
        return False
    place = taken(known(places), index.scaled(1, -index.low), product.sizes[x])
    product.equate(at(x, place), along(y))
    return True


def _by_substitution(product: TiedProduct, total: Coordinate) -> bool:
    """x = Σ of the others, for an axis x of step one. The best x is one that never leaves its size,
    then one that no operand has, so that nothing is looked up, then one whose places are used most.
    Windows of an operand never leave it, and windows of windows become one axis in the end. Where
    this is no block, masks of the other operand cost less.
    """
    found, small = [], _places(product, total) <= product.most
    for name, index in total.terms.items():
        if not (isinstance(index, Range) and abs(index.step) == 1):
            continue
        rest = Coordinate(total.const, {n: i for n, i in total.terms.items() if n != name})
        expression, carried = rest.scaled(-index.step), product.is_carried(name)
        several = len(rest.terms) > 1
        if several and not product.is_free(name):  # a table takes places by one index
            continue
        least, most = product.bounds(expression)
        windows = carried and several and expression.steps is not None  # with zeros around
        inside = (windows and small) or (0 <= least and most < product.sizes[name])
        filled = product.sizes[name] / (most - least + 1)
        if several and 2 * filled < 1:  # most places would be outside
            continue
        found.append((not inside, carried, -filled, windows, name, expression))
    if not found:
        return False
    outside, _, _, windows, name, expression = min(found, key=lambda each: each[:3])
    if outside and not windows:
        size = product.sizes[name]
        product.mask_where(expression, lambda numbers: (numbers >= 0) & (numbers < size))
        expression = _within(expression, size - 1)
    product.express(name, expression)
    return True


def _places(product: TiedProduct, total: Coordinate) -> int:
    """How many places the result has, once each equation has expressed its longest axis."""
    left = [set(total.terms), *({*x.terms, *y.terms} for x, y in product.equations)]
    names = set().union(*left, *(output.terms for output in product.outputs))
    gone = math.prod(max(product.sizes[n] for n in each) for each in left)
    return math.prod(product.sizes[n] for n in names) // gone


def _within(total: Coordinate, most: int) -> Coordinate:
    """A number known at run time, clipped to 0 … `most`; operands clip others as they look up."""
    if len(total.terms) != 1:
        return total
    ((name, index),) = total.terms.items()
    index = index.scaled(1, total.const)
    return at(name, index.within(most)) if index.is_traced else total  # pyright: ignore


_WAYS = (_by_digits, _by_division, _by_inverse, _by_substitution)
"""Ways for more than two axes, or numbers known only at run time; each says whether it applied."""


def _fuse(product: TiedProduct, left: Coordinate, right: Coordinate) -> None:
    """Makes one axis of each side, so that the equation is a match."""
    product.equate(left, right)
    for side in (left, right):
        if len(side.terms) > 1:
            product.fuse(tuple(side.terms))


def _compare(product: TiedProduct, left: Coordinate, right: Coordinate) -> None:
    """Masks the places where the sides differ."""
    names = {**left.terms, **right.terms}
    product.mask_by(names, product.numbers(left, names) == product.numbers(right, names))
