"""The ratios to reach: ours over the other's, for a case, what is measured, and the dimension."""

GOALS: dict[tuple[str, str], dict[int, float]] = {
    ("estimated Laplacian", "forward"): {100_000: 1.15, 1_000_000: 1.15},
    ("estimated Laplacian", "gradient"): {1_000: 5.0, 100_000: 1.3, 1_000_000: 1.3},
    ("training step", "time"): {100_000: 0.33},
    ("training step", "peak memory"): {100_000: 0.33},
    ("training step", "temporary memory"): {100_000: 0.33},
    ("exact Laplacian, ansatz", "forward"): {1_000: 0.167, 1_000_000: 2.5},
    ("exact Laplacian, ansatz", "gradient"): {1_000: 0.167, 1_000_000: 4.5},
    ("exact Laplacian, ansatz", "peak memory, forward"): {},
    ("exact Laplacian, ansatz", "peak memory, gradient"): {},
    ("exact Laplacian, plain MLP", "forward"): {10: 0.7, 50: 0.7, 100: 0.7},
    ("exact Laplacian, plain MLP", "gradient"): {10: 0.7, 50: 0.7, 100: 0.7},
    ("exact biharmonic, plain MLP", "forward"): {5: 0.7, 10: 0.7},
    ("exact biharmonic, plain MLP", "gradient"): {5: 0.7, 10: 0.7},
}
