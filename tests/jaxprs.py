"""Looking into programs: the equations of a jaxpr and of all jaxprs inside it."""

import math
from collections import Counter
from collections.abc import Iterator

import jax
import jax.extend.core as jex


def equations(jaxpr) -> Iterator[jex.JaxprEqn]:
    """Every equation, those inside `jit`, `scan`, `cond`, custom rules, … included.

    What contains other equations is not itself listed.
    """
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, jex.ClosedJaxpr) else jaxpr
    for eqn in jaxpr.eqns:
        inner = [
            j
            for value in eqn.params.values()
            for j in (value if isinstance(value, tuple | list) else [value])
            if isinstance(j, jex.Jaxpr | jex.ClosedJaxpr)
        ]
        if not inner:
            yield eqn
        for j in inner:
            yield from equations(j)


def of(function, *args) -> list[jex.JaxprEqn]:
    return list(equations(jax.make_jaxpr(function)(*args)))


def count(eqns) -> Counter:
    return Counter(eqn.primitive.name for eqn in eqns)


def named(eqns, name: str) -> list[jex.JaxprEqn]:
    return [eqn for eqn in eqns if eqn.primitive.name == name]


def multiplications(eqns) -> int:
    """How many there are in products of matrices."""
    total = 0
    for eqn in named(eqns, "dot_general"):
        (contract, _), _ = eqn.params["dimension_numbers"]
        summed = math.prod(eqn.invars[0].aval.shape[axis] for axis in contract)
        total += summed * eqn.outvars[0].aval.size
    return total


def sizes(eqns) -> list[int]:
    """The number of elements of every array that the equations make."""
    return [var.aval.size for eqn in eqns for var in eqn.outvars if hasattr(var.aval, "size")]
