"""Functions compiled for their arguments, to be called again and again."""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax


@final
class Program:
    """A function with its arguments, compiled; a call runs it.

    All arrays among the arguments, those of modules too, are arguments of the compiled program and
    not constants in it: XLA must not compute with them beforehand, nor copy them. A call runs
    nothing else, so that small programs are not timed with a share of Python.
    """

    def __init__(self, function: Callable[..., Any], *args: Any):
        self._arrays, static = eqx.partition(args, eqx.is_array)

        def run(arrays: Any) -> Any:
            return function(*eqx.combine(arrays, static))

        self._compiled = jax.jit(run).lower(self._arrays).compile()

    def __call__(self) -> Any:
        return self._compiled(self._arrays)
