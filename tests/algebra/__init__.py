"""Operators as polynomials, for the tests of algebras: numbers by exponents."""

import itertools


def times(left, right):
    total = {}
    for (a, x), (b, y) in itertools.product(left.items(), right.items()):
        whole = tuple(i + j for i, j in zip(a, b, strict=True))
        total[whole] = total.get(whole, 0) + x * y
    return total


def powers(d, k):
    """Σ_i t_i^k."""
    return {tuple(k * (i == j) for i in range(d)): 1 for j in range(d)}


def laplacian(d, m):
    """(Σ_i t_i²)^m."""
    return all_times([powers(d, 2)] * m)


def all_times(factors):
    total = factors[0]
    for factor in factors[1:]:
        total = times(total, factor)
    return total


def pairs(d):
    """Σ_{i≠j} t_i² t_j."""
    return {
        tuple(2 * (k == i) + (k == j) for k in range(d)): 1
        for i, j in itertools.permutations(range(d), 2)
    }


KDV = {(1, 1, 0): 1, (0, 1, 3): 1, (0, 2, 0): 2}  # t, y, x
POLYNOMIALS = {
    "Δ": [laplacian(4, 1)],
    "Δ²": [laplacian(3, 2)],
    "Δ³": [laplacian(2, 3)],
    "Σ ∂⁴": [powers(3, 4)],
    "Σ ∂²∂": [pairs(4)],
    "ΔΣ∂³": [times(laplacian(3, 1), powers(3, 3))],
    "KdV and what it is of": [KDV, {(0, 1, 0): 1}, {(0, 0, 1): 1}, {(0, 1, 1): 1}, {(0, 0, 2): 1}],
    "Δ² and Δ": [laplacian(2, 2), laplacian(2, 1)],
    "degrees": [{(2, 0): 1, (0, 3): -2, (1, 1): 3}],
    "one": [{(2, 1, 1): 1}],
    "signs": [{(3, 0): 1, (1, 2): -3, (2, 1): 2}],
}
