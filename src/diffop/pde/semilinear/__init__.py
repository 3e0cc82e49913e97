"""Semilinear parabolic equations in all of space, with a value at the last time.

problem.py       u_t + Δu + g(u) = 0: operators, points and data, everything but g and the value
radial.py        the solution at the origin if the value is radial
heat.py, allen_cahn.py, sine_gordon.py    one g and one value each
"""
