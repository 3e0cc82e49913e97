"""The rules, by class of primitive. Importing a module registers its rules."""

from . import (  # noqa: F401
    bilinear,
    control_flow,
    custom,
    decomposed,
    devices,
    elementwise,
    fallback,
    linear,
    piecewise,
    power,
)
