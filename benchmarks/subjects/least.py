"""The least work that is known for derivatives of a plain network.

Counted are products with the network's matrices, and arrays that have to come from memory or go
there. Nothing else is: no activation, no sum over points, no number that stays in a cache. So a
time that is once the least cannot be reached.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from ..harness.peak import Peak
from .networks import Network

_NUMBER = 4  # bytes
_ADAM = 6  # the parameters and two moments of each, read and written


class Least(NamedTuple):
    """Multiplications and additions, and bytes read and written."""

    flops: float
    bytes: float

    def seconds(self, peak: Peak) -> float:
        """On a machine that does both at once."""
        return max(self.flops / peak.flops, self.bytes / peak.bytes)


def coefficients(words: Iterable[str], summed: Sequence[str] = ()) -> int:
    """How many numbers of each entry go through a layer for derivatives such as u_xxy.

    A derivative of a composition needs those that it contains. Of the ones that no other contains,
    those that are only `summed` go through as their sum.
    """
    words = list(words)
    letters = sorted(set("".join(words)))
    orders = [tuple(map(word.count, letters)) for word in words]
    contained = {below for order in orders for below in product(*(range(k + 1) for k in order))}
    return len(contained) - max(len(summed) - 1, 0)


def least(
    dim: int, network: Network, points: int, through: int, moments: bool = False
) -> dict[str, Least]:
    """Of the values at all points, of their gradient by the parameters, and of a step with Adam
    whose points are drawn where they are used, so that they are never in memory.

    `through` numbers of each entry go through the hidden layers. Of the first one only the primal
    is a product: derivatives by coordinates are columns of its matrix. With `moments`, second
    moments of all directions go along. Reverse mode has two products for each, but nobody asks for
    the derivatives by the points.
    """
    first = 2 * points * dim * network.width
    inner = 2 * points * through * network.width**2 * (network.layers - 2)
    if moments:
        inner += _moments(dim, network, points)
    forward, backward = first + inner, first + 2 * inner
    matrix = _NUMBER * dim * network.width
    read = matrix + _NUMBER * points * dim
    return {
        "forward": Least(forward, read),
        "gradient": Least(forward + backward, read + matrix),
        "step": Least(forward + backward, _ADAM * matrix),
    }


def _moments(dim: int, network: Network, points: int) -> float:
    """Σ_i ∂_i² in more directions than the first layer is wide.

    The Gram matrix of the first layer's rows is symmetric, and the same at all points, and so is
    its triangular factor. The first hidden matrix times it has h³ operations at each point, and the
    next ones 2h³. Of the last layer's second moments only the diagonal is asked for: sums of
    squares.
    """
    hidden, width = network.layers - 2, network.width
    return dim * width**2 + points * width**3 * (2 * hidden - 1)
