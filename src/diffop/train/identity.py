"""Which problem a run is of: a name of the library, or one of one's own."""

import hashlib
import re
from typing import Any, TypeAlias

import jax
import numpy as np

from .. import pde
from ..pde import AbstractProblem, Recommended

Problem: TypeAlias = str | type[AbstractProblem] | AbstractProblem

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DIGITS = 16


def identity(problem: Problem) -> str:
    """A problem in a word that is another one for another problem.

    It is the name of a problem of the library; `package.module:Class` for a class; and for an
    object that and a digest of what it was made with: its arrays, and its fields as Python shows
    them. What the class does is not in it.
    """
    if isinstance(problem, str):
        return problem
    cls = problem if isinstance(problem, type) else type(problem)
    path = f"{cls.__module__}:{cls.__qualname__}"
    return path if isinstance(problem, type) else f"{path}#{_digest(problem)}"


def name_of(problem: Problem) -> str:
    """The name of a problem, for people."""
    return problem.partition("#")[0] if isinstance(problem, str) else problem.name


def is_own(problem: Any) -> bool:
    """Whether it is the identity of a problem that is not the library's: nothing is imported by
    what a file says, so it has to be given again.
    """
    return isinstance(problem, str) and ":" in problem


def recommended(problem: Problem) -> Recommended:
    """The settings that suit a problem."""
    if isinstance(problem, str):
        return Recommended() if is_own(problem) else pde.recommended(problem)
    return problem.recommended


def _digest(problem: AbstractProblem) -> str:
    leaves, structure = jax.tree.flatten(problem)
    digest = hashlib.sha256(_ADDRESS.sub("", str(structure)).encode())
    for leaf in leaves:
        if isinstance(leaf, jax.Array | np.ndarray):
            digest.update(f"{leaf.dtype}{leaf.shape}".encode() + np.asarray(leaf).tobytes())
        else:
            digest.update(_ADDRESS.sub("", repr(leaf)).encode())
    return digest.hexdigest()[:_DIGITS]
