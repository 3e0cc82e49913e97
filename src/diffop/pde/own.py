"""Users' own problems: classes by their path."""

import inspect
from typing import Any

from jaxtyping import PRNGKeyArray

from ..paths import found_at
from .problem import AbstractProblem


def imported(path: str) -> type[AbstractProblem]:
    """The class of problems called `package.module:Class`.

    **Raises:** `ValueError` if there is no such module, nothing of that name in it, or something
    that is not a class of problems.
    """
    cls = found_at(path, "problem")
    if not (isinstance(cls, type) and issubclass(cls, AbstractProblem)):
        raise ValueError(
            f"{path!r} is no class of problems, got {cls!r}; derive one from "
            "diffop.pde.AbstractSolvedProblem, or from another class of diffop.pde."
        )
    return cls


def size_of(cls: type[AbstractProblem]) -> str | None:
    """The name of a class's parameter for the dimension; None if the dimension is fixed."""
    parameters = inspect.signature(cls).parameters
    return next((name for name in ("dim", "space_dim") if name in parameters), None)


def made(cls: type[AbstractProblem], dim: int | None, key: PRNGKeyArray) -> AbstractProblem:
    """A problem of a class. Its parameters `dim` (or `space_dim`) and `key` are passed if it has
    them, and no others.

    **Raises:** `ValueError` if it needs others, or does not exist in `dim` dimensions.
    """
    parameters, size = inspect.signature(cls).parameters, size_of(cls)
    given: dict[str, Any] = {"key": key} if "key" in parameters else {}
    if size is not None:
        given[size] = cls.recommended.dim if dim is None else dim
    needed = [name for name, p in parameters.items() if p.default is p.empty and name not in given]
    if needed:
        raise ValueError(
            f"{cls.__name__} is made with {', '.join(needed)}, of which nothing is known here; "
            "give defaults, or solve an object: diffop.train.solve(problem, directory)."
        )
    problem = cls(**given)
    if size is None and dim not in (None, problem.dim):
        raise ValueError(
            f"{problem.name} has {problem.dim} coordinates, time among them, got dim {dim}; leave "
            "the dimension out."
        )
    return problem
