"""Linear and bilinear maps of coefficients, whatever their structure.

Rules of linear maps and products never look inside a coefficient: they use the functions of this
file. (Rules of elementwise functions, determinants and branches do, where structure saves work.) If
a map cannot follow a structure, the coefficient becomes an array, which is logged once for each
line of the user's program.
"""

import logging
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from ..arrays import as_array, plus, type_of, zeros_like
from ..coefficients.blocks import Blocks, collected, dense, moved
from ..devices import varying_over
from ..versions import varying_axes
from . import places, products
from .coefficients import (
    Coefficient,
    Full,
    Zero,
    all_zero,
    scale,
)
from .dense import of_arrays
from .equation import BilinearMap, LinearMap
from .notes import noted_product, noted_sum
from .primitive import Form

_logger = logging.getLogger("diffop.taylor")
_logged: set[str] = set()

Asker: TypeAlias = str | LinearMap | None
"""What needs an array: a primitive's name with the line of the user's program, or a map."""


def densify(coefficient: Coefficient, lead: int, primal: Any, name: Asker = None) -> Coefficient:
    """A coefficient as an array, or zero."""
    c = coefficient
    return c if isinstance(c, Zero) else full(c, lead, primal, name)


def full(coefficient: Full | Blocks, lead: int, primal: Any, name: Asker = None) -> Full:
    """A coefficient as an array; `name` is the primitive that asks for it."""
    if isinstance(coefficient, Full):
        return coefficient
    if name is not None and jnp.ndim(primal) > 0:
        _log(name if isinstance(name, str) else name.described)
    c, factor = coefficient, 1
    if len(c.parts) == 1:
        (part,) = c.parts
        c, factor = Blocks((part.with_values(part.values, 1),), c.shape), part.factor
    array = dense(c, type_of(primal))
    # blocks always have an axis for directions, of size one for a single jet or sum
    array = array if lead == 1 else array[0]
    return Full(varying_over(array, varying_axes(primal)), factor)


def _log(name: str) -> None:
    if name not in _logged:
        _logged.add(name)
        _logger.info("primitive %s makes sparse directions dense", name)


def total(
    coefficients: Sequence[Coefficient], lead: int, primal: Any, name: Asker = None
) -> Coefficient:
    """The sum of coefficients of one value; `name` is the primitive that asks for it."""
    terms = [each for each in coefficients if not isinstance(each, Zero)]
    if not terms:
        return Zero()
    result = terms[0]
    for each in terms[1:]:
        result = _add(result, each, lead, primal, name)
    return result


def _add(left: Any, right: Any, lead: int, primal: Any, name: Asker) -> Coefficient:
    if isinstance(left, Blocks) and isinstance(right, Blocks):
        sums = collected([*left.parts, *right.parts], left.shape)
        return unless_full(sums.named_as(left), lead, primal)
    if isinstance(left, Full) and isinstance(right, Full) and left.image and right.image:
        if left.image.source == right.image.source:
            return Full(left.base, left.factor + right.factor, left.image)
    first, second = (full(each, lead, primal, name).array for each in (left, right))
    return Full(plus(first, second))


def unless_full(c: Blocks, lead: int, primal: Any, name: Asker = None) -> Coefficient:
    """Blocks as long as they hold fewer numbers than an array; otherwise the array."""
    if not c.parts:
        return Zero()
    return c if c.is_sparse else densify(c, lead, primal, name)


def linear_map(
    function: LinearMap, lead: int, operands: Sequence[Coefficient]
) -> list[Coefficient]:
    """The images of coefficients under a map that is jointly linear in them."""
    if all_zero(operands):
        return [Zero() for _ in function.outputs]
    signs = function.record.signs
    if signs is not None and _same_types(function):
        (output,) = function.outputs
        signed = [
            products.broadcast_coefficient(
                scale(c, sign), lead, jnp.shape(function.primal(k)), jnp.shape(output)
            )
            for k, (c, sign) in enumerate(zip(operands, signs, strict=True))
        ]
        return [total(signed, lead, output, function)]
    operands = _alike(operands, function)
    sparse = [(k, c) for k, c in enumerate(operands) if isinstance(c, Blocks)]
    per_operand = [_structured(function, k, c, lead) for k, c in sparse]
    per_operand.append(_dense(function, lead, operands))
    return [
        total([each[i] for each in per_operand], lead, output, function)
        for i, output in enumerate(function.outputs)
    ]


