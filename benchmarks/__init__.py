"""Opt-in measurements of diffop beside other ways in JAX; see README.md."""
