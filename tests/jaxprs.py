"""Looking into programs: the equations of a jaxpr and of all jaxprs inside it."""

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


def sizes(eqns) -> list[int]:
    """The number of elements of every array that the equations make."""
    return [var.aval.size for eqn in eqns for var in eqn.outvars if hasattr(var.aval, "size")]
