"""The equations that papers on physics-informed networks compare with, as these state them.

evolution.py    what equations in one coordinate and time share, and what periodic ones do
computed.py     periodic ones whose solution has no closed form, but was computed: data/

An equation each have kdv_cosine.py, allen_cahn_1d.py, burgers.py, advection.py, wave_1d.py and
helmholtz.py.
"""
