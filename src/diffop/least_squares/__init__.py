"""The least-squares problem of a step: residuals as a vector, their derivatives, and solvers."""
