"""Calls of functions for which a kernel may know a better way.

`call(name, function, *operands, **static)` means `function(*operands, **static)`, and its author
needs to know nothing else. A kernel registers with `better` what it does instead, under which
transformation. Its file can be deleted; values change only by rounding.

Such a call is one equation that contains the function's own program: the primitive `kernel`. If no
kernel handles a transformation, it is applied to that program: it is written out, mapped,
differentiated and transposed as it stands.
"""

import contextlib
import contextvars
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, final

import jax
import jax.extend.core as jex
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters import ad, batching, mlir

from ..arrays import filled, has_symbols
from ..versions import named_axes

Outputs: TypeAlias = Sequence[Any]

_SWITCHED_OFF = contextvars.ContextVar[frozenset[str] | None]("_SWITCHED_OFF", default=frozenset())


@contextlib.contextmanager
def plain(*names: str) -> Iterator[None]:
    """A context in which calls with these names, or all calls, have their plain meaning.

    Programs traced inside are not confused with programs traced outside: the names are part of the
    key under which `jax.jit` caches its programs.

    **Arguments:**

    - `names`: of kernels; all of them if none is given.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        laplacian = jax.jit(jax.vmap(do.Laplacian().exact(lambda x: jnp.sum(jnp.sin(x)))))
        with do.kernels.plain():
            value = laplacian(jnp.zeros((2, 3)))
        value  # [0, 0]
        ```
    """
    before = _SWITCHED_OFF.get()
    off = None if not names or before is None else before | frozenset(names)
    token = _SWITCHED_OFF.set(off)
    try:
        with set_xla_metadata(diffop_plain="all" if off is None else " ".join(sorted(off))):
            yield
    finally:
        _SWITCHED_OFF.reset(token)


@final
@dataclasses.dataclass(frozen=True)
class Kernel:
    """What a kernel does, and under which transformation; None for the plain meaning.

    `static` are the keyword arguments of the call. Rules also receive the function's program,
    `jaxpr`, which is that of one point.

    - `instead(function, *operands, **static)`: replaces the function. A kernel with this rule makes
        no equation, and has no other rule.
    - `applies(*operands, **static)`: whether any rule may be used; otherwise the function is
        called.
    - `batch(operands, axes, *, jaxpr, **static)`: the outputs of all points along their first axes.
    - `jvp(primals, tangents, *, jaxpr, **static)`: outputs and their tangents; the tangent of a
        constant operand is None.

    !!! example

        ```python
        import diffop as do

        do.kernels.Kernel(instead=lambda function, x: function(x))
        ```
    """

    instead: Callable[..., Any] | None = None
    applies: Callable[..., bool] = lambda *_, **__: True
    batch: Callable[..., Outputs] | None = None
    jvp: Callable[..., tuple[Outputs, Outputs]] | None = None


_KERNELS: dict[str, Kernel] = {}


def better(name: str, **rules: Callable[..., Any]) -> None:
    """Registers a better way for calls with a name.

    **Arguments:**

    - `name`: of the calls.
    - `rules`: fields of [`diffop.kernels.Kernel`][].

    !!! example

        ```python
        import diffop as do

        do.kernels.better("mine", instead=lambda function, x: function(x))
        ```
    """
    _KERNELS[name] = Kernel(**rules)


def _switched_on(name: str) -> Kernel | None:
    off = _SWITCHED_OFF.get()
    return None if off is None or name in off else _KERNELS.get(name)


def names() -> tuple[str, ...]:
    """The names of all calls for which there is a kernel.

    **Returns:** strings, in arbitrary order.

    !!! example

        ```python
        import diffop as do

        "rows" in do.kernels.names()  # True
        ```
    """
    return tuple(_KERNELS)


def call(name: str, function: Callable[..., Any], *operands: Any, **static: Any) -> Any:
    """`function(*operands, **static)`, which a kernel of this name may compute in another way.

    **Arguments:**

    - `name`: the name of the call.
    - `function`: its meaning.
    - `operands`: pytrees of arrays.
    - `static`: hashable values.

    **Returns:** the function's value.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.kernels.call("nobody's", jnp.sum, jnp.arange(4))  # 6
        ```
    """
    kernel = _switched_on(name)
    unknown = any(map(has_symbols, jax.tree.leaves(operands)))
    if kernel is None or unknown or not kernel.applies(*operands, **static):
        return function(*operands, **static)
    if kernel.instead is not None:
        return kernel.instead(function, *operands, **static)
    leaves, structure = jax.tree.flatten(operands)
    kinds = tuple(jax.typeof(leaf).update(weak_type=False) for leaf in leaves)
    trace = _kept if _stands_alone(function) else _traced
    closed, shape = trace(function, kinds, structure, tuple(static.items()), _surroundings())
    if closed.effects or named_axes(closed.jaxpr.eqns):  # no rule can handle these
        return jax.tree.unflatten(shape, written_out(*leaves, jaxpr=closed))
    return jax.tree.unflatten(shape, bound(name, closed, leaves, static))


