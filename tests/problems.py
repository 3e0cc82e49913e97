"""What tests know of the problems in the registry."""

import diffop as do

FIXED = {"g-kdv-1d": 2} | dict.fromkeys(
    (
        *("kovasznay", "plate", "convection-diffusion", "helmholtz"),
        *("burgers", "allen-cahn-1d", "kdv-cosine", "advection", "wave-1d"),
        *("kuramoto-sivashinsky", "cavity", "cavity-1000", "backward-step"),
    ),
    2,
)
FIXED |= dict.fromkeys(("kdv-2d", "kp-2d", "ginzburg-landau", "gray-scott", "taylor-green"), 3)
"""The dimension of those that have one."""

_EQUATIONS = ("allen-cahn", "poisson", "sine-gordon")
DOMAINS = ("two-body", "two-body-lattice", "three-body", "cube")
_EVERY = {f"{equation}-{domain}" for equation in _EQUATIONS for domain in DOMAINS}
_ONE_OF_EACH = {f"{_EQUATIONS[i % 3]}-{domain}" for i, domain in enumerate(DOMAINS)}
PARTS = [name for name in do.pde.names() if name not in _EVERY - _ONE_OF_EACH]
"""All problems, but of those that the registry makes from an equation and a domain only so many
that each equation and each domain is there.
"""

_ALIKE = {
    "taylor-green": {"cavity", "cavity-1000", "backward-step"},
    "sine-gordon-three-body": {"allen-cahn-two-body", "poisson-two-body-lattice"},
    "black-scholes-barenblatt": {"heat-cube"},
    "plate": {"biharmonic"},
    "semilinear-heat": {"semilinear-allen-cahn", "semilinear-sine-gordon"},
    "hjb-lqg": {"hjb-lin", "schroedinger"},
}
"""By a problem those whose operators are among its own, up to numbers and dimension."""

KINDS = [name for name in PARTS if not any(name in alike for alike in _ALIKE.values())]
"""Of PARTS those that have together all kinds of operators."""
