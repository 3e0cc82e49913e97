"""What folx has in `folx.ad`: derivatives by coordinates, of complex functions too."""

from .jacobians import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
