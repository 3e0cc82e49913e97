"""Operators print as mathematics."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

import diffop as do

CASES = {
    "Δ − 0.5 ∂₀²∂₁ + Δ²": lambda: do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1}) + do.Biharmonic(),
    "Δ": do.Laplacian,
    "Δ²": lambda: do.Laplacian() @ do.Laplacian(),
    "Δ³": lambda: do.PolyLaplacian(3),
    "∂₁": lambda: do.Partial(1),
    "∂₁³": lambda: do.Partial(1, order=3),
    "∂₀∂₁₂": lambda: do.Mixed({12: 1, 0: 1}),
    "2 Δ": lambda: do.Laplacian() + do.Laplacian(),
    "−Δ": lambda: -do.Laplacian(),
    "∂₀ + ∂₁": lambda: do.Partial(0) + do.Partial(1),
    "∂₀∂₁": lambda: do.Partial(0) @ do.Partial(1),
    "Δ − i ∂₀": lambda: do.Laplacian() - 1j * do.Partial(0),
    "−2.5i Δ": lambda: jnp.array(-2.5j) * do.Laplacian(),
    "(1 − 3i) Δ + (−2 + i) ∂₀": lambda: (1 - 3j) * do.Laplacian() - (2 - 1j) * do.Partial(0),
}


@pytest.mark.parametrize("text", CASES)
def test_text(text):
    assert str(CASES[text]()) == text
    assert repr(CASES[text]()) == text


def test_merged_terms_print_once():
    A, B = do.Laplacian(), do.Partial(0)
    assert str((A + B) + (A - B)) == "2 Δ"
    assert str(A + 3 * A - A) == "3 Δ"


def test_a_name_for_every_operator():
    """Whatever its coefficients, an operator's text is one short line."""
    operators = [
        do.Identity(),
        do.Directional(jnp.ones(100)),
        do.Directional(lambda x: x),
        do.Gradient(),
        do.SecondOrder(jnp.eye(100)),
        do.ParabolicTrace(lambda x: x),
        do.DiagonalK(3),
        do.TensorOperator([{0: 1}, {1: 2}], jnp.ones(2)),
        do.Divergence(),
        (lambda x: x[0]) * do.Laplacian(),
        jnp.array(2.0) * do.Laplacian(),
    ]
    texts = [str(operator) for operator in operators]
    assert len(set(texts)) >= len(texts) - 1
    assert all(0 < len(text) <= 60 and "\n" not in text for text in texts)


def test_modules_that_hold_operators():
    """Equinox prints the fields of a module, and of them operators as operators are printed."""
    conditions = (do.equations.Condition(do.Partial(0), jnp.ones((2, 1)), jnp.ones(2)),)
    equation = do.equations.Equation(
        {"u": do.Identity(), "second": do.Laplacian() - do.Value() ** 2},
        lambda values, x: values["second"],
        conditions=conditions,
    )
    found = str(do.nn.PINN(eqx.nn.Linear(1, "scalar", key=jr.key(0)), equation))
    assert "_operators={'u': I, 'second': Δu − u²}" in " ".join(found.split())
    assert "operator=∂₀" in found and "Held" not in found
