"""Products of directional derivatives as sums of powers, in exact arithmetic.

A mixed derivative $Π_j (y_j·∇)^{p_j}$ of order $k = Σ_j p_j$ is a sum of pure powers of single
directions,

$$Π_j y_j^{p_j} = 1/(2^k k!) Σ_{0 ≤ β ≤ p} (−1)^{|β|} Π_j C(p_j, β_j) (Σ_j (p_j − 2β_j) y_j)^k,$$

the central-difference form of the polarisation identity. Proof: apply $Π_j δ_j^{p_j}$, where $δ_j$
is the central difference of step 2 along $y_j$, to the homogeneous polynomial $(·)^k$. A degree-k
polynomial becomes $2^k$ times its mixed derivative. $β$ and $p − β$ give opposite directions with
equal powers up to the same sign, so half of the terms are enough. For example
$x²y² = ((x+y)⁴ + (x−y)⁴ − 2x⁴ − 2y⁴)/12$.
"""

import functools
import itertools
import math
from fractions import Fraction


@functools.cache
def polarisation(exponents: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Integer combinations a and weights w with Π_j y_j^{p_j} = Σ_i w_i (Σ_j a_ij y_j)^k.

    **Arguments:**

    - `exponents`: p, positive integers.

    **Raises:** `ValueError` for others, or none.

    **Returns:**

    Pairs `(combination, weight)`; each combination has coprime entries, the first nonzero one
    positive. They also hold if some of the y_j coincide.

    !!! example

        ```python
        from diffop.schemes import polarisation

        polarisation((1, 1))  # xy = (x+y)²/4 − (x−y)²/4
        ```
    """
    if not exponents or min(exponents) < 1:
        raise ValueError(f"polarisation expects powers of at least 1; got {exponents}.")
    order = sum(exponents)
    scale = Fraction(1, 2**order * math.factorial(order))
    weights: dict[tuple[int, ...], Fraction] = {}
    for beta in itertools.product(*(range(p + 1) for p in exponents)):
        vector = [p - 2 * b for p, b in zip(exponents, beta, strict=True)]
        divisor = math.gcd(*vector)
        if divisor == 0:
            continue
        if next(entry for entry in vector if entry) < 0:
            divisor = -divisor
        direction = tuple(entry // divisor for entry in vector)
        binomials = math.prod(math.comb(p, b) for p, b in zip(exponents, beta, strict=True))
        weight = scale * (-1) ** sum(beta) * binomials * divisor**order
        weights[direction] = weights.get(direction, Fraction(0)) + weight
    return tuple((direction, weight) for direction, weight in weights.items() if weight)
