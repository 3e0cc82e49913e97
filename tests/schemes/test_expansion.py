"""Expansions beside their definition: derivatives of a composition are sums over set partitions."""

import itertools
import math
from collections import Counter

import pytest

import diffop as do


def set_partitions(elements):
    """All ways to divide a list into blocks."""
    if not elements:
        yield []
        return
    first, rest = elements[0], elements[1:]
    for blocks in set_partitions(rest):
        yield [[first], *blocks]
        for place, block in enumerate(blocks):
            yield [*blocks[:place], [first, *block], *blocks[place + 1 :]]


def by_partitions(pattern, exponents):
    """∂_t^γ u(x(t)): a block of parameters differentiates the curve, and so u by a variable."""
    labels = [p for p, exponent in enumerate(exponents) for _ in range(exponent)]
    total = Counter()
    for blocks in set_partitions(list(range(len(labels)))):
        kinds = [
            tuple(sum(labels[e] == p for e in block) for p in range(len(exponents)))
            for block in blocks
        ]
        for choice in itertools.product(*(pattern.get(kind, {}).items() for kind in kinds)):
            word = tuple(sorted(variable for variable, _ in choice))
            total[word] += math.prod(entry for _, entry in choice)
    return {word: number for word, number in total.items() if number}


CURVES = {
    "one": {(1,): {"x": 1}},
    "line": {(1,): {"x": 2, "y": -1}},
    "two": {(1,): {"x": 1}, (2,): {"y": 1}},
    "clean": {(2,): {"x": 1}, (3,): {"y": 1}},
    "three": {(1,): {"x": 1}, (2,): {"y": 3}, (4,): {"x": -2, "z": 1}},
}
SURFACES = {
    "nested": ({(1, 0): {"x": 1}, (0, 1): {"y": 1}}, (3, 2)),
    "sheared": ({(1, 0): {"x": 1}, (0, 1): {"x": 1, "y": 2}}, (2, 2)),
    "bent": ({(1, 0): {"x": 1}, (0, 1): {"y": 1}, (1, 1): {"z": 1}}, (2, 2)),
    "three": ({(1, 0, 0): {"x": 1}, (0, 1, 0): {"y": 1}, (0, 0, 2): {"z": 1}}, (2, 1, 2)),
}


def words(expansion):
    return {tuple(v for v, order in a for _ in range(order)): n for a, n in expansion.items()}


def one_parameter(pattern):
    return {exponents[0]: direction for exponents, direction in pattern.items()}


@pytest.mark.parametrize("order", [1, 2, 4, 7])
@pytest.mark.parametrize("name", CURVES)
def test_curves(name, order):
    got = do.schemes.expand(one_parameter(CURVES[name]), order)
    assert words(got) == by_partitions(CURVES[name], (order,))


@pytest.mark.parametrize("name", SURFACES)
def test_several_parameters(name):
    pattern, exponents = SURFACES[name]
    assert words(do.schemes.expand(pattern, exponents)) == by_partitions(pattern, exponents)


def test_published_numbers():
    """Numbers of set partitions: Stirling's, Bell's, and 13!/(3!³ 4! 3!) = 200200."""
    assert do.schemes.expand({2: "i", 3: "j"}, 7) == {(("i", 2), ("j", 1)): 105}
    assert do.schemes.expand({3: "x", 4: "y", 7: "t"}, 13)["xxxy"] == 200200
    assert do.schemes.expand({3: "x", 4: "y", 7: "t"}, 13)["xxt"] == 17160
    every = do.schemes.expand({k: "x" for k in range(1, 7)}, 6)
    assert [every["x" * blocks] for blocks in range(1, 7)] == [1, 31, 90, 65, 15, 1]


def test_mapping_and_text():
    expansion = do.schemes.expand({1: "x", 2: "y"}, 4)
    assert expansion["xxy"] == expansion[{"x": 2, "y": 1}] == 6
    assert str(expansion) == "∂_x⁴ + 6 ∂_x²∂_y + 3 ∂_y²"
    assert str(do.schemes.expand({1: 0, 2: (1, 3)}, 3)) == "∂₀³ + 3 ∂₀∂₁:₃"
    assert str(do.schemes.expand({1: {"x": 1, "y": -1}}, 1)) == "∂_x − 1 ∂_y"
    with pytest.raises(KeyError):
        expansion["xyy"]


@pytest.mark.parametrize(
    ("pattern", "order", "message"),
    [
        ({}, 2, "must be a mapping from orders"),
        ({1: "x"}, 0, "positive integer"),
        ({0: "x"}, 2, "positive integer"),
        ({1: "x"}, (1, 1), r"must have 1 exponent"),
        ({1: "x", (1, 0): "y"}, 2, "same parameters"),
        ({1: {"x": 0.5}}, 2, "must be integers"),
    ],
)
def test_bad_input(pattern, order, message):
    with pytest.raises(ValueError, match=message):
        do.schemes.expand(pattern, order)
