"""What the driven cavity and the backward-facing step have in common: names, data and errors."""

import jax
import numpy as np
import pytest

import diffop as do

from .flows import network, velocity

pytestmark = pytest.mark.usefixtures("x64")

FLOWS = {"cavity": do.pde.Cavity, "backward-step": do.pde.BackwardStep}
USUAL = {"cavity": 100, "backward-step": 200}
KNOWN = {"cavity": "100, 400, 1000, 5000", "backward-step": "200"}


@pytest.mark.parametrize(
    ("problem", "least"), [(do.pde.Cavity(1000), 0.2), (do.pde.BackwardStep(), 0.1)], ids=FLOWS
)
def test_errors_are_those_of_the_velocity(problem, least, getkey):
    points, slopes, *_ = problem.reference()
    known = np.stack([slopes[:, 1], -slopes[:, 0]], axis=1)
    measured, psi = do.train.FixedPoints(problem, getkey()), network(problem)
    for u, got in ((psi, measured.errors(psi).rel_l2), (problem.null_shape, measured.null_rel_l2)):
        gap = jax.jit(jax.vmap(velocity(u)))(points) - known
        np.testing.assert_allclose(got, np.linalg.norm(gap) / np.linalg.norm(known), rtol=1e-9)
    assert least < measured.null_rel_l2 < 1


@pytest.mark.parametrize("name", FLOWS)
def test_names(name):
    usual = USUAL[name]
    found = [FLOWS[name](number).name for number in (usual, float(usual), 300, 2.5)]
    assert found == [name, name, f"{name}-300", f"{name}-2.5"]


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("reynolds", [0, -1.0, np.inf, np.nan])
def test_numbers_that_are_not_positive_are_refused(name, reynolds):
    with pytest.raises(ValueError, match=f"{name} expects a finite positive Reynolds number, got"):
        FLOWS[name](reynolds)


@pytest.mark.parametrize("name", FLOWS)
def test_numbers_without_a_reference(name):
    with pytest.raises(ValueError, match=f"known for Re {KNOWN[name]}, got 250; train such a"):
        FLOWS[name](250).reference()
