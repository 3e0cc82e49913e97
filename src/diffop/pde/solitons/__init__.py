"""Evolution equations in one and two dimensions of space with soliton solutions.

hirota.py     log F and its derivatives, from the waves and the equation's bilinear form
problem.py    the base class: the box, the data, the solution and the null model
kdv_1d.py, kdv_2d.py, kp_2d.py    one equation each
"""
