"""Coefficients that are mostly zeros: of what, and where they go."""
