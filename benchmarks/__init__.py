"""Speed, memory and errors of diffop beside other ways to do the same in JAX."""
