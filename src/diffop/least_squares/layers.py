"""Gradients with respect to weight matrices, as products of a layer's inputs and output gradients.

If a program uses a matrix W of parameters only in products y_i = x_i W, the gradient of a residual
r with respect to W is

    ∂r/∂W = Σ_i x_i ⊗ g_i,        g_i = ∂r/∂y_i,

with a row i for everything that goes through the layer at a point: the value, and a Taylor
coefficient for each direction and order of the jets. So the gradients of two residuals have the
inner product

    ⟨∂r/∂W, ∂r'/∂W⟩ = Σ_ij (x_i · x'_j) (g_i · g'_j),

which needs no matrix of the size of W.
"""

import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..taylor.binding import bind
from ..taylor.program import Atom, Constant, Program, flatten


@final
class LayerFactors(NamedTuple):
    """The gradient of each residual with respect to a matrix, $Σ_i x_i ⊗ g_i$, by the rows of both
    factors.

    - `first`: along the first axis of the matrix.
    - `second`: along the second axis.
    """

    first: Float[Array, "entries rows m"]
    second: Float[Array, "entries rows n"]


@final
class Gradients(NamedTuple):
    """The gradients of residuals: with respect to some parameter arrays as factors, by the numbers
    of these, and with respect to all others as part of the matrix J.
    """

    factors: dict[int, LayerFactors]
    whole: Float[Array, "entries parameters"]


@final
class Use(NamedTuple):
    """A product with a matrix of parameters.

    - `leaf`: the number of the matrix.
    - `operand`: which of the two operands it is.
    - `summed`: the axis of the other operand that is summed over.
    - `along`: the axis of the matrix that is summed over.
    """

    leaf: int
    operand: int
    summed: int
    along: int


@final
class Layers:
    """The program of `function`, from parameters and one point to a vector of residuals, and the
    products with parameters in it.
    """

    def __init__(self, function: Callable[..., Array], parameters: PyTree, point: PyTree) -> None:
        closed = jax.make_jaxpr(function)(parameters, point)
        self._program = flatten(closed.jaxpr, closed.consts)
        ranks = [jnp.ndim(leaf) for leaf in jax.tree.leaves(parameters)]
        self._matrices, self._uses = _uses(self._program, ranks)

    @functools.cached_property
    def rows(self) -> dict[int, int]:
        """How many rows go through each matrix that is only in products; 0 for one in none."""
        found = dict.fromkeys(self._matrices, 0)
        for number, use in self._uses.items():
            operand: Any = self._program.steps[number].eqn.invars[1 - use.operand].aval
            found[use.leaf] += math.prod(operand.shape) // operand.shape[use.summed]
        return found

    def gradients(
        self, parameters: PyTree, point: PyTree, factored: Collection[int]
    ) -> tuple[Float[Array, " entries"], Gradients]:
        """The residuals, and their gradients, as factors for those matrices in `rows` whose numbers
        are in `factored`.
        """
        leaves: list[Array] = jax.tree.leaves(parameters)
        coordinates: list[Array] = jax.tree.leaves(point)
        uses = {number: use for number, use in self._uses.items() if use.leaf in factored}
        others = {k: leaf for k, leaf in enumerate(leaves) if k not in factored}
        kinds: list[Any] = [self._program.steps[number].eqn.outvars[0].aval for number in uses]

        def run(added: list[Array], others: dict[int, Array]) -> tuple[Array, list[Array]]:
            own = [others.get(k, leaf) for k, leaf in enumerate(leaves)]
            return self._run([*own, *coordinates], dict(zip(uses, added, strict=True)))

        zeros = [jnp.zeros(kind.shape, kind.dtype) for kind in kinds]
        values, pull, inputs = jax.vjp(run, zeros, others, has_aux=True)
        back, of_others = jax.vmap(pull)(jnp.eye(values.size, dtype=values.dtype))
        parts: dict[int, list[LayerFactors]] = {k: [] for k in factored}
        for use, x, g in zip(uses.values(), inputs, back, strict=True):
            parts[use.leaf].append(_factors(use, x, g))
        joined = {
            k: _joined(each) if each else _none(values, leaves[k]) for k, each in parts.items()
        }
        # loops have no empty arrays: if nothing is left there is a column of zeros
        columns = [array.reshape(values.size, -1) for array in of_others.values()]
        whole = jnp.concatenate(columns, 1) if columns else jnp.zeros_like(values)[:, None]
        return values, Gradients(joined, whole)

    def _run(
        self, operands: Sequence[Array], added: dict[int, Array]
    ) -> tuple[Float[Array, " entries"], list[Array]]:
        """The residuals, with numbers added to the products at some steps, and the other operands
        of these products.
        """
        values: dict[int, Any] = dict(enumerate(operands))
        inputs: list[Array] = []

        def read(atom: Atom) -> Any:
            return atom.value if isinstance(atom, Constant) else values[atom]

        for number, step in enumerate(self._program.steps):
            arguments = [read(atom) for atom in step.reads]
            with step.eqn.ctx.manager:
                outputs = bind(step.eqn, arguments)
            if number in added:
                outputs = [outputs[0] + added[number]]
                inputs.append(arguments[1 - self._uses[number].operand])
            values.update(zip(step.writes, outputs, strict=True))
        (residuals,) = map(read, self._program.outputs)
        return residuals, inputs


