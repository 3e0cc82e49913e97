"""Cutting a count into equal pieces, so that one compiled program serves them all."""


def largest_divisor(count: int, limit: int) -> int:
    """The largest divisor of `count` that is at most `limit` (and at least 1)."""
    return next(size for size in range(max(1, min(count, limit)), 0, -1) if count % size == 0)
