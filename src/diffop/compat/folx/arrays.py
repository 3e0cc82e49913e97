"""The results of `forward_laplacian`, with folx's attributes."""

from collections.abc import Iterable
from typing import Any, NamedTuple, final

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Int


class _Fields(NamedTuple):
    data: Array
    x0_idx: None = None


@final
class FwdJacobian(_Fields):
    """The Jacobian of an array with respect to all n coordinates of the arguments in order.

    folx has sparse Jacobians too. Here directions are sparse [while they are
    pushed][diffop.taylor.push] and dense at the end, like folx's with `sparsity_threshold=0`:
    `x0_idx` is None, `weak` False, and `data`, `dense_array`, `dense_or_sparse` are one array. A
    Jacobian made from sparse data becomes dense, too.

    **Arguments:**

    - `data`: of shape `(n, *shape)`, coordinates first.
    - `x0_idx`: for sparse data, of shape `(k, *shape)`: the numbers of the coordinates, known while
        tracing. Entries with equal numbers are added, and -1 means no coordinate. n is the largest
        number plus one.

    **Raises:** `TypeError` for numbers that are not known while tracing, `ValueError` for numbers
    of another shape, and for the attribute `sparse`, which does not exist here.

    !!! example

        ```python
        import jax.numpy as jnp
        import numpy as np
        from diffop.compat import folx
        from diffop.compat.folx.api import FwdJacobian

        jacobian = folx.forward_laplacian(lambda x: x**2)(jnp.ones(3)).jacobian
        jacobian.dense_array  # [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
        FwdJacobian(2 * jnp.ones((1, 3)), np.arange(3)[None]).dense_array  # the same
        ```
    """

    def __new__(cls, data: Any, x0_idx: Any = None) -> "FwdJacobian":
        return super().__new__(cls, data if x0_idx is None else _written_out(data, x0_idx))

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> "FwdJacobian":  # pyright: ignore
        return cls(*iterable)

    @property
    def weak(self) -> bool:
        return False

    @property
    def dense_array(self) -> Array:
        return self.data

    @property
    def dense_or_sparse(self) -> Array:
        return self.data

    @property
    def sparse(self) -> Array:
        raise ValueError(
            "Jacobians of diffop.compat.folx are dense (weak is False), and have no attribute "
            "'sparse'; read 'dense_or_sparse'."
        )

    @property
    def as_dense(self) -> "FwdJacobian":
        return self

    @property
    def max_n(self) -> int:
        return self.data.shape[0]

    @property
    def unique_idx(self) -> Int[np.ndarray, " n"]:
        return np.arange(self.max_n)

    @property
    def mask(self) -> np.ndarray:
        numbers = self.unique_idx.astype(np.int32).reshape(-1, *(1,) * (self.ndim - 1))
        return np.broadcast_to(numbers, self.data.shape)

    @property
    def data_shape(self) -> tuple[int, ...]:
        return self.data.shape[1:]

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @classmethod
    def from_dense(cls, array: Array) -> "FwdJacobian":
        return cls(array)

    def __add__(self, other: "FwdJacobian") -> "FwdJacobian":  # pyright: ignore
        size = max(self.max_n, other.max_n)
        return FwdJacobian(with_rows(self.data, size) + with_rows(other.data, size))

    def astype(self, dtype: Any) -> "FwdJacobian":
        return FwdJacobian(self.data.astype(dtype))

    @property
    def real(self) -> "FwdJacobian":
        return FwdJacobian(self.data.real)

    @property
    def imag(self) -> "FwdJacobian":
        return FwdJacobian(self.data.imag)

    def conj(self) -> "FwdJacobian":
        return FwdJacobian(self.data.conj())


def _written_out(data: Array, x0_idx: Any) -> Array:
    """Sparse rows written at their coordinates."""
    if isinstance(x0_idx, Tracer):
        raise TypeError(
            "x0_idx of FwdJacobian must be known while tracing; got a traced array. Give a NumPy "
            "array, or the data written out."
        )
    numbers = np.asarray(x0_idx)
    if numbers.shape != data.shape:
        raise ValueError(
            "x0_idx of FwdJacobian must have a number for each entry of its data, of shape "
            f"{data.shape}; got shape {numbers.shape}."
        )
    size = max(numbers.max(initial=-1) + 1, 1)
    entries = np.ogrid[tuple(slice(n) for n in data.shape)][1:]
    zeros = jnp.zeros((size, *data.shape[1:]), data.dtype)
    return zeros.at[np.where(numbers < 0, size, numbers), *entries].add(data, mode="drop")


def with_rows(data: Array, size: int) -> Array:
    """The derivatives with respect to more coordinates; those added have derivative zero."""
    return jnp.pad(data, [(0, size - data.shape[0])] + [(0, 0)] * (data.ndim - 1))


@final
class FwdLaplArray(NamedTuple):
    """An array with its Jacobian and Laplacian with respect to the coordinates of the arguments.

    **Arguments:**

    - `x`: the value.
    - `jacobian`: a [`diffop.compat.folx.api.FwdJacobian`][].
    - `laplacian`: like the value.

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx

        value, jacobian, laplacian = folx.forward_laplacian(lambda x: x**2)(jnp.ones(3))
        laplacian  # [2, 2, 2]
        ```
    """

    x: Array
    jacobian: FwdJacobian
    laplacian: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def ndim(self) -> int:
        return self.x.ndim

    @property
    def size(self) -> int:
        return self.x.size

    @property
    def dtype(self) -> Any:
        return self.x.dtype

    @property
    def dense_jacobian(self) -> Array:
        return self.jacobian.dense_array

    @property
    def is_jacobian_weak(self) -> bool:
        return self.jacobian.weak

    @property
    def sparse_jacobian(self) -> Array:
        return self.jacobian.sparse

    @property
    def jacobian_mask(self) -> np.ndarray:
        return self.jacobian.mask

    @property
    def dense(self) -> "FwdLaplArray":
        return self

    def astype(self, dtype: Any) -> "FwdLaplArray | Array":
        """The same in another type; an array without derivatives if that type is not floating."""
        if not jnp.issubdtype(dtype, jnp.inexact):
            return self.x.astype(dtype)
        jacobian = self.jacobian.astype(dtype)
        return FwdLaplArray(self.x.astype(dtype), jacobian, self.laplacian.astype(dtype))

    @property
    def real(self) -> "FwdLaplArray":
        return FwdLaplArray(self.x.real, self.jacobian.real, self.laplacian.real)

    @property
    def imag(self) -> "FwdLaplArray":
        return FwdLaplArray(self.x.imag, self.jacobian.imag, self.laplacian.imag)

    def conj(self) -> "FwdLaplArray":
        return FwdLaplArray(self.x.conj(), self.jacobian.conj(), self.laplacian.conj())


def cast(given: Any, x: Array, name: str) -> Array:
    """What belongs to an array, in its type.

    **Raises:** `ValueError` if it is complex and the array is real.
    """
    array = jnp.asarray(given)
    if jnp.iscomplexobj(array) and not jnp.iscomplexobj(x):
        raise ValueError(
            f"the {name} of an array of type {x.dtype} must be real; got type {array.dtype}. "
            "Convert the array, for example with x.astype(complex)."
        )
    return array.astype(x.dtype)


def is_forward(node: Any) -> bool:
    """Whether a node of a pytree is an array with its derivatives."""
    return isinstance(node, FwdLaplArray)
