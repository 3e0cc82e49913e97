"""Conditions by parts of a boundary: values, normal derivatives, periodicity, integrals."""
