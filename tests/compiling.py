"""How the programs of tests are compiled: quickly, and in contexts that they share.

A context is where MLIR keeps types and dialects. JAX makes one for each program and loads all
dialects into it: a twelfth of the time of all tests, and half of their memory, as what is compiled
holds its context. One may serve any number of programs; as it only grows, each serves `PROGRAMS`. A
program that is made while another is being lowered has its own: in a shared one it would be
inserted into the other.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest

try:
    from jax._src.interpreters import mlir
except ImportError:
    mlir = None

PROGRAMS = 300


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Without most of XLA's optimisations, also where others are compiled as users compile, and
    also in the processes that are started.
    """
    name = "jax_disable_most_optimizations"
    before = jax.config.values[name]
    jax.config.update(name, True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name.upper(), "True")
            yield
    finally:
        jax.config.update(name, before)


def share_contexts() -> None:
    """Does nothing where JAX makes contexts in another way: then programs have their own."""
    make = getattr(mlir, "make_ir_context", None)
    if make is not None:
        mlir.make_ir_context = _shared(make)


def _shared(make: Callable[[], Any]) -> Callable[[], Any]:
    programs = itertools.count()
    of_number = functools.lru_cache(maxsize=1)(lambda number: make())

    def context() -> Any:
        if mlir.ir.Context.current is not None:
            return make()
        return of_number(next(programs) // PROGRAMS)

    return context
