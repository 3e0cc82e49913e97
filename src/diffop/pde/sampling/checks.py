"""Checks of the arguments of samplers of space and time."""


def check_space_time(name: str, count: int, dim: int, duration: int | float) -> None:
    """Refuses sizes for which there are no points.

    **Raises:** `ValueError` naming the sampler.
    """
    if count < 1 or dim < 1 or not duration > 0:
        raise ValueError(
            f"{name} expects count and dim of at least 1 and a positive duration, got "
            f"count={count}, dim={dim} and duration={duration}."
        )
