"""Named array types. Sizes: n directions or draws, d coordinates, m coordinates acted on, s entries
of a sparse direction."""

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped, UInt32

Key: TypeAlias = PRNGKeyArray

KeyWords: TypeAlias = UInt32[Array, "*keys w"]
"""The w 32-bit numbers of a key."""

AnyArray: TypeAlias = Shaped[Array, "..."]
ScalarArray: TypeAlias = Shaped[Array, ""]
Vector: TypeAlias = Shaped[Array, " d"]

RowArray: TypeAlias = Shaped[Array, "n d"]
"""Directions of a whole argument, as rows."""
SubRows: TypeAlias = Shaped[Array, "n m"]
"""Directions in the coordinates that an operator acts on."""
SketchRows: TypeAlias = Shaped[Array, "k m"]
"""Test vectors whose images show the directions in which a matrix is large."""
ColumnArray: TypeAlias = Shaped[Array, "d k"]
"""Vectors as columns."""
SquareArray: TypeAlias = Shaped[Array, "m m"]
PerDirection: TypeAlias = Shaped[Array, " n"]
Weights: TypeAlias = Shaped[Array | np.ndarray, " n"]
CollapsingWeights: TypeAlias = Shaped[Array | np.ndarray, "*m n"]
"""One weighted sum over n directions, or m of them."""

Positions: TypeAlias = Int[Array | np.ndarray, "n s"]
DirectionValues: TypeAlias = Shaped[Array | np.ndarray, "n s"]

TermNumbers: TypeAlias = Int[Any, " n"]
"""The numbers of drawn terms."""
Magnitudes: TypeAlias = Shaped[Array, " terms"]
"""Unnormalised probabilities of the terms of a set."""
TermPositions: TypeAlias = Int[Array | np.ndarray, "terms slots"]

FactorColumns: TypeAlias = Shaped[Array, "d r"]
"""A factor of a matrix of rank r, by columns."""
FactorWeights: TypeAlias = Shaped[Array, " r"]
Probes: TypeAlias = Float[Array, "n d"]
