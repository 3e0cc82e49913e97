"""Settings and fixtures that all tests share."""

import gc
import itertools
import os
import tempfile
from collections import Counter

import hypothesis
import jax
import jaxtyping
import pytest

# A library must not depend on its user's lenient settings.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Two devices, on which programs that are mapped over devices differ from others.
jax.config.update("jax_num_cpu_devices", 2)

# Programs here run once, on little: compiling them is what takes time. What is compiled is kept for
# the session, for the processes that tests start too; name a directory to keep it for the next one.
_compiled = tempfile.TemporaryDirectory(prefix="compiled-", ignore_cleanup_errors=True)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", _compiled.name)
_COMPILING = {
    "jax_disable_most_optimizations": True,
    "jax_compilation_cache_dir": os.environ["JAX_COMPILATION_CACHE_DIR"],
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
for _name, _value in _COMPILING.items():
    os.environ[_name.upper()] = str(_value)
    jax.config.update(_name, _value)

# Tracing makes objects by the million, and most of them live as long as their program.
gc.set_threshold(100_000, 20, 20)

hypothesis.settings.register_profile(
    "diffop", deadline=None, derandomize=True, max_examples=30, print_blob=False
)
hypothesis.settings.load_profile("diffop")


# Checking the types of every call takes as long as all else in a test, and the cases of one test
# have much the same types: every eighth of them is checked, or all with `--types=all`.
CHECKED = 8

# Of the tests whose cases say much the same, every so many cases are run; all by `make test-all`.
THINNED = {
    **dict.fromkeys(
        (
            "test_chunks_change_nothing",
            "test_exact",
            "test_exact_without_x64",
            "test_functions",
            "test_known_series_to_order_13",
            "test_lineax_operators",
            "test_weights_shared_by_blocks",
            "test_where_an_exponential_underflows",
        ),
        3,
    ),
    "test_activation_in_mlp": 5,
    "test_collapsed_directions_against_nested_jvp": 4,
    "test_complex_values": 2,
    "test_explicit_mesh.py": 5,
    "test_grad_through_parameters": 5,
    "test_jet_against_nested_jvp": 2,
    "test_rules_against_the_dense_twin": 5,
    "test_every_order": 11,
    "test_operands_of_two_types": 3,
    "test_type_and_value": 24,
    **dict.fromkeys(
        ("test_forms.py", "test_high_orders.py", "test_solitons.py", "test_squares.py"), 3
    ),
    **dict.fromkeys(
        (
            "test_adaptive.py",
            "test_deflation.py",
            "test_estimates.py",
            "test_finite.py",
            "test_products.py",
            "test_sparse_sigma.py",
            "test_two_body.py",
            "test_variance.py",
        ),
        2,
    ),
}


def pytest_addoption(parser):
    parser.addoption("--types", choices=("some", "all"), default="some")


def pytest_collection_modifyitems(config, items):
    every = 1 if config.getoption("types") == "all" else CHECKED
    seen: Counter = Counter()
    for item in items:
        test = item.nodeid.split("[")[0]
        thinned = THINNED.get(item.originalname) or THINNED.get(item.path.name, 1)
        if seen[test] % thinned:
            item.add_marker(pytest.mark.slow)
        item.check_types = seen[test] % every == 0
        seen[test] += 1


@pytest.fixture(autouse=True)
def types(request):
    jaxtyping.config.update("jaxtyping_disable", not request.node.check_types)


@pytest.fixture
def getkey():
    """`getkey()` is a new random key at each call, the same sequence in every test."""
    seeds = itertools.count()
    return lambda: jax.random.key(next(seeds))


@pytest.fixture(scope="module")
def x64():
    """Double precision for one test module: `pytestmark = pytest.mark.usefixtures("x64")`."""
    with jax.enable_x64(True):
        yield
