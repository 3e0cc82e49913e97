"""The interface of the package fwdlap (Chen 2023), which some programs copy."""

from .directions import (
    lap as lap,
    lap_partial as lap_partial,
    zero_tangent_from_primal as zero_tangent_from_primal,
)
