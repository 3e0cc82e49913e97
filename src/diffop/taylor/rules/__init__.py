"""The rules, by class of primitive. Importing a module registers its rules."""

from . import (  # noqa: F401
    bilinear,
    by_jvp,
    control_flow,
    custom,
    decomposed,
    devices,
    elementwise,
    linear,
    power,
    shifts,
)
