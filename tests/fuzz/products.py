"""Random products: specifications of `einsum`, mapped dots, dimension numbers of `dot_general`, and
broadcasts that are multiplied up.

Axes of batches, contracted ones and free ones lie in any order, along with diagonals and axes of
one entry. Operands are entries of values that move, alike along some axes, or constants; two may
be one array. A product is equal to another that is made in the same way, so that each is traced
once.
"""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .operations import SHAPES, SIZE, Operation

LARGEST = 16
"""Entries of an operand."""

FUNCTIONS: dict[str, Callable] = {"": lambda x: x, "sin": jnp.sin, "cos": jnp.cos}


class Operand(NamedTuple):
    """An array of entries of a value, from its entry `first` on; along axes that are not `kept`,
    all are alike. The kept axes stand in the order in which their entries lie: `sin x[1:] as
    (2, 3) along (0,)` is `jnp.broadcast_to(jnp.sin(x[1:3])[:, None], (2, 3))`.
    """

    of: int | None
    """Which value; None for a constant."""
    shape: tuple[int, ...]
    kept: tuple[int, ...]
    first: int
    function: str

    def __call__(self, values):
        sizes = [self.shape[axis] for axis in self.kept]
        places = slice(self.first, self.first + math.prod(sizes))
        if self.of is None:
            entries = jnp.asarray(np.cos(np.arange(places.stop)), values[0].dtype)[places]
        else:
            entries = FUNCTIONS[self.function](values[self.of].reshape(-1)[places])
        array = entries.reshape(sizes).transpose(np.argsort(self.kept))
        if len(sizes) == len(self.shape):
            return array
        return lax.broadcast_in_dim(array, self.shape, sorted(self.kept))

    def __repr__(self):
        name = "c" if self.of is None else f"{self.function} {'xyz'[self.of]}".strip()
        plain = self.kept == tuple(range(len(self.shape)))
        return f"{name}[{self.first}:] as {self.shape}" + f" along {self.kept}" * (not plain)


class Einsum(NamedTuple):
    specification: str

    def __call__(self, *arrays):
        return jnp.einsum(self.specification, *arrays)


class DotGeneral(NamedTuple):
    contracted: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]

    def __call__(self, *arrays):
        return lax.dot_general(*arrays, (self.contracted, self.batch))


MAPPED: dict[str, Callable] = {
    "dot": jnp.dot,
    "matvec": jnp.matmul,
    "matmul": jnp.matmul,
    "outer": jnp.outer,
    "multiply": jnp.multiply,
}


class Mapped(NamedTuple):
    """A product under `vmap`, the innermost first: which axes each takes, and where it puts one."""

    name: str
    axes: tuple[tuple[tuple[int | None, ...], int], ...]

    def __call__(self, *arrays):
        function = MAPPED[self.name]
        for taken, given in self.axes:
            function = jax.vmap(function, taken, given)
        return function(*arrays)


MULTIPLIED: dict[str, Callable] = {
    "prod": jnp.prod,
    "cumprod": jnp.cumprod,
    "cumprod_reverse": lambda a, axis: lax.cumprod(a, axis, reverse=True),
    "sum_of_product": lambda a, b, axis: jnp.sum(a * b, axis),
}


class Multiplied(NamedTuple):
    name: str
    axis: int

    def __call__(self, *arrays):
        return MULTIPLIED[self.name](*arrays, axis=self.axis)


