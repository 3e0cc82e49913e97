"""Solutions without a closed form, computed by spectral methods in double precision."""
