"""A method that keeps the terms of a loss in balance, around another optimiser."""

import operator
from functools import reduce
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PRNGKeyArray, PyTree

from ..equations.methods import has_method
from ..losses.balance import LossWeights, gradient_norms, loss_with_weights, rebalanced
from ..scalars import checked_integer, plain
from .base import AbstractMethod, Evaluated, Objective, step_key
from .first_order import as_method
from .lbfgs import LBFGS


@final
class BalancedMemory(NamedTuple):
    """What a step leaves for the next step.

    - `weights`: of the loss's terms, by name.
    - `memory`: of the optimiser.
    """

    weights: LossWeights
    memory: PyTree


@final
class Balanced(AbstractMethod):
    """Steps of another optimiser on a loss whose terms are weighted so that their gradients have
    equal lengths.

    Let $g_i$ be the gradient of term i with respect to all parameters. The weights are 1 in the
    beginning. From the first step on, every `every` steps,

        λ_i ← α λ_i + (1 − α) Σ_j |g_j| / |g_i|,

    where $α$ is `keep`. They are known numbers for the step, which minimises $Σ λ_i L_i$. The
    reported loss and its terms do not include these weights. A term's own weight, such as
    `data_weight`, has no effect as long as its gradient is long enough to be balanced.

    If a term vanishes long before the others, its weight grows without need, and errors grow with
    it. So compare it with fixed weights ([measured](../how_to/optimisers.md)).

    The weights are part of the optimiser's state, which checkpoints keep. Each update of the
    weights takes a reverse pass for each term.

    Source: Wang, Teng and Perdikaris 2021, "Understanding and mitigating gradient flow pathologies
    in physics-informed neural networks"; in this form algorithm 1 of Wang et al. 2023, "An expert's
    guide to training physics-informed neural networks", arXiv 2308.08468.

    **Arguments:**

    - `optimiser`: from optax, or `diffop.methods.GaussNewton`.
    - `every`: the number of steps between updates of the weights, at least 1.
    - `keep`: $α$, from 0 on and less than 1.
    - `terms`: the names of the loss's terms, or more; by default those of a
        `diffop.losses.ResidualLoss`.

    **Returns:** an optimiser for `diffop.train.fit`, whose loss has a method `terms`.

    **Raises:** `ValueError` if `every` is less than 1, `keep` is not in [0, 1), or the optimiser is
    `diffop.methods.LBFGS`, whose loss has to stay the same; `TypeError` for an `every` that is not
    an integer, and for names that are one string; from `fit`, `TypeError` if the loss has no terms,
    and `ValueError` if it has others.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        class Both:
            def terms(self, model, key):
                return {"residual": (model[0] - 1) ** 2, "data": 1e-4 * (model[1] - 2) ** 2}

            def __call__(self, model, key):
                return sum(self.terms(model, key).values())

        optimiser = do.methods.Balanced(optax.adam(1e-2), every=10)
        do.train.fit(jnp.zeros(2), Both(), optimiser, 1000, key=jax.random.key(0)).model
        ```
    """

    optimiser: AbstractMethod
    every: int = eqx.field(static=True, converter=plain)
    keep: int | float = eqx.field(static=True, converter=plain)
    terms: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        optimiser: optax.GradientTransformation | AbstractMethod,
        every: int = 100,
        keep: int | float = 0.9,
        terms: tuple[str, ...] = ("residual", "gpinn", "data"),
    ):
        every = checked_integer(every, "every of Balanced, the steps between new weights,", 1)
        if not 0 <= keep < 1:
            raise ValueError(f"Balanced expects a keep of at least 0 and less than 1, got {keep}.")
        if isinstance(terms, str):
            raise TypeError(f"Balanced expects the names of terms in a tuple, got {terms!r}.")
        if isinstance(optimiser, LBFGS):
            raise ValueError(
                "Balanced changes the loss between steps, and LBFGS compares these; take an "
                "optimiser from optax, or GaussNewton."
            )
        self.optimiser, self.every, self.keep, self.terms = as_method(optimiser), every, keep, terms

    @property
    def helps(self) -> str:
        """The advice of the optimiser."""
        return self.optimiser.helps

    @property
    def divisible(self) -> bool:
        """Whether the optimiser's work is divisible."""
        return self.optimiser.divisible

    def init(self, parameters: PyTree) -> BalancedMemory:
        dtypes = [leaf.dtype for leaf in jax.tree.leaves(parameters)]
        one = jnp.ones((), jnp.finfo(jnp.result_type(*dtypes)).dtype)
        return BalancedMemory({name: one for name in self.terms}, self.optimiser.init(parameters))

    def step(
        self,
        objective: Objective,
        parameters: PyTree,
        memory: BalancedMemory,
        key: PRNGKeyArray,
        index: Array,
    ) -> tuple[PyTree, BalancedMemory, Evaluated]:
        loss, static = objective.loss, objective.static
        self._check(loss, eqx.combine(parameters, static), key)

        def renewed(weights: LossWeights) -> LossWeights:
            norms = gradient_norms(loss, parameters, static, step_key(key, index))
            return rebalanced(weights, norms, self.keep)

        due = index % self.every == 0
        weights = jax.lax.cond(due, renewed, lambda weights: weights, memory.weights)
        parameters, left, (_, terms) = self.optimiser.step(
            objective._replace(loss=loss_with_weights(loss, weights)),
            parameters,
            memory.memory,
            key,
            index,
        )
        terms = {name: term / weights[name].astype(term.dtype) for name, term in terms.items()}
        value = reduce(operator.add, terms.values())
        return parameters, BalancedMemory(weights, left), Evaluated(value, terms)

    def _check(self, loss: Any, model: PyTree, key: PRNGKeyArray) -> None:
        if not has_method(loss, "terms"):
            raise TypeError(
                "Balanced expects a loss that says what it is the sum of, by a method "
                f"terms(model, key), got {loss!r}; give it one."
            )
        names = eqx.filter_eval_shape(loss.terms, model, key)
        if not set(names) <= set(self.terms):
            raise ValueError(
                f"Balanced expects a loss with terms among {', '.join(self.terms)}, got "
                f"{', '.join(names)}; say them: terms={tuple(names)}."
            )
