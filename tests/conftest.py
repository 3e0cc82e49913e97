"""Settings and fixtures that all tests share."""

import itertools

import hypothesis
import jax
import pytest

# A library must not depend on its user's lenient settings.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile(
    "diffop", deadline=None, derandomize=True, max_examples=30, print_blob=False
)
hypothesis.settings.load_profile("diffop")


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
