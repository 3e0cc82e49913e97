"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

from .fields import MatVec as MatVec
from .polarisation import polarisation as polarisation
