"""Jets along one line as one, with the sum of their weights: what cancels goes, what is small
stays.
"""

import numpy as np

from diffop.jets.directions import SparseRows
from diffop.jets.merging import merged


def lines(rows, weights, order=2):
    """What is left of jets along integer directions of a plane: `{(direction): weight}`."""
    rows = np.asarray(rows, np.int32)
    positions = np.broadcast_to(np.arange(2, dtype=np.int32), rows.shape)
    directions, kept = merged({0: SparseRows(positions, rows)}, np.asarray(weights, float), order)
    found = np.zeros((len(kept), 2), int)
    for places, values, row in zip(
        directions[0].positions, directions[0].values, found, strict=True
    ):
        np.add.at(row, places, values)
    return dict(zip(map(tuple, found.tolist()), kept.tolist(), strict=True))


def test_equal_lines_are_one():
    """(2v·∇)² = 4 (v·∇)²."""
    assert lines([(1, 0), (2, 0), (1, 1), (-1, -1)], [1, 3, 5, 7]) == {(1, 0): 13, (1, 1): 12}


def test_small_weights_stay():
    """Whatever stands beside them, on their own line or on another one."""
    assert lines([(1, 0), (0, 1)], [1, 1e-13]) == {(1, 0): 1, (0, 1): 1e-13}
    assert lines([(1, 0), (0, 1)], [1e200, 1e-200]) == {(1, 0): 1e200, (0, 1): 1e-200}
    assert lines([(1, 0), (1, 0), (0, 1)], [1e-20, 1e-20, 1]) == {(1, 0): 2e-20, (0, 1): 1}
    assert lines([(1, 0), (1, 0)], [1, -1 + 2**-40]) == {(1, 0): 2**-40}


def test_what_cancels_goes():
    """Exactly, or to the rounding of the sum: 0.1 + 0.2 − 0.3 is 5.6e-17."""
    assert lines([(1, 0), (1, 0), (0, 1)], [1, -1, 2]) == {(0, 1): 2}
    assert lines([(1, 0), (1, 0), (1, 0), (0, 1)], [0.1, 0.2, -0.3, 1e-30]) == {(0, 1): 1e-30}
    assert lines([(0, 0), (0, 1)], [1, 2]) == {(0, 1): 2}
    assert lines([(1, 0), (1, 0)], [1, -1]) == {}
