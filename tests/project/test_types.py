"""What type checkers make of expressions."""

import subprocess
import sys

import pytest

PROGRAM = """
from typing import assert_type

import jax

import diffop as do
from diffop.operators import DifferentialOperator, Operator, Term


class Helmholtz(DifferentialOperator):
    wavenumber: float

    def terms(self) -> tuple[Term, ...]:
        return (do.Laplacian() + self.wavenumber**2 * do.Identity()).terms()


key = jax.random.key(0)
L = do.Laplacian() - 0.5 * do.Mixed({0: 2, 1: 1}) + do.Identity() / 2
assert_type(L, DifferentialOperator)
assert_type(-((lambda x: x[0]) * L) ** 2, DifferentialOperator)
L.estimate(key, 16), L.adjoint()
assert_type(L + do.Laplacian().estimate(key, 16), Operator)
"""


def test_sums_and_multiples_have_the_methods_of_operators(tmp_path):
    pytest.importorskip("pyright", reason="pyright is for development")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "0 errors" in done.stdout, done.stdout
