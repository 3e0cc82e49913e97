"""`folx.ad`: derivatives with respect to coordinates, also of complex functions."""

from .jacobians import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
