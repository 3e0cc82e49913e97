"""Equations on the cube [−1, 1]^d with u given on its faces, in any dimension.

problem.py        what they share: the solution's sum
elliptic.py       the Poisson, Allen-Cahn and sine-Gordon equations
heat.py           the heat equation
recommended.py    the settings that suit them, by the dimension
"""
