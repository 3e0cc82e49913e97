"""The precision of matrix products while operators are evaluated.

On GPUs and TPUs JAX's products of float32 have fewer digits than their type, unless more are asked
for: TF32 has 10 bits after the point instead of 23. A Taylor coefficient of order k is a sum of
terms that may cancel, each of which has gone through products in every layer. What costs a value
its fourth digit costs a second derivative its second or first.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax


@contextmanager
def full_precision() -> Iterator[None]:
    """A context, or a decorator, in which products without a stated precision have all digits of
    their type, unless JAX's option `jax_default_matmul_precision` is set. Rules of custom
    derivatives need it themselves, since a program may be differentiated after it was traced.
    """
    config: Any = jax.config
    asked = config.jax_default_matmul_precision
    with jax.default_matmul_precision("highest" if asked is None else asked):
        yield


PRECISIONS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "default": nullcontext,
    "double": lambda: jax.enable_x64(True),
}
"""The types of a run's numbers, by name: as JAX is configured, which is single precision unless
configured otherwise, or double precision for the run alone.
"""
