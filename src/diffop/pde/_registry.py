"""Problems by name, for the command line."""

import difflib

from jaxtyping import PRNGKeyArray

from ._allen_cahn import AllenCahnTwoBody
from ._problem import AbstractProblem

_PROBLEMS = {problem.name: problem for problem in (AllenCahnTwoBody,)}


def names() -> tuple[str, ...]:
    """The names of all problems, sorted.

    **Returns:** a tuple of strings, each of which `diffop.pde.make` accepts.

    !!! example

        ```python
        import diffop as do

        do.pde.names()  # ('allen-cahn-two-body',)
        ```
    """
    return tuple(sorted(_PROBLEMS))


def summary(name: str) -> str:
    """The first line of the documentation of the problem called `name`."""
    return (_PROBLEMS[name].__doc__ or "").strip().splitlines()[0]


def make(name: str, dim: int, *, key: PRNGKeyArray) -> AbstractProblem:
    """The problem called `name`, in `dim` dimensions.

    **Arguments:**

    - `name`: one of `diffop.pde.names()`.
    - `dim`: the number of coordinates.
    - `key`: a key from `jax.random.key`, for whatever in the problem is random.

    **Returns:** the problem.

    **Raises:** `ValueError` if there is no such problem (the message names the nearest ones) or if
    `dim` is too small for it.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.make("allen-cahn-two-body", 1000, key=jax.random.key(0))
        ```
    """
    if name not in _PROBLEMS:
        near = difflib.get_close_matches(name, names(), cutoff=0.3) or names()
        raise ValueError(
            f"there is no problem called {name!r}; the nearest names are: {', '.join(near)}."
        )
    return _PROBLEMS[name](dim, key=key)