def _alike(operands: Sequence[Coefficient], function: LinearMap) -> list[Coefficient]:
    """The operands alike: an array of a few entries beside blocks becomes a block, too."""
    most = sum(c.size for c in operands if isinstance(c, Blocks))
    return [
        products.as_block(c, jnp.shape(function.primal(k)))
        if isinstance(c, Full) and c.base.size <= most
        else c
        for k, c in enumerate(operands)
    ]


def _same_types(function: LinearMap) -> bool:
    output = jax.typeof(function.outputs[0])
    kinds = [jax.typeof(function.primal(k)) for k in range(len(function.chosen))]
    return all(kind.dtype == output.dtype and kind.ndim in (0, output.ndim) for kind in kinds)


def _structured(function: LinearMap, k: int, operand: Blocks, lead: int) -> list[Coefficient]:
    """The images of blocks, with the other operands zero."""
    relations = function.moves(k)
    primals = function.outputs
    if relations is not None:
        found = [moved(operand, r, type_of(y)) for r, y in zip(relations, primals, strict=True)]
        known = [each for each in found if each is not None]
        if len(known) == len(found):
            pairs = zip(known, primals, strict=True)
            images = [unless_full(each, lead, output, function) for each, output in pairs]
            if function.record.moves is places.summed:  # one number for each direction
                return [noted_sum(operand, images[0], function.outputs[0])]
            return images
    elif function.record.on_values:
        kind = type_of(function.primal(0))
        parts = [part.with_values(*function.at([part.written(kind)])) for part in operand.parts]
        return [Blocks(tuple(parts), operand.shape)]
    array = densify(operand, lead, function.primal(k), function)
    count = len(function.chosen)
    return _dense(function, lead, [array if j == k else Zero() for j in range(count)])


def _dense(function: LinearMap, lead: int, operands: Sequence[Coefficient]) -> list[Coefficient]:
    moving = [c for c in operands if isinstance(c, Full)]
    if not moving:
        return [Zero() for _ in function.outputs]
    lone = len(operands) == 1
    axes = tuple(0 if isinstance(c, Full) else None for c in operands)
    arrays = [
        (c.base if lone else c.array) if isinstance(c, Full) else zeros_like(function.primal(k))
        for k, c in enumerate(operands)
    ]
    factor = moving[0].factor if lone else 1
    mapped = function.function
    for _ in range(lead):
        mapped = jax.vmap(mapped, in_axes=axes)
    return [Full(as_array(array), factor) for array in mapped(*arrays)]


def bilinear_map(
    product: BilinearMap, left: Coefficient, right: Coefficient, leads: tuple[int, int]
) -> Coefficient:
    """B(a, b) of two coefficients with `leads` leading axes each. The numbers are equal, or one is
    0 (a primal).
    """
    if isinstance(left, Zero) or isinstance(right, Zero):
        return Zero()
    if isinstance(left, Blocks) or isinstance(right, Blocks):
        result = products.of_blocks(product, (left, right), leads)
        if result is not None:
            made = unless_full(result, max(leads), product.output)
            return noted_product(product, (left, right), leads, made)
        pairs = zip((left, right), leads, product.operands, strict=True)
        left, right = (full(c, lead, x, product.described) for c, lead, x in pairs)
    return of_arrays(product, left, right, leads)


def known_scalar(value: Any) -> float | None:
    """The value of an operand that is a real number known while tracing. (`jnp.asarray` would make
    it a tracer.)
    """
    if isinstance(value, Tracer) or np.ndim(value) != 0:
        return None
    if not jnp.issubdtype(type_of(value), jnp.floating):
        return None
    return float(np.asarray(value))


def instantiate(coefficient: Coefficient, lead_shape: tuple[int, ...], primal: Any) -> Full:
    """The same coefficient as an array, even if it is zero."""
    if isinstance(coefficient, Zero):
        return Full(jnp.broadcast_to(jnp.zeros_like(primal), (*lead_shape, *jnp.shape(primal))))
    return full(coefficient, len(lead_shape), primal)


def multiplication(operand: Any) -> BilinearMap:
    """The entrywise product with values like an operand."""
    return BilinearMap(Form.ENTRYWISE, {}, lax.mul, (operand, operand), operand)
