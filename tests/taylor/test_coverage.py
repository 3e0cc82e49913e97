"""Every primitive that JAX differentiates is tested, or there is a reason."""

import ast
import pathlib
import re
import subprocess
import sys

import jax
import pytest
from jax.interpreters import ad

from diffop.taylor import primitive
from diffop.taylor.primitive import has_rule

ROOT = pathlib.Path(__file__).parents[2]

OWN_RULE = """
abs acos acosh add asin asinh atan atan2 atanh cbrt ceil clamp complex concatenate conj
conv_general_dilated copy cos cosh cummax cummin cumprod cumsum custom_jvp_call custom_vjp_call
digamma div dot_general dynamic_slice dynamic_update_slice erf erf_inv erfc exp exp2 expm1 fft floor
gather igamma igammac imag integer_pow bessel_i0e bessel_i1e jit lgamma log log1p log2 logistic max
min mul neg pad pow real reduce_max reduce_min reduce_precision reduce_prod reduce_sum
reduce_window_max reduce_window_sum rem reshape rev round rsqrt scan scatter scatter-add scatter-max
scatter-sub select_n sign sin sinh slice shard_map sort split sqrt square squeeze stack sub tan tanh
top_k transpose unstack triangular_solve while cond
""".split()
"""What elementwise functions, reductions, indexing and linear maps of `jax.numpy` lower to."""


PAGE = (ROOT / "docs" / "devdocs" / "primitives.md").read_text(encoding="utf-8")
TABLE = re.findall(r"primitive of JAX (\d[\d.]*\d)", PAGE)[0]
"""The JAX that the table in the documentation is of; primitives come and go."""


def test_every_primitive_is_in_the_table_and_tested_or_has_a_reason():
    """In a process of its own: other tests and libraries make primitives, too."""
    check = "--check" if jax.__version__ == TABLE else "--untested"
    command = [sys.executable, "-m", "tests.taylor.coverage", check]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_only_rules_name_primitives():
    """All else reads their records."""
    names = {*primitive._records, *(each.name for each in ad.primitive_jvps)}
    engine = pathlib.Path(primitive.__file__).parent
    files = [path for path in engine.rglob("*.py") if path.parent.name != "rules"]
    assert len(files) > 20
    for path in files:
        strings = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not strings & names, path


@pytest.mark.parametrize("name", OWN_RULE)
def test_what_numpy_is_made_of_has_a_rule(name):
    assert has_rule(name)
