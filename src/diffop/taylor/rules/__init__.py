"""The rules, by class of primitive. Importing a module registers its rules."""

from . import bilinear, control_flow, custom, elementwise, fallback, linear, power  # noqa: F401
