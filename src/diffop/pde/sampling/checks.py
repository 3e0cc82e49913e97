"""Checks of the arguments of samplers."""

from typing import Any

from ...scalars import checked_integer
from ...streams import is_key_array


def checked_count(count: Any) -> int:
    """How many points are asked for.

    **Raises:** `TypeError` for anything but an integer, `ValueError` for one below 1.
    """
    if is_key_array(count):
        raise TypeError(
            "points are drawn with a key, and then their count, as in box.sample(key, 100); got a "
            "key as the count."
        )
    return checked_integer(count, "the count of points", 1)


def check_space_time(name: str, count: int, dim: int, duration: int | float) -> None:
    """Refuses sizes for which there are no points.

    **Raises:** `ValueError` naming the sampler.
    """
    if count < 1 or dim < 1 or not duration > 0:
        raise ValueError(
            f"{name} expects count and dim of at least 1 and a positive duration, got "
            f"count={count}, dim={dim} and duration={duration}."
        )
