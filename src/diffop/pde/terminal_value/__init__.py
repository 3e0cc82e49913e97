"""Parabolic equations in all of space with a value at the last time, whose solution is known.

problem.py                    the base class: points, ansatz, null model
hjb_lin.py, hjb_lqg.py        Hamilton-Jacobi-Bellman equations
cole_hopf.py                  the solution of the second
black_scholes_barenblatt.py   a linear equation with variable coefficients
"""
