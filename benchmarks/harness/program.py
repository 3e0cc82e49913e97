"""Functions compiled for their arguments, to be called again and again."""

import time
from collections.abc import Callable
from typing import Any, Protocol, final

import equinox as eqx
import jax


class Runnable(Protocol):
    """Something compiled that is timed.

    - `compile_seconds`: tracing included.
    - `temporary_mb`: what XLA sets aside for intermediate arrays, in 10⁶ bytes.
    """

    compile_seconds: float
    temporary_mb: float

    def __call__(self) -> Any: ...


@final
class Program:
    """A function with its arguments, compiled; a call runs it.

    All arrays among the arguments, those of modules too, are arguments of the compiled program and
    not constants in it: XLA must not compute with them beforehand, nor copy them. A call runs
    nothing else, and takes and gives lists of arrays, so that small programs are not timed with a
    share of Python: to take a module apart takes as long as a product of small matrices.
    """

    def __init__(self, function: Callable[..., Any], *args: Any):
        arrays, static = eqx.partition(args, eqx.is_array)
        self._arrays, structure = jax.tree.flatten(arrays)

        def run(leaves: list[Any]) -> Any:
            arrays = jax.tree.unflatten(structure, leaves)
            return jax.tree.leaves(function(*eqx.combine(arrays, static)))

        self._compiled, self.compile_seconds = compiled(jax.jit(run), self._arrays)
        self.temporary_mb = temporary_mb(self._compiled)

    @property
    def flops(self) -> float:
        """The arithmetic of a call, as XLA counts it."""
        return self._compiled.cost_analysis()["flops"]

    def __call__(self) -> Any:
        return self._compiled(self._arrays)


def compiled(jitted: Any, *args: Any) -> tuple[Any, float]:
    """A compiled function, and the seconds that tracing and compiling it took."""
    started = time.perf_counter()
    program = jitted.lower(*args).compile()
    return program, time.perf_counter() - started


def temporary_mb(program: Any) -> float:
    """What XLA sets aside for intermediate arrays, in 10⁶ bytes."""
    analysis = program.memory_analysis()
    return float("nan") if analysis is None else analysis.temp_size_in_bytes / 1e6
