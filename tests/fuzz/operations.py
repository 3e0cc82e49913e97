"""The operations that random programs are made of.

Values are scalars "s", vectors "v" of `SIZE` entries, vectors "o" of one entry and square matrices
"m" of `SIDE` rows. Each operation is smooth where it is evaluated, or has JAX's own derivative, and
keeps its result of the order of one, so that programs can be long.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.sparse import BCOO

SIZE, SIDE = 4, 2
SHAPES = {"v": (SIZE,), "s": (), "m": (SIDE, SIDE), "o": (1,)}
ROWS, COLUMNS = np.array([0, 2, 3], np.int32), np.array([1, 0, 3], np.int32)
"""Where a sparse matrix has entries."""


class Operation(NamedTuple):
    """`takes` and `gives` are kinds of values, as in "vs" and "v"."""

    name: str
    takes: str
    gives: str
    function: Callable[..., Any]


def _small(x):
    return 0.8 * jnp.tanh(x)


def _positive(x):
    return 1.5 + jnp.tanh(x)


def _zero(x):
    """Zeros that move."""
    return x - lax.stop_gradient(x)


def _with_zeros(x, number):
    return jnp.where(np.arange(SIZE) < number, _zero(x), _positive(x) / 1.5)


ENTRYWISE: dict[str, Callable] = {
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": lambda x: jnp.tan(_small(x)),
    "tanh": jnp.tanh,
    "sinh": lambda x: jnp.sinh(_small(x)),
    "cosh": lambda x: jnp.cosh(_small(x)),
    "exp": lambda x: jnp.exp(_small(x)),
    "exp2": lambda x: jnp.exp2(_small(x)),
    "expm1": lambda x: jnp.expm1(_small(x)),
    "log": lambda x: jnp.log(_positive(x)),
    "log1p": lambda x: jnp.log1p(_small(x)),
    "sqrt": lambda x: jnp.sqrt(_positive(x)),
    "rsqrt": lambda x: lax.rsqrt(_positive(x)),
    "cbrt": lambda x: jnp.cbrt(_positive(x)),
    "pow": lambda x: _positive(x) ** 1.7,
    "integer_pow": lambda x: lax.integer_pow(_small(x), 5),
    "integer_pow_negative": lambda x: lax.integer_pow(_positive(x), -3) / 3,
    "integer_pow_at_zero": lambda x: (
        x + lax.integer_pow(_zero(x), 3) - lax.integer_pow(_zero(x), 2)
    ),
    "pow_at_zero": lambda x: x + jnp.power(_zero(x), 4.0) - jnp.power(_zero(x), 5.0),
    "square": lambda x: lax.square(_small(x)),
    "asin": lambda x: jnp.arcsin(_small(x)),
    "acos": lambda x: jnp.arccos(_small(x)),
    "atan": jnp.arctan,
    "asinh": jnp.arcsinh,
    "acosh": lambda x: jnp.arccosh(1.0 + _positive(x)),
    "atanh": lambda x: jnp.arctanh(_small(x)),
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lambda x: lax.erf_inv(_small(x)),
    "logistic": lax.logistic,
    "lgamma": lambda x: lax.lgamma(_positive(x)),
    "digamma": lambda x: lax.digamma(1.0 + _positive(x)),
    "igamma": lambda x: lax.igamma(2.5, _positive(x)),
    "igammac": lambda x: lax.igammac(2.5, _positive(x)),
    "polygamma": lambda x: jsp.special.polygamma(1, 0.5 + _positive(x)),
    "betainc": lambda x: jsp.special.betainc(2.0, 3.5, 0.5 + 0.3 * jnp.tanh(x)),
    # on both sides of their kink, where nested JAX has another convention
    "bessel": lambda x: lax.bessel_i0e(_small(x) + 1) + lax.bessel_i1e(_small(x) - 1),
    "abs": jnp.abs,
    "sign": lambda x: jnp.sign(x) * x,
    "floor": lambda x: x - jnp.floor(x),
    "round": lambda x: jnp.round(x) + jnp.ceil(x) * _small(x),
    "clamp": lambda x: lax.clamp(-0.7, x, 0.9),
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "elu": jax.nn.elu,
    "sinc": jnp.sinc,
    "logit": lambda x: jsp.special.logit(0.5 + 0.3 * jnp.tanh(x)) / 2,
    "log_ndtr": lambda x: jsp.special.log_ndtr(_small(x)),
    "ndtri": lambda x: jsp.special.ndtri(0.5 + 0.3 * jnp.tanh(x)),
    "interp": lambda x: x * jnp.interp(x, jnp.arange(-2.0, 3.0), jnp.sin(jnp.arange(5.0))),
    "polyval": lambda x: jnp.polyval(jnp.array([0.3, -0.2, 0.5, 1.0]), _small(x)),
    "neg": lambda x: -x,
    "where": lambda x: jnp.where(x > 0.1, jnp.sin(x), x**2 / (1 + x**2)),
    "stop_gradient": lambda x: lax.stop_gradient(x) * _small(x),
    "complex": lambda x: (
        jnp.real(jnp.exp(lax.complex(0.0 * x, x)) * lax.complex(jnp.cos(x), x)) / (1 + x**2)
    ),
    "complex_log": lambda x: jnp.real(jnp.log(lax.complex(_positive(x), x))),
    "complex_sqrt": lambda x: jnp.imag(jnp.sqrt(lax.complex(_positive(x), x))),
    "complex_tanh": lambda x: jnp.imag(jnp.tanh(lax.complex(x, _small(x)))),
    "complex_div": lambda x: jnp.real(lax.complex(x, jnp.cos(x)) / lax.complex(_positive(x), x)),
    "complex_pow": lambda x: jnp.imag(lax.complex(_positive(x), x) ** 3),
    "angle": lambda x: jnp.angle(lax.complex(_positive(x), x)),
    "conj": lambda x: jnp.abs(jnp.conj(lax.complex(_positive(x), x))),
    "imag": lambda x: jnp.imag(lax.complex(x, jnp.sin(x)) * lax.complex(jnp.cos(x), _small(x))),
    "convert": lambda x: _small(x).astype(jnp.complex128).real * x.astype(jnp.float64),
    "precision": lambda x: lax.reduce_precision(x, 11, 52),
    "copy": lambda x: jnp.copy(x) * 0.5,
    "name": lambda x: checkpoint_name(jnp.sin(x), "sine") * 0.5,
    "barrier": lambda x: lax.optimization_barrier(jnp.sin(x)) * x,
    "random": lambda x: x * jax.random.uniform(jax.random.key(7), x.shape, x.dtype),
    "integers": lambda x: jnp.where((jnp.asarray(3 * x, int) & 1) ^ 1 > 0, x, jnp.cos(x)),
}

PAIRS: dict[str, Callable] = {
    "add": lambda a, b: 0.7 * (a + b),
    "sub": lambda a, b: 0.7 * (a - b),
    "mul": lambda a, b: _small(a) * b,
    "div": lambda a, b: a / (1.5 + b * b),
    "pow_both": lambda a, b: _positive(a) ** _small(b),
    "atan2": lambda a, b: jnp.arctan2(a, _positive(b)),
    "max": jnp.maximum,
    "min": jnp.minimum,
    "rem": lambda a, b: lax.rem(a, _positive(b)),
    "hypot": lambda a, b: jnp.hypot(_positive(a), b),
    "logaddexp": jnp.logaddexp,
    "xlogy": lambda a, b: jsp.special.xlogy(_positive(a), _positive(b)),
    "select": lambda a, b: jnp.where(a > b, a * 0.9, jnp.sin(b)),
}

REDUCTIONS: dict[str, Callable] = {
    "sum": lambda x: 0.5 * jnp.sum(x),
    "mean": jnp.mean,
    "prod": lambda x: jnp.prod(_positive(x) / 1.5),
    "reduce_max": jnp.max,
    "reduce_min": jnp.min,
    "logsumexp": jsp.special.logsumexp,
    "norm": lambda x: jnp.linalg.norm(_positive(x)),
    "var": jnp.var,
    "dot": lambda x: jnp.dot(_small(x), jnp.cos(x)),
    "entry": lambda x: x[2],
    "last": lambda x: x[-1],
    "prod_with_zero": lambda x: jnp.prod(_with_zeros(x, 1)),
    "prod_with_zeros": lambda x: jnp.prod(_with_zeros(x, 2)),
    "weighted_logsumexp": lambda x: jsp.special.logsumexp(x, b=jnp.arange(1.0, 5.0)),
    "quantile": lambda x: jnp.quantile(x, 0.3),
    "least": lambda x: x[jnp.argmin(x)],
    "largest": lambda x: x[jnp.argmax(x)],
    "reduce": lambda x: lax.reduce(_small(x), 0.0, lax.add, (0,)),
    "reduce_by_function": lambda x: lax.reduce(_small(x), 1.0, lambda a, b: a * b * 1.0, (0,)),
}

VECTORS: dict[str, Callable] = {
    "roll": lambda x: jnp.roll(x, 1),
    "rev": lambda x: x[::-1],
    "slice_pad": lambda x: lax.pad(x[1:3], 0.25, [(1, 1, 0)]),
    "concatenate": lambda x: jnp.concatenate([x[2:], jnp.sin(x[:2])]),
    "gather": lambda x: x[jnp.array([3, 0, 0, 2])],
    "gather_outside": lambda x: x.at[np.array([3, 7, 0, 2])].get(mode="fill", fill_value=0.7),
    "gather_unknown": lambda x: x.at[jnp.argsort(x) * 2].get(mode="fill", fill_value=0.3),
    "dynamic_slice": lambda x: jnp.tile(lax.dynamic_slice(x, (jnp.argmin(x) % 3,), (2,)), 2),
    "dynamic_update": lambda x: lax.dynamic_update_slice(x, jnp.cos(x[:2]), (jnp.argmax(x) % 3,)),
    "scatter_add": lambda x: x.at[jnp.array([0, 2])].add(jnp.sin(x[1:3])),
    "scatter_twice": lambda x: x.at[np.array([2, 5, 2])].set(jnp.sin(x[:3])),
    "scatter_outside": lambda x: x.at[np.array([9, 1])].add(jnp.sin(x[2:]), mode="drop"),
    "update_known": lambda x: lax.dynamic_update_slice(x, jnp.cos(x[:2]), (1,)),
    "where_known": lambda x: jnp.where(np.array([True, False, True, True]), x, jnp.cos(x)),
    "cond_moving": lambda x: lax.cond(x[1] > 0, lambda x: x[::-1] * 0.9, jnp.sin, x),
    "scatter_set": lambda x: x.at[1].set(_small(x[3])),
    "scatter_mul": lambda x: x.at[2].multiply(_small(x[0])),
    "scatter_max": lambda x: x.at[jnp.array([1, 3])].max(0.5 * x[:2]),
    "scatter_min": lambda x: x.at[jnp.array([1, 3])].min(0.5 * x[:2]),
    "scatter_sub": lambda x: x.at[jnp.array([3, 0])].subtract(jnp.sin(x[1:3])),
    "sort": jnp.sort,
    "sort_pairs": lambda x: lax.sort((x, jnp.cos(x)), num_keys=1)[1],
    "top_k": lambda x: jnp.tile(lax.top_k(x, 2)[0], 2),
    "cumsum": lambda x: 0.5 * jnp.cumsum(x),
    "cumprod": lambda x: jnp.cumprod(_positive(x) / 1.5),
    "cummax": lax.cummax,
    "cummin": lax.cummin,
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x) / 2,
    "stack": lambda x: jnp.stack([x[0], jnp.sin(x[1]), x[3] * 0.5, x[2]]),
    "unstack": lambda x: jnp.concatenate([r[None] * 0.5 for r in jnp.unstack(x)]),
    "split": lambda x: jnp.concatenate([jnp.sin(p) for p in jnp.split(x, 2)][::-1]),
    "cumprod_with_zeros": lambda x: jnp.cumprod(_with_zeros(x, 2)),
    "diff": lambda x: jnp.diff(x, append=0.5 * x[:1]),
    "repeat": lambda x: jnp.repeat(x[1:3], 2),
    "segment_sum": lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0, 3]), num_segments=SIZE),
    "sorted_by": lambda x: x[jnp.argsort(jnp.cos(x))],
    "clamp_entries": lambda x: lax.clamp(
        jnp.linspace(-1.0, 0.0, SIZE), x, jnp.linspace(0.5, 2, SIZE)
    ),
    "select_of_three": lambda x: lax.select_n(
        jnp.argsort(x).astype(np.int32) % 3, x, jnp.sin(x), 0.5 * x[::-1]
    ),
    "root": lambda x: lax.custom_root(
        lambda y: y + 0.3 * jnp.sin(y) - x,
        jnp.zeros_like(x),
        lambda f, y: lax.fori_loop(0, 32, lambda _, y: y - f(y), y),
        lambda f, y: y / f(jnp.ones_like(y)),
    ),
    "softmax": jax.nn.softmax,
    "fft": lambda x: jnp.real(jnp.fft.fft(x) * jnp.array([1, 1j, -1, 0.5])) / 2,
    "sparse": lambda x: _matrix(jnp.arange(3.0)) @ jnp.sin(x) / 2,
    "sparse_of_x": lambda x: _matrix(x[:3]).todense() @ jnp.cos(x) / 2,
    "tridiagonal": lambda x: lax.linalg.tridiagonal_solve(
        _small(x).at[0].set(0.0), 3.0 + jnp.cos(x), _small(x).at[-1].set(0.0), jnp.sin(x)[:, None]
    )[:, 0],
    "rfft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.array([1.0, 0.5, 2.0], complex), n=SIZE),
    "conv": lambda x: jnp.convolve(jnp.sin(x), _small(x[:3]), mode="same"),
    "window_sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "SAME") / 2,
    "window_max": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "SAME"),
    "window_min": lambda x: lax.reduce_window(x, jnp.inf, lax.min, (2,), (1,), "SAME"),
    "window_slope": lambda x: jax.grad(lambda y: jnp.sum(_small(_pool(y)) * y[:2]))(x),
    "matmul_constant": lambda x: jnp.sin(jnp.arange(16.0)).reshape(4, 4) @ x / 2,
    "broadcast": lambda x: (
        jnp.sum(jnp.broadcast_to(x, (3, SIZE)) * jnp.arange(3.0)[:, None], 0) / 3
    ),
    "outer": lambda x: jnp.outer(_small(x), jnp.cos(x))[:, 1],
    "einsum": lambda x: (
        jnp.einsum("i,ij,j->i", _small(x), jnp.tri(SIZE, dtype=x.dtype), jnp.cos(x)) / 2
    ),
    "triangle": lambda x: jnp.sum(jnp.tril(jnp.outer(_small(x), x)), axis=0) / 2,
    "scan": lambda x: lax.scan(lambda h, r: (jnp.sin(h) + 0.5 * r, h * r), x[0], x)[1],
    "scan_reverse": lambda x: lax.scan(lambda h, r: (0.5 * h * r, h), x[1], x, reverse=True)[1],
    "scan_of_cond": lambda x: lax.scan(
        lambda h, r: (lax.cond(r > 0, jnp.sin, lambda h: 0.5 * h, h) + 0.3 * r, h * r), x[0], x
    )[1],
    "scan_of_custom": lambda x: lax.scan(
        lambda h, r: (_declared(h) + 0.5 * r, _declared(h * r)), x[0], x, unroll=2
    )[1],
    "scan_of_checkpoint": lambda x: lax.scan(
        jax.checkpoint(lambda h, r: (jnp.sin(h) * r, h)), x[3], x[::-1], reverse=True
    )[1],
    "while_to_bound": lambda x: lax.while_loop(
        lambda s: s[0] < 1 + jnp.sum(x > 0), lambda s: (s[0] + 1, jnp.sin(s[1]) + 0.3 * x), (0, x)
    )[1],
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, h: jnp.sin(h) + 0.3 * x, x),
    "while": lambda x: lax.while_loop(
        lambda s: s[0] < 2, lambda s: (s[0] + 1, 0.5 * jnp.cos(s[1]) * x), (0, x)
    )[1],
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, lambda x: 0.5 * x[::-1], x),
    "switch": lambda x: lax.switch(
        jnp.sum(x > 0) % 3, [jnp.sin, lambda x: 0.5 * x, lambda x: jnp.cos(x) * x[0]], x
    ),
    "map": lambda x: lax.map(lambda r: r / (1 + r * r), x),
    "while_on_value": lambda x: lax.while_loop(
        lambda h: jnp.sum(h**2) > 1.0, lambda h: 0.5 * h + 0.2 * jnp.sin(h), x
    ),
    "associative_scan": lambda x: lax.associative_scan(jnp.multiply, _positive(x) / 1.5),
    "jit": lambda x: jax.jit(lambda x: jax.jit(jnp.sin)(x) * 0.5 + x[0])(x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.cos(x) * x))(x),
    "vmap": lambda x: jax.vmap(lambda a, b: jnp.sin(a) * b)(x, x[::-1]),
    "grad_inside": lambda x: jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(x),
    "jvp_inside": lambda x: jax.jvp(jnp.sin, (x,), (_small(x),))[1],
    "custom_jvp": lambda x: _declared(x),
    "custom_jvp_vector": lambda x: x / (1 + _length(x)),
    "custom_vjp": lambda x: _backward_only(x),
}

MATRICES: dict[str, Callable] = {
    "transpose": lambda m: m.T,
    "matmul": lambda m: _small(m) @ jnp.cos(m),
    "inverse": lambda m: jnp.linalg.inv(_well(m)),
    "solve": lambda m: jnp.linalg.solve(_well(m), jnp.sin(m)),
    "triangular_solve": lambda m: jsp.linalg.solve_triangular(_well(m), jnp.sin(m), lower=True),
    "cholesky": lambda m: jnp.linalg.cholesky(_symmetric(m)),
    "qr": lambda m: jnp.linalg.qr(_well(m))[1] / 2,
    "qr_other": lambda m: jnp.linalg.qr(_well(m))[0] ** 2,
    "eigenvectors": lambda m: jnp.linalg.eigh(_symmetric(m))[1] ** 2,
    "lu": lambda m: lax.linalg.lu(_well(m))[0] / 3,
    "cho_solve": lambda m: jsp.linalg.cho_solve((jnp.linalg.cholesky(_symmetric(m)), True), m),
    "solve_from_right": lambda m: lax.linalg.triangular_solve(
        _well(m), jnp.sin(m), left_side=False, lower=True, transpose_a=True
    ),
    "matrix_power": lambda m: jnp.linalg.matrix_power(_small(m), 3),
    "expm": lambda m: jsp.linalg.expm(0.3 * jnp.tanh(m)) / 2,
}

AXES: dict[str, Callable] = {
    "centred": lambda m: m - 0.5 * jnp.sum(m, axis=1, keepdims=True),
    "normed_columns": lambda m: (m - jnp.mean(m, 0)[None]) / (1 + jnp.var(m, 0)[None]),
    "softmax_columns": lambda m: jax.nn.softmax(m, axis=0),
    "log_softmax_rows": lambda m: jax.nn.log_softmax(m, axis=1) / 2,
    "prod_rows": lambda m: jnp.prod(_positive(m), axis=1, keepdims=True) * _small(m) / 2,
    "max_columns": lambda m: jnp.sin(m) * jnp.max(m, axis=0, keepdims=True),
    "cumsum_reverse": lambda m: 0.5 * lax.cumsum(m, axis=1, reverse=True),
    "cumprod_reverse": lambda m: lax.cumprod(_positive(m) / 1.5, axis=0, reverse=True),
    "cummax_reverse": lambda m: lax.cummax(m, axis=1, reverse=True),
    "cumlogsumexp_reverse": lambda m: lax.cumlogsumexp(m, axis=0, reverse=True) / 2,
    "sort_columns": lambda m: jnp.sort(m, axis=0),
    "sort_by_two": lambda m: lax.sort((m, jnp.cos(m), jnp.sin(m)), dimension=1, num_keys=2)[2],
    "top_of_rows": lambda m: lax.top_k(m, 1)[0] * jnp.cos(m),
    "largest_of_rows": lambda m: (
        jnp.take_along_axis(m, jnp.argmax(m, 1)[:, None], axis=1) * jnp.sin(m)
    ),
    "concatenate_columns": lambda m: jnp.concatenate([m[:, 1:], jnp.sin(m[:, :1])], axis=1),
    "rev_both": lambda m: m[::-1, ::-1],
    "pad_negative": lambda m: lax.pad(
        jnp.concatenate([m, jnp.sin(m)], 1), m[0, 1], [(-1, 1, 0), (-1, -1, 0)]
    ),
    "pad_between": lambda m: lax.pad(m, m[0, 0] * 0.5, [(0, 0, 0), (1, -1, 1)])[:, ::2],
    "gather_rows": lambda m: m[jnp.array([1, 1])],
    "gather_clipped": lambda m: jnp.take(m, jnp.array([5, 0]), axis=1, mode="clip"),
    "gather_wrapped": lambda m: jnp.take(m, jnp.array([3, -2]), axis=0, mode="wrap"),
    "scatter_row": lambda m: m.at[1].set(jnp.sin(m[0])),
    "scatter_columns": lambda m: m.at[:, jnp.array([0, 0])].add(0.3 * jnp.sin(m)),
    "scatter_clipped": lambda m: m.at[jnp.array([7])].multiply(
        _small(m[:1]), mode="clip", unique_indices=True
    ),
    "dynamic_row": lambda m: lax.dynamic_update_slice(
        m, jnp.sin(lax.dynamic_slice(m, (jnp.argmax(m[:, 0]), 0), (1, 2))), (jnp.argmin(m[0]), 0)
    ),
    "matmul_batched": lambda m: jnp.einsum("bi,bij->bj", m, jnp.stack([_small(m), m.T])) / 2,
    "matmul_of_three": lambda m: jnp.einsum("ij,kj,kl->il", _small(m), jnp.cos(m), _small(m)),
    "kron": lambda m: jnp.kron(_small(m), jnp.cos(m))[1:3, 1:3],
    "window_of_two": lambda m: lax.reduce_window(m, 0.0, lax.add, (2, 1), (1, 1), "SAME") / 2,
    "conv_of_two": lambda m: lax.conv_general_dilated(
        m[None, None], _small(m)[None, None], (1, 1), [(0, 1), (1, 0)]
    )[0, 0],
    "conv_in_groups": lambda m: lax.conv_general_dilated(
        m[None], jnp.sin(m)[:, None], (1,), [(1, 1)], rhs_dilation=(2,), feature_group_count=2
    )[0],
    "scan_of_rows": lambda m: lax.scan(
        lambda h, r: (jnp.sin(h) * r, h + 0.5 * r), m[0], m, reverse=True
    )[1],
    "vmap_columns": lambda m: jax.vmap(lambda c: jnp.sin(c) * c[0], in_axes=1, out_axes=1)(m),
    "axes_of_four": lambda m: (
        jnp.outer(m, jnp.sin(m)).reshape(2, 2, 2, 2).transpose(2, 0, 3, 1)[0, :, 1] / 2
    ),
    "fft_of_two": lambda m: jnp.real(jnp.fft.fft2(m)) / 3,
    "hessian_inside": lambda m: jax.hessian(lambda v: jnp.sin(v[0]) * jnp.tanh(v[1]))(m[0]) + m,
    "vjp_inside": lambda m: jax.vjp(lambda w: jnp.tanh(w @ m), m)[1](m)[0] / 2,
}
"""What vectors have one axis too few for."""

ONE_ENTRY: dict[str, Callable] = {
    "first": lambda x: x[:1],
    "kept_sum": lambda x: 0.5 * jnp.sum(x, keepdims=True),
    "kept_max": lambda x: jnp.max(x, keepdims=True),
    "layer": lambda x: jnp.tanh(jnp.sin(jnp.arange(1.0, 1 + x.size))[None] @ x),
    "normed": lambda x: x[:1] / jnp.sqrt(1 + jnp.sum(x * x, keepdims=True)),
}

OF_MATRICES: dict[str, Callable] = {
    "det": lambda m: jnp.linalg.det(_well(m)) / 5,
    "eig": lambda m: jnp.sum(
        jnp.abs(lax.linalg.eig(_well(m), enable_eigvec_derivs=True)[0]) / jnp.arange(3.0, 5.0)
    ),
    "slogdet": lambda m: jnp.linalg.slogdet(_well(m))[1],
    "trace": jnp.trace,
    "eigh": lambda m: jnp.linalg.eigvalsh(_symmetric(m))[0],
    "svd": lambda m: jnp.linalg.svd(_well(m), compute_uv=False)[1],
    "frobenius": lambda m: jnp.sqrt(1 + jnp.sum(m * m)),
}


def _well(m):
    """Well conditioned, with distinct eigenvalues and singular values."""
    return jnp.tanh(m) * 0.5 + jnp.diag(jnp.array([2.0, 4.0]))


def _pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID")


def _matrix(data):
    return BCOO((data, jnp.stack([ROWS, COLUMNS], axis=1)), shape=(SIZE, SIZE))


def _symmetric(m):
    t = 0.5 * jnp.tanh(m)
    return t @ t.T + jnp.diag(jnp.array([1.0, 3.0]))


@jax.custom_jvp
def _declared(x):
    """A rounded sine whose declared slope is a cosine of its own."""
    return jnp.sin(x)


@_declared.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return _declared(x), 0.9 * jnp.cos(x) * t


@jax.custom_jvp
def _length(x):
    return jnp.sqrt(jnp.sum(x * x))


@_length.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    r = _length(x)
    safe = jnp.where(r > 0, r, 1.0)
    return r, jnp.where(r > 0, jnp.vdot(x, t) / safe, 0.0)


@jax.custom_vjp
def _backward_only(x):
    return jnp.sin(x) * 0.5


_backward_only.defvjp(lambda x: (jnp.sin(x) * 0.5, x), lambda x, g: (0.5 * g * jnp.cos(x),))


REFERENCES: dict[str, Callable] = {
    "custom_vjp": lambda x: jnp.sin(x) * 0.5,
    "sparse_of_x": lambda x: jnp.zeros((SIZE, SIZE)).at[ROWS, COLUMNS].set(x[:3]) @ jnp.cos(x) / 2,
}
"""What operations are for the oracle, where JAX has no forward mode for them, or cannot map it."""

GROUPS: list[tuple[dict[str, Callable], str, str, int]] = [
    (ENTRYWISE, "v", "v", 3),
    (ENTRYWISE, "s", "s", 1),
    (ENTRYWISE, "m", "m", 1),
    (PAIRS, "vv", "v", 1),
    (PAIRS, "sv", "v", 1),
    (PAIRS, "ss", "s", 1),
    (PAIRS, "mm", "m", 1),
    (PAIRS, "os", "o", 1),
    (PAIRS, "so", "o", 1),
    (PAIRS, "ov", "v", 1),
    (ONE_ENTRY, "v", "o", 3),
    (ONE_ENTRY, "o", "o", 1),
    (REDUCTIONS, "v", "s", 1),
    (VECTORS, "v", "v", 5),
    (MATRICES, "m", "m", 4),
    (AXES, "m", "m", 4),
    (OF_MATRICES, "m", "s", 3),
    ({"reshape": lambda v: v.reshape(SIDE, SIDE)}, "v", "m", 3),
    ({"ravel": lambda m: m.reshape(-1)}, "m", "v", 1),
    ({"rows": lambda m: jnp.sum(m, axis=0)[jnp.array([0, 1, 0, 1])]}, "m", "v", 1),
    ({"only": lambda o: o[0]}, "o", "s", 2),
    ({"fill": lambda s: s * jnp.arange(1.0, 5.0) / 3}, "s", "v", 1),
]
"""Operations, what they take and give, and how often one is taken of these."""

OPERATIONS = tuple(
    tuple(Operation(name, takes, gives, function) for name, function in table.items())
    for table, takes, gives, weight in GROUPS
    for _ in range(weight)
)
"""By what they take and give, as often as one is taken of them."""
