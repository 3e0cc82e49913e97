"""Common benchmarks of papers on physics-informed networks, as these papers state them.

evolution.py       base classes of equations in a box and time, among them periodic ones
computed.py        periodic equations without a closed-form solution, with computed values in data/
stream_function.py what a flow carries

One equation each: kdv_cosine.py, allen_cahn_1d.py, kuramoto_sivashinsky.py, burgers.py,
advection.py, wave_1d.py, helmholtz.py, cavity.py, ginzburg_landau.py, gray_scott.py and
taylor_green.py.
"""
