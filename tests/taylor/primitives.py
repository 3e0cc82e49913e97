"""One function ℝ⁶ → anything for each primitive that the Taylor engine may meet.

`order` is how far the comparison with nested `jax.jvp` goes, whose cost grows exponentially. No
function has a kink or a tie at the points used.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.sparse import BCOO

from ..versions import JAX

N = 6


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    order: int

    def __repr__(self):
        return self.name


def _unit(f, low=-0.9, high=0.9):
    """f on an interval where it is smooth: x is mapped into (low, high)."""
    return lambda x: f(low + (high - low) * (0.5 + jnp.arctan(x) / 3.5))


ELEMENTWISE = {
    **{
        f.__name__: f
        for f in (
            *(
                jnp.exp,
                jnp.expm1,
                jnp.exp2,
                jnp.sin,
                jnp.cos,
                jnp.tan,
                jnp.sinh,
                jnp.cosh,
                jnp.tanh,
            ),
            *(jnp.arctan, jnp.arcsinh, jnp.square, jnp.negative, jnp.sinc, jnp.abs, jnp.sign),
            *(jnp.floor, jnp.ceil, jnp.round),
            *(jax.nn.sigmoid, lax.erf, lax.erfc),
        )
    },
    "log": _unit(jnp.log, 0.3, 2.0),
    "log1p": _unit(jnp.log1p),
    "log2": _unit(jnp.log2, 0.3, 2.0),
    "sqrt": _unit(jnp.sqrt, 0.3, 2.0),
    "rsqrt": _unit(lax.rsqrt, 0.3, 2.0),
    "cbrt": _unit(jnp.cbrt, 0.3, 2.0),
    "arcsin": _unit(jnp.arcsin),
    "arccos": _unit(jnp.arccos),
    "arctanh": _unit(jnp.arctanh),
    "arccosh": _unit(jnp.arccosh, 1.2, 2.0),
    "erf_inv": _unit(lax.erf_inv),
    "lgamma": _unit(lax.lgamma, 0.5, 3.0),
    "digamma": _unit(lax.digamma, 0.5, 3.0),
    "logistic": lax.logistic,
    "bessel_i0e": lax.bessel_i0e,
    "bessel_i1e": lax.bessel_i1e,
    "polygamma": _unit(lambda x: jsp.special.polygamma(1, x), 0.5, 3.0),
    "betainc": _unit(lambda x: jsp.special.betainc(2.0, 3.5, x), 0.2, 0.8),
    "named": lambda x: checkpoint_name(jnp.sin(x), "sine") * x,
    "barrier": lambda x: lax.optimization_barrier(jnp.sin(x)) * x,
    "integer_pow": lambda x: lax.integer_pow(x, 5),
    "integer_pow_negative": _unit(lambda x: lax.integer_pow(x, -3), 0.5, 2.0),
    "pow_number": _unit(lambda x: x**2.7, 0.3, 2.0),
    "real_imag": lambda x: jnp.real(jnp.exp(lax.complex(x, 2 * x))) * jnp.imag(lax.complex(x, x)),
    "conj_abs": lambda x: jnp.abs(jnp.conj(lax.complex(x, jnp.cos(x)))),
    "convert": lambda x: x.astype(jnp.complex128) ** 2,
    "stop_gradient": lambda x: lax.stop_gradient(x) * x,
    "select": lambda x: jnp.where(x > 0, jnp.sin(x), x**2),
    "clamp": lambda x: lax.clamp(-0.5, x, 0.8) * x,
    "reduce_precision": lambda x: lax.reduce_precision(x, 11, 52) * x,
}

if JAX >= (0, 12):
    ELEMENTWISE |= {
        "nextafter": lambda x: jnp.nextafter(jnp.sin(x), 2.0) * x,
        "one_minus_square": lambda x: lax.one_minus_square(jnp.sin(x)),
        "polynomial": lambda x: lax.polynomial(x, (1.0, -2.0, 0.5, 3.0)),
        "polynomial_coefficients": lambda x: lax.polynomial(x, (jnp.sin(x), x**2, jnp.ones(N))),
    }

TWO_OPERANDS = {
    "add": lambda x, y: x + jnp.sin(y),
    "sub": lambda x, y: x * x - y,
    "mul": lambda x, y: x * y,
    "mul_by_itself": lambda x, y: x * x,
    "mul_by_constant": lambda x, y: jnp.arange(3.0) * x - y * 2.0,
    "div": lambda x, y: x / (2.0 + y * y),
    "div_by_constant": lambda x, y: x / 3.0,
    "constant_div": lambda x, y: 3.0 / (2.0 + y * y),
    "rem": lambda x, y: jnp.remainder(x, 0.7) * y,
    "rem_both": lambda x, y: lax.rem(x, 1.3 + y * y),
    "pow": lambda x, y: (1.0 + x * x) ** y,
    "pow_constant_base": lambda x, y: 1.7**y,
    "atan2": lambda x, y: jnp.arctan2(x, y),
    "atan2_constant": lambda x, y: jnp.arctan2(x, 0.7),
    "hypot": lambda x, y: jnp.hypot(x, y),
    "max": lambda x, y: jnp.maximum(x, jnp.sin(y)),
    "min": lambda x, y: jnp.minimum(x, jnp.sin(y)),
    "max_constant": lambda x, y: jnp.maximum(x * y, 0.1),
    "logaddexp": lambda x, y: jnp.logaddexp(x, y),
    "complex": lambda x, y: lax.complex(x, y) * lax.complex(y, x * x),
    "igamma": lambda x, y: lax.igamma(2.5, 1 + x * x),
    "igammac": lambda x, y: lax.igammac(2.5, 1 + x * x) * y,
    "max_ties": lambda x, y: jnp.maximum(x * y, y * x) * x,
}


def _matrix(x):
    """3 × 3, nonsymmetric and invertible."""
    return jnp.outer(x[:3], jnp.sin(x[3:])) + jnp.diag(jnp.cos(x[:3])) + 2.0 * jnp.eye(3)


def _positive(x):
    A = _matrix(x)
    return A @ A.T + jnp.diag(jnp.arange(3.0))


def _hermitian(x):
    S = _positive(x)
    skew = jnp.outer(x[:3], x[3:])
    return lax.complex(S, skew - skew.T)


STRUCTURE = {
    "reshape": lambda x: (x**2).reshape(2, 3),
    "transpose": lambda x: jnp.sin(x).reshape(2, 3).T,
    "broadcast": lambda x: jnp.broadcast_to(x**2, (2, 6)),
    "squeeze": lambda x: jnp.squeeze(jnp.sin(x)[None, :, None]),
    "expand_dims": lambda x: jnp.expand_dims(x**3, 1),
    "slice": lambda x: jnp.sin(x)[1:6:2],
    "reverse": lambda x: jnp.flip(jnp.sin(x)) * x,
    "roll": lambda x: jnp.roll(x, 2) * x,
    "concatenate": lambda x: jnp.concatenate([jnp.sin(x), x[:2] ** 2, jnp.ones(2)]),
    "stack": lambda x: jnp.stack([x, x**2, jnp.zeros(6)]),
    "pad": lambda x: lax.pad(jnp.sin(x), 0.5, [(1, 2, 1)]),
    "pad_negative": lambda x: lax.pad(jnp.sin(x), 0.5, [(-1, 1, 0)]),
    "pad_value": lambda x: lax.pad(jnp.sin(x), x[0] ** 2, [(1, 2, 0)]),
    "tile": lambda x: jnp.tile(x**2, (2, 2)),
    "split": lambda x: [p**k for k, p in enumerate(jnp.split(x, 3), start=2)],
    "gather": lambda x: jnp.sin(x)[jnp.array([0, 5, 5, 2])],
    "gather_rows": lambda x: (x**2).reshape(3, 2)[jnp.array([2, 0])],
    "take_along_axis": lambda x: jnp.take_along_axis(
        jnp.sin(x).reshape(2, 3), jnp.array([[2, 0], [1, 1]]), axis=1
    ),
    "gather_traced_index": lambda x: jnp.sin(x)[jnp.argmax(x)],
    "scatter_add": lambda x: jnp.zeros(3).at[jnp.array([0, 2, 0, 1, 1, 0])].add(x**2),
    "scatter_set": lambda x: jnp.sin(x).at[jnp.array([1, 4])].set(x[:2] ** 3),
    "scatter_set_constant": lambda x: jnp.sin(x).at[2].set(1.0),
    "scatter_mul": lambda x: (
        jnp.sin(x).at[jnp.array([1, 4])].multiply(x[:2] ** 3, unique_indices=True)
    ),
    "scatter_max": lambda x: jnp.sin(x).at[jnp.array([1, 4])].max(x[:2] ** 3),
    "scatter_min": lambda x: jnp.sin(x).at[jnp.array([1, 4])].min(x[:2] ** 3),
    "scatter_subtract": lambda x: jnp.sin(x).at[jnp.array([1, 4])].subtract(x[:2] ** 3),
    "unstack": lambda x: [row**2 for row in jnp.unstack(jnp.sin(x).reshape(2, 3))],
    "dynamic_slice": lambda x: lax.dynamic_slice(jnp.sin(x), (jnp.argmin(x),), (2,)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(
        jnp.sin(x), x[:2] ** 3, (jnp.argmin(x),)
    ),
    "triangle": lambda x: jnp.tril(jnp.outer(x, jnp.sin(x))),
    "copy": lambda x: jnp.copy(x) ** 2,
    "iota_and_compare": lambda x: jnp.where(jnp.arange(6) < 3, x**2, jnp.sin(x)),
    "argmax_is_constant": lambda x: (jnp.argmax(x), x * jnp.argmax(x).astype(x.dtype)),
    "integer_output": lambda x: (jnp.sum(x > 0), jnp.sum(x**3)),
}

REDUCTIONS = {
    "sum": lambda x: jnp.sum(jnp.sin(x)),
    "sum_axis": lambda x: jnp.sum(jnp.sin(x).reshape(2, 3), axis=0),
    "mean": lambda x: jnp.mean(x**3),
    "variance": lambda x: jnp.var(jnp.sin(x)),
    "prod": lambda x: jnp.prod(x + 2),
    "prod_axis": lambda x: jnp.prod(jnp.sin(x).reshape(2, 3), axis=1),
    "max": lambda x: jnp.max(jnp.sin(x) * x),
    "min": lambda x: jnp.min(x**3),
    "max_axis": lambda x: jnp.max(jnp.sin(x).reshape(2, 3), axis=0),
    "logsumexp": lambda x: jsp.special.logsumexp(x),
    "softmax": lambda x: jax.nn.softmax(x),
    "norm": lambda x: jnp.linalg.norm(x),
    "cumsum": lambda x: jnp.cumsum(jnp.sin(x)),
    "cumsum_reverse": lambda x: lax.cumsum(jnp.sin(x), reverse=True),
    "cumprod": lambda x: jnp.cumprod(x),
    "cummax": lambda x: lax.cummax(jnp.sin(x)),
    "cummin": lambda x: lax.cummin(x**3),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x),
    "sort": lambda x: jnp.sort(jnp.sin(x)),
    "sort_several": lambda x: lax.sort((x, jnp.sin(x), x**2), num_keys=1),
    "median": lambda x: jnp.median(x**3),
    "top_k": lambda x: lax.top_k(jnp.sin(x), 2)[0],
    "reduce_window_sum": lambda x: lax.reduce_window(jnp.sin(x), 0.0, lax.add, (3,), (1,), "VALID"),
    "reduce_window_max": lambda x: lax.reduce_window(
        jnp.sin(x), -jnp.inf, lax.max, (3,), (2,), "VALID"
    ),
    "reduce_window_min": lambda x: lax.reduce_window(
        jnp.sin(x), jnp.inf, lax.min, (3,), (1,), "VALID"
    ),
    "average_pool": lambda x: lax.reduce_window(
        jnp.sin(x).reshape(1, 6), 0.0, lax.add, (1, 2), (1, 2), "VALID"
    ),
    "slope_of_max_pool": lambda x: jax.grad(
        lambda y: jnp.sum(lax.reduce_window(y**3, -jnp.inf, lax.max, (3,), (2,), "VALID"))
    )(x),
    "prod_of_one": lambda x: jnp.prod(x[:1] ** 2),
    "prod_of_none": lambda x: jnp.prod(x[:0]) * x,
    "cumprod_reverse": lambda x: lax.cumprod(jnp.sin(x).reshape(2, 3), axis=1, reverse=True),
    "reduce": lambda x: lax.reduce(jnp.sin(x), 0.0, lax.add, (0,)),
    "reduce_by_a_function": lambda x: lax.reduce(jnp.sin(x), 1.0, lambda a, b: a * b * 1.0, (0,)),
    "reduce_of_pairs": lambda x: lax.reduce(
        (x, jnp.sin(x)), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,)
    ),
    "associative_scan": lambda x: lax.associative_scan(jnp.multiply, x),
}


def _sparse(data):
    return BCOO((data, jnp.array([[0, 1], [1, 5], [1, 2]])), shape=(2, 6))


LINEAR_ALGEBRA = {
    "dot": lambda x: x[:3] @ jnp.sin(x[3:]),
    "matmul": lambda x: _matrix(x) @ jnp.sin(_matrix(x)),
    "matmul_by_constant": lambda x: jnp.arange(12.0).reshape(2, 6) @ jnp.sin(x),
    "dot_batched": lambda x: jnp.einsum(
        "bij,bjk->bik", x.reshape(2, 3, 1), jnp.sin(x).reshape(2, 1, 3)
    ),
    "dot_batched_by_constant": lambda x: jnp.einsum(
        "bi,bij->jb", jnp.sin(x).reshape(2, 3), jnp.arange(12.0).reshape(2, 3, 2)
    ),
    "einsum_three": lambda x: jnp.einsum("i,ij,j", x[:3], _matrix(x), x[3:]),
    "conv": lambda x: jnp.convolve(jnp.sin(x), x[:3]),
    "conv_by_constant": lambda x: lax.conv_general_dilated(
        jnp.sin(x).reshape(1, 1, 6), jnp.arange(6.0).reshape(2, 1, 3), (1,), "SAME"
    ),
    "conv_2d": lambda x: lax.conv_general_dilated(
        jnp.outer(x, x)[None, None], _matrix(x)[None, None], (2, 1), "VALID"
    ),
    "cholesky": lambda x: jnp.linalg.cholesky(_positive(x)),
    "triangular_solve": lambda x: jsp.linalg.solve_triangular(_matrix(x), x[:3], lower=True),
    "solve": lambda x: jnp.linalg.solve(_matrix(x), jnp.sin(x[:3])),
    "inverse": lambda x: jnp.linalg.inv(_matrix(x)),
    "determinant": lambda x: jnp.linalg.det(_matrix(x)),
    "slogdet": lambda x: jnp.linalg.slogdet(_matrix(x)),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(
        jnp.sin(x), 4.0 + x**2, jnp.cos(x), x[:, None]
    ),
    "sparse_matrix": lambda x: _sparse(jnp.arange(3.0)) @ jnp.sin(x),
    "sparse_of_x": lambda x: _sparse(x[:3] ** 2).todense() @ jnp.sin(x),
    "eigh": lambda x: jnp.linalg.eigvalsh(_positive(x)),
    "eigh_hermitian": lambda x: jnp.linalg.eigvalsh(_hermitian(x)),
    "qr": lambda x: jnp.linalg.qr(_matrix(x)),
    "singular_values": lambda x: jnp.linalg.svd(_matrix(x), compute_uv=False),
    "fft": lambda x: jnp.fft.fft(jnp.sin(x)),
    "rfft": lambda x: jnp.fft.rfft(x**2),
    "irfft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x**2) ** 2),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda v: _positive(x) @ v,
        jnp.sin(x[:3]),
        solve=lambda _, b: jnp.linalg.solve(_positive(x), b),
        symmetric=True,
    ),
}

if JAX >= (0, 10, 1):  # before, JAX derives it once
    LINEAR_ALGEBRA["eig"] = lambda x: lax.linalg.eig(
        _matrix(x) + jnp.diag(jnp.arange(3.0) * 4), enable_eigvec_derivs=True
    )[0]


@jax.custom_jvp
def doubled_slope(x):
    """x, but its derivative is declared to be 2: only the custom rule says so."""
    return x


@doubled_slope.defjvp
def _(primals, tangents):
    return doubled_slope(primals[0]), 2.0 * tangents[0]


@jax.custom_jvp
def softened(x):
    """|x|, whose declared derivative tanh(5x) is smooth."""
    return jnp.abs(x)


@softened.defjvp
def _(primals, tangents):
    return softened(primals[0]), jnp.tanh(5.0 * primals[0]) * tangents[0]


@jax.custom_jvp
def two_arguments(x, y):
    return x * jnp.sin(y)


@two_arguments.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return two_arguments(x, y), dx * jnp.sin(y) + x * jnp.cos(y) * dy


def _scan(x):
    def step(carry, row):
        h, i = carry
        h = jnp.sin(h) + row * x[:3]
        return (h, i + 1), (h * i, i)

    (h, i), (ys, _) = lax.scan(step, (x[:3], 0), x.reshape(2, 3))
    return h, ys


def _scan_growing(x):
    """The carry depends on x only from the second step on, by another component."""

    def step(carry, xi):
        a, b = carry
        return (b * 2.0, jnp.sin(xi) * x[0]), a

    carry, ys = lax.scan(step, (1.0, 2.0), x)
    return carry, ys


def _scan_reverse(x):
    return lax.scan(lambda h, xi: (h * xi + 1.0, h), jnp.ones(()), x, reverse=True)


def _while(x):
    def body(state):
        i, h = state
        return i + 1, jnp.sin(h) + x

    return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]


def _while_on_value(x):
    """As many iterations as the value asks for."""
    return lax.while_loop(lambda h: jnp.sum(h**2) < 50.0, lambda h: 1.5 * h + jnp.sin(h), x)


def _grown(v, count):
    """Mapped over `count`, each has a last iteration of its own."""
    state = lax.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, jnp.sin(s[1]) + v), (0, v))
    return state[1]


def _cond(x):
    return lax.cond(x[0] > 0, lambda x: jnp.sin(x), lambda x: x**3, x)


def _cond_one_branch_constant(x):
    return lax.cond(x[0] > 0, lambda x: (x**2, jnp.ones(2)), lambda x: (jnp.ones(6), x[:2]), x)


def _switch(x):
    branches = [lambda x: jnp.sin(x), lambda x: x**2, lambda x: jnp.exp(x) * x]
    return lax.switch(jnp.sum(x > 0) % 3, branches, x)


CONTROL = {
    "scan": _scan,
    "scan_growing": _scan_growing,
    "scan_reverse": _scan_reverse,
    "scan_unrolled": lambda x: lax.scan(lambda h, v: (jnp.sin(h) * v, h), x[0], x, unroll=3),
    "scan_no_carry": lambda x: lax.map(lambda v: v**3, x),
    "fori_loop": lambda x: lax.fori_loop(0, 4, lambda i, h: jnp.sin(h) + x * i, x),
    "while_loop": _while,
    "while_loop_on_value": _while_on_value,
    "while_loop_mapped": lambda x: jax.vmap(_grown)(x, jnp.arange(6)),
    "cond": _cond,
    "cond_one_branch_constant": _cond_one_branch_constant,
    "cond_no_operand": lambda x: lax.cond(x[1] > 0, lambda: jnp.sin(x), lambda: x**2),
    "switch": _switch,
    "nested_jit": lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) * y)(x**2),
    "remat": lambda x: jax.checkpoint(lambda y: jnp.sin(y) * y)(x**2),
    "custom_jvp": lambda x: doubled_slope(x) ** 3,
    "custom_jvp_smooth": lambda x: softened(x) * x,
    "custom_jvp_two_arguments": lambda x: two_arguments(x[:3], x[3:] ** 2),
    "custom_jvp_one_constant": lambda x: two_arguments(x, jnp.arange(6.0)),
    "vmap_inside": lambda x: jax.vmap(lambda a, b: jnp.sin(a) @ b)(x.reshape(2, 3), _matrix(x)[:2]),
    "grad_inside": lambda x: jax.grad(lambda y: jnp.sum(jnp.tanh(y) ** 2))(x),
    "jvp_inside": lambda x: jax.jvp(jnp.sin, (x,), (x**2,)),
    "hessian_inside": lambda x: jax.hessian(lambda y: jnp.prod(jnp.sin(y)))(x[:3]),
    "scan_of_cond": lambda x: lax.scan(
        lambda h, v: (lax.cond(v > 0, lambda: jnp.sin(h) * v, lambda: h + v), h), x[0], x
    ),
    "while_in_scan": lambda x: lax.scan(
        lambda h, v: (lax.fori_loop(0, 2, lambda i, g: jnp.sin(g) + v, h), h), x[0], x
    ),
}

DEEP = {  # to order 5: every class of rule is among them
    *("tanh", "sqrt", "integer_pow", "clamp", "mul", "div", "pow", "max", "atan2", "gather"),
    *("scatter_add", "dynamic_slice", "concatenate", "cumsum", "sort", "logsumexp", "dot", "fft"),
    *(
        "cond",
        "scan",
        "while_loop",
        "nested_jit",
        "remat",
        "custom_jvp",
        "custom_jvp_two_arguments",
    ),
}
GROUPS = {
    "elementwise": ELEMENTWISE,
    "two": {name: (lambda f: lambda x: f(x[:3], x[3:]))(f) for name, f in TWO_OPERANDS.items()},
    "structure": STRUCTURE,
    "reduction": REDUCTIONS,
    "algebra": LINEAR_ALGEBRA,
    "control": CONTROL,
}
CASES = [
    Case(f"{group}-{name}", f, 5 if name in DEEP else 3)
    for group, table in GROUPS.items()
    for name, f in table.items()
]
