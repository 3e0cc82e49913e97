"""Published schemes for mixed derivatives, right and wrong ones.

Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator". In the scheme with thirteen
orders the paper prints an output of order k with the number k − 2.
"""

from fractions import Fraction

import numpy as np
import pytest

import diffop as do

Jet, Scheme = do.schemes.Jet, do.schemes.Scheme

THIRTEEN = Jet({3: "x", 4: "y", 7: "t"})
NINE = Jet({2: "x", 3: "y"})
CURVE = {variable: Jet({1: variable}) for variable in "ixyt"}
PRINTED_SECOND, PRINTED_THIRD = Jet({2: "y", 3: "t"}), Jet({2: "y"})
SECOND = Jet({1: "y", 2: "t"})
KP = Jet({2: "t", 3: "x"})
G_KDV = Jet({1: "x", 4: "t"})

RIGHT = {
    "13-jet u_x": ("x", THIRTEEN[3]),
    "13-jet u_y": ("y", THIRTEEN[4]),
    "13-jet u_xx": ("xx", THIRTEEN[6] / 10),
    "13-jet u_yy": ("yy", THIRTEEN[8] / 35),
    "9-jet u_x": ("x", NINE[2]),
    "9-jet u_y": ("y", NINE[3]),
    "9-jet u_xx": ("xx", NINE[4] / 3),
    "9-jet u_xy": ("xy", NINE[5] / 10),
    "9-jet u_xxxy": ("xxxy", (NINE[9] - 280 * CURVE["y"][3]) / 1260),
    "3-jet u_ty": ("ty", (SECOND[3] - CURVE["y"][3]) / 3),
    "KP u_tx": ("tx", KP[5] / 10),
    "KP u_xxxx": ("xxxx", CURVE["x"][4]),
    "g-KdV u_txxx": ("txxx", (G_KDV[7] - CURVE["x"][7]) / 35),
    "g-KdV u_tx": ("tx", (G_KDV[5] - CURVE["x"][5]) / 5),
    "g-KdV u_t": ("t", G_KDV[4] - CURVE["x"][4]),
    "4-jet": ("iij", (Jet({1: "i", 2: "j"})[4] - CURVE["i"][4] - 3 * Jet({2: "j"})[4] / 3) / 6),
    "5-jet": ("iij", (Jet({1: "i", 3: "j"})[5] - CURVE["i"][5]) / 10),
    "7-jet": ("iij", Jet({2: "i", 3: "j"})[7] / 105),
    "7-jet u_ii": ("ii", Jet({2: "i", 3: "j"})[4] / 3),
    "nested": ("xxxy", Jet({(1, 0): "x", (0, 1): "y"})[3, 1]),
    "power": (
        "xy",
        Fraction(1, 4) * (Jet({1: {"x": 1, "y": 1}})[2] - Jet({1: {"x": 1, "y": -1}})[2]),
    ),
}

WRONG = {
    "13-jet u_xx": ("xx", THIRTEEN[6], "holds 10 ∂_x²"),
    "13-jet u_xy": ("xy", THIRTEEN[7] / 35, "order 7 also holds ∂_t"),
    "13-jet u_ty": ("ty", THIRTEEN[11] / 330, "order 11 also holds 5775 ∂_x∂_y²"),
    "13-jet u_xxxy": ("xxxy", THIRTEEN[13] / 200200, "order 13 also holds 17160 ∂_t∂_x²"),
    "9-jet u_xxxy": ("xxxy", (NINE[9] - 280 * CURVE["y"][3]) / 840, "holds 3/2 ∂_x³∂_y"),
    "3-jet u_ty": ("ty", (PRINTED_SECOND[3] - CURVE["y"][3]) / 3, "holds 1/3 ∂_t − 1/3 ∂_y³"),
    "3-jet u_yy": ("yy", PRINTED_THIRD[2], "holds ∂_y (order 2"),
    "3-jet u_yyy": ("yyy", PRINTED_THIRD[3], "holds nothing"),
    "g-KdV u_txxx": ("txxx", (G_KDV[7] - CURVE["x"][8]) / 35, "also holds ∂_x⁷"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_schemes(name):
    word, readout = RIGHT[name]
    assert Scheme({word: readout}).readouts.keys() == {do.schemes.expansion.alpha_of(word)}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_schemes(name):
    word, readout, reason = WRONG[name]
    with pytest.raises(ValueError, match="this is not ∂") as caught:
        Scheme({word: readout})
    assert reason in str(caught.value)


def test_equal_schemes_are_one_in_a_set():
    J, K = do.schemes.Jet({1: "x"}), do.schemes.Jet({1: "y"})
    ways = [do.schemes.Scheme(r) for r in ({"x": J[1], "y": K[1]}, {"y": K[1], "x": J[1]})]
    assert ways[0] == ways[1]
    assert len(set(ways)) == 1


@pytest.mark.usefixtures("as_users_see_it")
def test_what_is_no_readout():
    J = do.schemes.Jet({1: "x"})
    for given in (3, J):
        with pytest.raises(TypeError, match="a readout for 'x', such as Jet"):
            do.schemes.Scheme({"x": given})  # pyright: ignore
    for powers in ((), (-1, 2), (0,)):
        with pytest.raises(ValueError, match="powers of at least 1"):
            do.schemes.polarisation(powers)


def test_numbers_may_be_numpys():
    """Two kinds of integers are one kind of variables."""
    J = do.schemes.Jet({(1, 0): np.int64(0), (0, 1): {1: np.int64(1)}})
    scheme = do.schemes.Scheme({(np.int64(0), 1): J[1, 1]})
    assert scheme.over_coordinates().readouts.keys() == {(((0, 0), 1), ((0, 1), 1))}
    assert J[1, 1] / Fraction(1, 2) == 2 * J[1, 1]


def test_amplification():
    """The magnitudes of all that is added, where what is left is one."""
    assert Scheme({"iij": Jet({2: "i", 3: "j"})[7] / 105}).amplification == 1
    assert Scheme({"iij": RIGHT["5-jet"][1]}).amplification == Fraction(12, 10)
    powers = Scheme({"xy": RIGHT["power"][1]})
    assert powers.amplification == Fraction(2 * (1 + 2 + 1), 4)
    assert Scheme({}).amplification == 1


def test_arithmetic_of_readouts():
    J = Jet({1: 0, 2: 1})
    readout = (J[2] + 2 * J[2] - J[2]) * Fraction(1, 2)
    assert readout.collected() == J[2]
    assert (-J[2] + J[2]).collected().terms == ()
    with pytest.raises(TypeError):
        J[2] + 1
    with pytest.raises(TypeError):
        0.5 * J[2]


def test_printing():
    scheme = Scheme({(0, 0, 1): (Jet({1: 0, 3: 1})[5] - Jet({1: 0})[5]) / 10}, name="fifth")
    assert repr(scheme).splitlines() == [
        "J₁: jet v[1] = e₀, v[3] = e₁, order 5",
        "J₂: jet v[1] = e₀, order 5",
        "∂₀²∂₁ = 1/10 J₁[5] − 1/10 J₂[5]",
    ]
