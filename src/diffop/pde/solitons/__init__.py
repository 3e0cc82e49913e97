"""Evolution equations in one and two dimensions of space that solitons solve.

hirota.py     log F and its derivatives, from the waves and the equation's bilinear form
problem.py    what the equations share: the box, the data, the solution's null model
kdv_1d.py, kdv_2d.py, kp_2d.py    an equation each
"""
