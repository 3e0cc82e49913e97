"""Semilinear equations Δu + g(u) = f on the unit ball, an equation times a solution.

two_body_sum.py, three_body_sum.py    S, x·∇S and ΔS in closed form
sines.py                              sines and cosines of small angles
sums.py                               sums of a million terms that nearly cancel
problem.py                            u = (1 − |x|²) S, its source, and all shared code
many_body.py                          three g, with either sum
"""