def _joined(parts: Sequence[LayerFactors]) -> LayerFactors:
    first, second = zip(*parts, strict=True)
    return LayerFactors(jnp.concatenate(first, 1), jnp.concatenate(second, 1))


def _none(values: Float[Array, " entries"], matrix: Float[Array, "m n"]) -> LayerFactors:
    """Factors for a matrix on which residuals do not depend: a row of zeros."""
    first, second = (jnp.zeros((values.size, 1, size), matrix.dtype) for size in matrix.shape)
    return LayerFactors(first, second)


def _factors(use: Use, x: Array, g: Float[Array, "entries ..."]) -> LayerFactors:
    """Factors for a product in which each row of the other operand meets the matrix once."""
    x = jnp.moveaxis(x, use.summed, -1)
    free = -1 if use.operand == 1 else 1  # the matrix's other axis, after that of the entries
    g = jnp.moveaxis(g, free, -1)
    rows = math.prod(x.shape[:-1])
    x = jnp.broadcast_to(x.reshape(rows, x.shape[-1]), (len(g), rows, x.shape[-1]))
    g = g.reshape(len(g), rows, g.shape[-1])
    return LayerFactors(x, g) if use.along == 0 else LayerFactors(g, x)


def _uses(program: Program, ranks: Sequence[int]) -> tuple[set[int], dict[int, Use]]:
    """The matrices among the parameters (the program's first variables) that are used only in
    products, and their uses by the numbers of steps.
    """
    views = {leaf: (leaf, False) for leaf, rank in enumerate(ranks) if rank == 2}
    uses: dict[int, Use] = {}
    otherwise: set[int] = set()
    for number, step in enumerate(program.steps):
        read = [
            (k, views[a]) for k, a in enumerate(step.reads) if isinstance(a, int) and a in views
        ]
        if not read:
            continue
        operand, (leaf, transposed) = read[0]
        axes = _summed(step.eqn)
        if step.eqn.primitive.name == "transpose":
            turned = step.eqn.params["permutation"] == (1, 0)
            views[step.writes[0]] = (leaf, transposed != turned)
        elif axes is None or len(read) > 1:
            otherwise.update(leaf for _, (leaf, _) in read)
        else:
            along = axes[operand] if not transposed else 1 - axes[operand]
            uses[number] = Use(leaf, operand, axes[1 - operand], along)
    matrices = {leaf for leaf, rank in enumerate(ranks) if rank == 2} - otherwise
    return matrices, {number: use for number, use in uses.items() if use.leaf in matrices}


def _summed(eqn: jex.JaxprEqn) -> tuple[int, int] | None:
    """The axis of each operand over which a product sums, if there is one and no common axis, and
    all numbers are real: gradients are the real parts of products of complex factors.
    """
    kinds: list[Any] = [var.aval for var in (*eqn.invars, *eqn.outvars)]
    if eqn.primitive.name != "dot_general" or any(map(jnp.iscomplexobj, kinds)):
        return None
    (left, right), batch = eqn.params["dimension_numbers"]
    return None if any(batch) or len(left) != 1 else (left[0], right[0])
