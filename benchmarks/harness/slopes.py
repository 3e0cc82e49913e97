"""How a cost grows: the power of a size that fits it."""

from collections.abc import Sequence

import numpy as np


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The s of the least-squares fit cost ≈ c · sizeˢ: the line through the logarithms.

    **Raises:** `ValueError` for fewer than two different sizes.
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"a slope needs at least two different sizes, got {list(sizes)}.")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
