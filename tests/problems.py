"""What tests know of the problems in the registry."""

FIXED = {"g-kdv-1d": 2, "kdv-2d": 3, "kp-2d": 3} | dict.fromkeys(
    (
        *("kovasznay", "plate", "convection-diffusion", "helmholtz"),
        *("burgers", "allen-cahn-1d", "kdv-cosine", "advection", "wave-1d"),
        *("kuramoto-sivashinsky", "cavity", "cavity-1000"),
    ),
    2,
)
"""The dimension of those that have one."""