class Product(NamedTuple):
    """What is made of operands, folded into the kind of value that it gives."""

    contraction: Callable[..., Any]
    operands: tuple[Operand, ...]
    weighted: bool
    gives: str

    def __call__(self, *values):
        arrays = {each: each(values) for each in self.operands}  # equal ones are one array
        entries = self.contraction(*(arrays[each] for each in self.operands)).reshape(-1)
        if self.weighted:
            entries = entries * np.cos(1 + np.arange(entries.size)).astype(entries.dtype)
        if self.gives == "s":
            return jnp.sum(entries)
        rows = -(-entries.size // SIZE)
        entries = lax.pad(entries, jnp.zeros((), entries.dtype), [(0, -entries.size % SIZE, 0)])
        return jnp.sum(entries.reshape(rows, SIZE), 0).reshape(SHAPES[self.gives])

    def __repr__(self):
        weighted = " weighted" if self.weighted else ""
        return f"{self.contraction}{list(self.operands)}{weighted} as {self.gives}"


def random_product(choose: random.Random, kinds: str, contraction: str | None = None) -> Operation:
    """A product of values of some kinds."""
    name = contraction or choose.choice(sorted(CONTRACTIONS))
    shapes: tuple = ()
    while not shapes or any(math.prod(shape) > LARGEST for shape in shapes):
        made, shapes, alike = CONTRACTIONS[name](choose)
    takes, operands = "", []
    for i, shape in enumerate(shapes):
        if takes and shape == operands[-1].shape and choose.random() < 0.2:
            operands.append(operands[-1])
            continue
        of = choose.randrange(len(takes)) if takes and choose.random() < 0.3 else len(takes)
        if choose.random() < 0.15 and (takes or i + 1 < len(shapes)):
            of = None
        if of == len(takes):
            takes += choose.choice(kinds)
        entries = SIZE if of is None else math.prod(SHAPES[takes[of]])
        operands.append(_random_operand(choose, of, shape, alike, entries))
    product = Product(made, tuple(operands), choose.random() < 0.5, choose.choice("vvvms"))
    return Operation(str(product), takes, product.gives, product)


def _random_operand(choose, of, shape, alike, entries):
    kept = [axis for axis in range(len(shape)) if axis not in alike]
    if kept and choose.random() < 0.2:
        kept.remove(choose.choice(kept))
    while math.prod(shape[axis] for axis in kept) > (LARGEST if of is None else entries):
        kept.remove(choose.choice(kept))
    if choose.random() < 0.3:
        choose.shuffle(kept)
    unused = 0 if of is None else entries - math.prod(shape[axis] for axis in kept)
    function = "" if of is None else choose.choice(["", "", "sin", "cos"])
    return Operand(of, shape, tuple(kept), choose.randint(0, unused), function)


def _size(choose):
    return choose.choice((1, 2, 2, 2, 3, SIZE))


def _einsum(choose):
    labels = "abcd"[: choose.choice((2, 3, 3, 4))]
    sizes = {label: _size(choose) for label in labels}
    operands = []
    for _ in range(choose.choice((1, 2, 2, 2, 2, 3))):
        rank = min(choose.choice((0, *3 * (1, 2), 2, 3, 3)), len(labels))
        diagonal = choose.random() < 0.15
        operands.append(choose.choices(labels, k=rank) if diagonal else choose.sample(labels, rank))
    used = sorted({label for operand in operands for label in operand})
    free = choose.sample(used, choose.randint(0, len(used)))
    specification = f"{','.join(map(''.join, operands))}->{''.join(free)}"
    shapes = [tuple(sizes[label] for label in operand) for operand in operands]
    return Einsum(specification), shapes, ()


def _dot_general(choose):
    """Axes of batches, contracted ones and free ones in an order for each operand."""
    batch, contracted = ([_size(choose) for _ in range(choose.randint(0, 2))] for _ in range(2))
    shapes, places = [], []
    for _ in range(2):
        sizes = [*batch, *contracted, *(_size(choose) for _ in range(choose.randint(0, 2)))]
        order = choose.sample(range(len(sizes)), len(sizes))
        shapes.append(tuple(sizes[k] for k in order))
        places.append([order.index(k) for k in range(len(sizes))])
    of_batch = tuple(tuple(each[: len(batch)]) for each in places)
    over = tuple(tuple(each[len(batch) :][: len(contracted)]) for each in places)
    return DotGeneral(over, of_batch), shapes, ()


def _mapped(choose):
    name = choose.choice(sorted(MAPPED))
    p, n, q = (_size(choose) for _ in range(3))
    shapes, rank = {
        "dot": ([(n,), (n,)], 0),
        "matvec": ([(p, n), (n,)], 1),
        "matmul": ([(p, n), (n, q)], 2),
        "outer": ([(p,), (q,)], 2),
        "multiply": ([(n,), (n,)], 1),
    }[name]
    axes = []
    for _ in range(choose.choice((1, 1, 2))):
        size = _size(choose)
        taken = [None if choose.random() < 0.2 else choose.randint(0, len(s)) for s in shapes]
        if taken == [None, None]:
            taken = [0, 0]
        for i, axis in enumerate(taken):
            if axis is not None:
                shapes[i] = (*shapes[i][:axis], size, *shapes[i][axis:])
        axes.append((tuple(taken), choose.randint(0, rank)))
        rank += 1
    return Mapped(name, tuple(axes)), shapes, ()


def _multiplied(choose):
    name = choose.choice(sorted(MULTIPLIED))
    shape = tuple(_size(choose) for _ in range(choose.choice((1, 2, 2, 3))))
    axis = choose.randrange(len(shape))
    return Multiplied(name, axis), [shape] * (1 + (name == "sum_of_product")), (axis,)


CONTRACTIONS: dict[str, Callable] = {
    "broadcast": _multiplied,
    "dot_general": _dot_general,
    "einsum": _einsum,
    "vmap": _mapped,
}
"""What is made of operands, their shapes, and the axes along which entries of each are alike."""
