"""Observes which terms an estimate drew, and how large they were."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..jets.point import Point
from ..probes import Importance, RunningMagnitudes
from ..probes.base import Draw
from ..terms.evaluate import Head, flattened, head_jets
from ..terms.term import Part, Segment
from .norms import norm_over_first
from .statistics import draws


def observe(
    memory: RunningMagnitudes, parts: Sequence[Part], u: Callable[..., PyTree], point: Point
) -> RunningMagnitudes:
    """The memory, updated with the magnitudes |t_i| of the drawn terms: a draw contributes
    t_i/(n p_i).
    """
    segment, draw = _single_sum(parts)
    probe, n = draw.probe, draw.n
    if not isinstance(probe, Importance):
        raise ValueError(
            "observe needs an estimate by importance sampling, made with probes=memory.probe(); "
            f"got one by {probe.name} probes."
        )
    jets = flattened(head_jets([Head(segment, draw)], point))
    if not jets or jets[0].design is None:
        return memory  # nothing was drawn: the estimate is exact
    (rows, *others) = [rows for moved in jets[0].tangents.values() for rows in moved.values()]
    if others or rows.positions is None or rows.values.shape[1] != 1:
        raise ValueError(
            "observe needs an estimate of a single sum over coordinates; got one whose terms have "
            "other directions."
        )
    if probe.weights.shape != memory.means.shape:
        raise ValueError(
            f"observe expects a memory of as many terms as the probe has weights, "
            f"{probe.weights.size}; got one of {memory.means.size}."
        )
    dims = getattr(segment.factors[0], "dims", None)
    numbers = rows.positions[:, 0]
    if dims is not None:
        numbers = jnp.searchsorted(jnp.asarray(np.sort(dims), numbers.dtype), numbers)
        numbers = jnp.asarray(np.argsort(dims))[numbers]
    (contributions,) = draws([parts], u, point).sampled.values()
    kind = memory.means.dtype
    leaves = [z.reshape(n, -1).T for z in jax.tree.leaves(contributions[0])]
    sizes = norm_over_first(jnp.stack([norm_over_first(z).astype(kind) for z in leaves]))
    p = probe.weights[numbers] / jnp.sum(probe.weights)
    return memory.observe(numbers, sizes * (n * p).astype(kind))


def _single_sum(parts: Sequence[Part]) -> tuple[Segment, Draw]:
    """The single sum of terms from which the estimate draws."""
    terms = [(term, part.draw) for part in parts for term in part.terms]
    if len(terms) == 1 and len(terms[0][0].word) == 1 and terms[0][1] is not None:
        return next(iter(terms[0][0].word)), terms[0][1]
    raise ValueError(
        "observe needs an estimate of a single sum over coordinates, such as that of a Laplacian; "
        f"got one with {len(terms)} terms."
    )