def bound(
    name: str, closed: jex.ClosedJaxpr, operands: Sequence[Any], static: Mapping[str, Any]
) -> list[Any]:
    """The equation. Constants of the program become operands."""
    if closed.consts:
        jaxpr = closed.jaxpr
        operands = *closed.consts, *operands
        inputs = [*jaxpr.constvars, *jaxpr.invars]
        closed = jex.ClosedJaxpr(jaxpr.replace(constvars=(), invars=inputs), ())
    return kernel_p.bind(*operands, kernel=name, jaxpr=closed, static=tuple(static.items()))


def _traced(function: Callable[..., Any], kinds: Any, structure: Any, static: Any, _: Any) -> Any:
    def of_leaves(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(structure, leaves), **dict(static))

    closed, shape = jax.make_jaxpr(of_leaves, return_shape=True)(*kinds)
    return closed, jax.tree.structure(shape)


_kept = functools.lru_cache(maxsize=1024)(_traced)


def _surroundings() -> tuple[Any, ...]:
    """Other state on which a program depends."""
    config: Any = jax.config
    return _SWITCHED_OFF.get(), config.jax_enable_x64, config.jax_default_matmul_precision


def _stands_alone(function: Any) -> bool:
    """Whether the function belongs to a module. Its programs may then be cached: they hold on to
    nothing.
    """
    cells = getattr(function, "__closure__", True)
    return cells is None and "<locals>" not in function.__qualname__


def written_out(*operands: Any, jaxpr: jex.ClosedJaxpr, **_: Any) -> list[Any]:
    """The outputs of the program itself."""
    return jex.jaxpr_as_fun(jaxpr)(*operands)


def mapped(
    operands: Sequence[Any], axes: Sequence[Any], jaxpr: jex.ClosedJaxpr, **_: Any
) -> Outputs:
    """The outputs of the program, mapped."""
    return jax.vmap(functools.partial(written_out, jaxpr=jaxpr), tuple(axes))(*operands)


kernel_p = jex.Primitive("kernel")
kernel_p.multiple_results = True
kernel_p.def_impl(written_out)
kernel_p.def_abstract_eval(lambda *_, jaxpr, **__: jaxpr.out_avals)
mlir.register_lowering(kernel_p, mlir.lower_fun(written_out, multiple_results=True))


def _rule(name: str, kind: str) -> Callable[..., Any] | None:
    return getattr(_switched_on(name), kind, None)


def _batch(
    operands: Any, axes: Any, *, kernel: str, jaxpr: jex.ClosedJaxpr, static: Any
) -> tuple[Outputs, Sequence[int]]:
    outputs = (_rule(kernel, "batch") or mapped)(operands, axes, jaxpr=jaxpr, **dict(static))
    return outputs, [0] * len(outputs)


def _jvp(
    primals: Any, tangents: Any, *, kernel: str, jaxpr: jex.ClosedJaxpr, static: Any
) -> tuple[Outputs, Outputs]:
    given = [None if isinstance(tangent, ad.Zero) else tangent for tangent in tangents]
    rule = _rule(kernel, "jvp")
    if rule is not None:
        return rule(primals, given, jaxpr=jaxpr, **dict(static))
    moving = [n for n, tangent in enumerate(given) if tangent is not None]
    return jax.jvp(
        lambda *values: written_out(*filled(primals, moving, values), jaxpr=jaxpr),
        [primals[n] for n in moving],
        [given[n] for n in moving],
    )


def _transpose(cotangents: Any, *operands: Any, jaxpr: jex.ClosedJaxpr, **_: Any) -> list[Any]:
    """The transpose of the program. A mapped call has become products without points by then."""
    linear = [n for n, operand in enumerate(operands) if ad.is_undefined_primal(operand)]

    def of_linear(*values: Any) -> list[Any]:
        return written_out(*filled(operands, linear, values), jaxpr=jaxpr)

    kinds = [operands[n].aval for n in linear]
    given = [ad.instantiate_zeros(ct) for ct in cotangents]
    found = dict(zip(linear, jax.linear_transpose(of_linear, *kinds)(given), strict=True))
    return [found.get(n) for n in range(len(operands))]


batching.primitive_batchers[kernel_p] = _batch
ad.primitive_jvps[kernel_p] = _jvp
ad.primitive_transposes[kernel_p] = _transpose
