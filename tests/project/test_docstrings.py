"""The examples in docstrings run, and give what their comments say."""

import jax.numpy as jnp
import pytest

from .docstrings import agrees, compared, examples, literal

EXAMPLES = list(examples())


@pytest.mark.parametrize("code", [pytest.param(code, id=place) for place, code in EXAMPLES])
def test_example(code):
    compared(code)


def test_values_are_stated():
    stated = [line for _, code in EXAMPLES for line in code.splitlines() if "  # " in line]
    values = [line for line in stated if literal(line.split("  # ")[1])]
    assert len(EXAMPLES) >= 190
    assert len(values) >= 115


def test_a_wrong_value_is_found():
    assert compared("x = 2\nx + 1  # 3") == 1
    with pytest.raises(AssertionError, match="x \\+ 1 is 3, and not 4"):
        compared("x = 2\nx + 1  # 4")
    with pytest.raises(AssertionError, match="within a statement"):
        compared("if True:\n    2  # 2\n    3")


def test_what_a_comment_states():
    for text in ("6.0", "(3,)", '"a"', "None", "{'a': [1, 2]}", "5, 7.62"):
        assert literal(text) == text
        assert literal(f"{text}, as it should") == literal(f"{text}: so it is") == text
    assert literal("0 up to rounding") == "0"
    assert literal("12 + 48 = 60") == "60"
    assert literal("('a', …)") == "('a', ...)"
    for prose in ("37 directions", "t = 0", "… and more", "u_t − Δu", "", "about 1"):
        assert literal(prose) == ""


def test_what_agrees_with_a_literal():
    array = jnp.array([1.0, 2.004])
    for value, promised in (
        (array, "[1, 2.00]"),
        (array, "[1.0, ...]"),
        (array, "(2,)"),
        ((3, "a", None, True), "3, 'a', None, True"),
        ((), "(...,)"),
        (jnp.ones(4), "[1, ..., 1]"),
        ({"u": jnp.float32(6.0)}, "{'u': 6}"),
    ):
        assert agrees(value, promised)
    for value, promised in (
        (array, "[1, 2.000]"),
        (array, "[1, 2]"),
        (array, "(3,)"),
        (array, "2.0"),
        (3, "3.0"),
        (1, "True"),
        (jnp.ones(1), "[1, ..., 1]"),
        ({"u": 6.0}, "{'v': 6.0}"),
    ):
        assert not agrees(value, promised)
