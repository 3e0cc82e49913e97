"""Every primitive that JAX differentiates is tested, or there is a reason."""

import pytest

from diffop.taylor.registry import has_rule

from .coverage import ELSEWHERE, PAGE, WITHOUT_DERIVATIVE, differentiable, page, rows

pytestmark = pytest.mark.usefixtures("x64")

OWN_RULE = """
abs acos acosh add asin asinh atan atan2 atanh cbrt ceil clamp complex concatenate conj
conv_general_dilated copy cos cosh cummax cummin cumprod cumsum custom_jvp_call custom_vjp_call
digamma div dot_general dynamic_slice dynamic_update_slice erf erf_inv erfc exp exp2 expm1 fft floor
gather igamma igammac imag integer_pow bessel_i0e bessel_i1e jit lgamma log log1p logistic max min
mul neg pad pow real reduce_max reduce_min reduce_precision reduce_prod reduce_sum reduce_window_max
reduce_window_sum rem reshape rev round rsqrt scan scatter scatter-add scatter-max scatter-sub
select_n sign sin sinh slice sort split sqrt square squeeze stack sub tan tanh top_k transpose
unstack triangular_solve while cond
""".split()
"""What elementwise functions, reductions, indexing and linear maps of `jax.numpy` lower to."""


def test_the_page_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python -m tests.taylor.coverage"


def test_every_primitive_is_tested_or_has_a_reason():
    untested = [name for name, _, where in rows() if not where]
    assert not untested


def test_reasons_are_given_for_what_there_is():
    excused = {
        name
        for table in (ELSEWHERE, WITHOUT_DERIVATIVE)
        for names in table.values()
        for name in names.split()
    }
    assert excused <= set(differentiable())


@pytest.mark.parametrize("name", OWN_RULE)
def test_what_numpy_is_made_of_has_a_rule(name):
    assert has_rule(name)
