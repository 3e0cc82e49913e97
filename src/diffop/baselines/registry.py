"""Baselines by name."""

from typing import Any

from jaxtyping import PyTree

from ..array_types import Key
from ..terms.arguments import Function
from .autodiff import HTE, SDGD, ForwardOverReverse, PaperJet, SDGDLoop
from .base import AbstractBaseline
from .finite_differences import FiniteDifferences
from .folx import Folx
from .stein import Stein

_ALL: tuple[AbstractBaseline, ...] = (
    SDGDLoop(),
    SDGD(),
    ForwardOverReverse(),
    PaperJet(),
    HTE(),
    Stein(),
    FiniteDifferences(),
    Folx(),
)
_NAMED: dict[str, AbstractBaseline] = {each.name: each for each in _ALL}


def names() -> tuple[str, ...]:
    """The names of all baselines.

    !!! example

        ```python
        import diffop as do

        do.baselines.names()  # ("sdgd-loop", "sdgd", "forward-over-reverse", "jet", …)
        ```
    """
    return tuple(_NAMED)


def as_baseline(method: Any) -> AbstractBaseline:
    """A baseline from itself or its name.

    **Arguments:**

    - `method`: one of [`diffop.baselines.names`][], or an object such as
        `diffop.baselines.Stein(sigma=0.1)`.

    **Returns:** an [`diffop.baselines.AbstractBaseline`][].

    **Raises:** `ValueError` for an unknown name, `TypeError` for anything else.

    !!! example

        ```python
        import diffop as do

        do.baselines.as_baseline("stein").sigma  # 0.01
        ```
    """
    if isinstance(method, AbstractBaseline):
        return method
    if isinstance(method, str) and method in _NAMED:
        return _NAMED[method]
    kind = ValueError if isinstance(method, str) else TypeError
    raise kind(
        f"a baseline is one of {', '.join(_NAMED)}, or one of diffop.baselines such as "
        f"diffop.baselines.Stein(sigma=0.1); got {method!r}."
    )


def estimate(method: str | AbstractBaseline, ops: PyTree, key: Key, n: int) -> Function:
    """Several operators by a baseline: `do.baselines.estimate(method, ops, key, n)(u)(x)`, as
    `do.estimate(ops, key, n)(u)(x)`.

    Baselines compute u, first derivatives, gradients and derivatives of order two of a real scalar
    function of one vector. They are for comparisons only; otherwise use [`diffop.estimate`][].

    **Arguments:**

    - `method`: one of [`diffop.baselines.names`][], or an object of `diffop.baselines`.
    - `ops`: a pytree of operators.
    - `key`: a JAX random key. The draw depends only on it, on `n` and on the number of coordinates.
        The coordinates are those that `diffop.estimate` draws with this key.
    - `n`: draws for each second-order part; exact (except `"stein"`) if it has no more terms.

    **Returns:**

    A map from functions to functions, whose values have the structure of `ops`.

    **Raises:** `ValueError` or `TypeError` for unknown methods, for operators that baselines cannot
    handle, for something that is not a key, and for n < 1. When it is called, it raises them for
    functions that are not real scalar functions of one vector; `"jet"` raises `NotImplementedError`
    for functions for which `jax.experimental.jet` has no rule. `diffop.train.MissingExtraError` if
    folx is needed and not installed.

    Source: the ablation study of Shi et al. 2024, "Stochastic Taylor Derivative Estimator"; each
    method names its own source.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"u": do.Identity(), "lap": do.Laplacian()}
        joint = do.baselines.estimate("sdgd", ops, jax.random.key(0), 4)
        jax.jit(joint(lambda x: jnp.sum(x**4)))(jnp.ones(9))  # {"u": 9.0, "lap": 108.0}
        ```
    """
    return as_baseline(method).joint(ops, key, n)
