"""The engine without structured coefficients: arrays from the first step on."""

import contextlib
from unittest import mock

from diffop.taylor import tangents
from diffop.taylor.arithmetic import densify
from diffop.taylor.replacing import walk


@contextlib.contextmanager
def without_structure():
    """Directions are arrays where they come in, and where they are replaced by others."""
    given, units = tangents.tangent_of, walk._units

    def tangent_of(tangent, lead_shape, leaf, name):
        return densify(given(tangent, lead_shape, leaf, name), len(lead_shape), leaf)

    def units_of(primal, *others):
        return tuple(densify(c, 1, primal) for c in units(primal, *others))

    with (
        mock.patch.object(tangents, "tangent_of", tangent_of),
        mock.patch.object(walk, "_units", units_of),
    ):
        yield
