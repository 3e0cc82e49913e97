"""What tests know of the problems in the registry."""

FIXED = {"g-kdv-1d": 2} | dict.fromkeys(
    (
        *("kovasznay", "plate", "convection-diffusion", "helmholtz"),
        *("burgers", "allen-cahn-1d", "kdv-cosine", "advection", "wave-1d"),
        *("kuramoto-sivashinsky", "cavity", "cavity-1000"),
    ),
    2,
)
FIXED |= dict.fromkeys(("kdv-2d", "kp-2d", "ginzburg-landau", "gray-scott", "taylor-green"), 3)
"""The dimension of those that have one."""
