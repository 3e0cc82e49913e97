"""The division of an equation's arrays into learnt ones, which are leaves, and known ones."""

import dataclasses
from typing import Any, final

import equinox as eqx
import jax
import wadler_lindig as wl
from jaxtyping import PyTree

from ..held import Held


@final
class Divided(eqx.Module):
    """A pytree some of whose arrays are learnt, while everything else is known.

    **Arguments:**

    - `tree`: the pytree.
    - `asked`: which arrays are learnt, as `equinox.partition` takes it.
    """

    learnt: PyTree
    _known: Held = eqx.field(static=True)

    def __init__(self, tree: PyTree, asked: PyTree):
        chosen, left = eqx.partition(tree, asked)
        self.learnt, rest = eqx.partition(chosen, eqx.is_inexact_array)
        # unchanged where possible: programs distinguish held arrays by identity
        self._known = Held(eqx.combine(rest, left) if jax.tree.leaves(self.learnt) else tree)

    def __pdoc__(self, **options: Any) -> wl.AbstractDoc:
        """What Equinox prints of a module that holds it: the pytree."""
        return wl.pdoc(self.whole(), **options)

    def whole(self) -> Any:
        """The pytree, with the present values of the learnt arrays."""
        known = self._known.value
        return eqx.combine(self.learnt, known) if jax.tree.leaves(self.learnt) else known


def check_reached(trainable: PyTree, asked: tuple[PyTree, ...], learnt: list[PyTree]) -> None:
    """Checks that each part that is asked for has arrays to learn.

    **Arguments:**

    - `trainable`: as it was given.
    - `asked`, `learnt`: what is asked for each part, and its arrays.

    **Raises:** `ValueError` if there are none.
    """

    def reaches(asked: Any, learnt: PyTree) -> bool:
        return asked is False or bool(jax.tree.leaves(learnt))

    if isinstance(trainable, tuple):
        found = jax.tree.leaves(jax.tree.map(reaches, asked, tuple(learnt)))
    else:
        found = [reaches(trainable, learnt)]
    if not all(found):
        raise ValueError(
            "Equation expects arrays of floating-point numbers in all that is trainable, got "
            f"trainable={trainable!r} and none there; what is to be learnt is an array, such as "
            "jnp.array(0.5), and neither a Python number nor inside a function."
        )


def fields(module: eqx.Module, names: str | tuple[str, ...]) -> PyTree:
    """Some fields of a module, as `equinox.partition` takes them.

    **Raises:** `ValueError` for a name that is not a field with arrays.
    """
    names = (names,) if isinstance(names, str) else names
    known = [each.name for each in dataclasses.fields(module)]
    for name in names:
        arrays = eqx.filter(getattr(module, name), eqx.is_inexact_array) if name in known else None
        if not jax.tree.leaves(arrays):
            raise ValueError(
                f"the trainable of {type(module).__name__} expects names of fields that have "
                f"arrays of floating-point numbers, got {name!r}; its fields are "
                f"{', '.join(known) or 'none'}."
            )
    none = jax.tree.map(lambda _: False, module)
    return eqx.tree_at(lambda m: [getattr(m, n) for n in names], none, replace_fn=lambda _: True)
