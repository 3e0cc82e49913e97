"""The precision of a run."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

PRECISIONS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "default": contextlib.nullcontext,
    "double": lambda: jax.enable_x64(True),
}
"""By name: as JAX is configured, which is single precision unless it is told otherwise, or double
precision for the run alone.
"""
