"""Kernels: faster or smaller ways, on some devices, to compute what the engine writes down plainly.

The engine writes `call(name, function, *operands)`, which means `function(*operands)` (`seam.py`).
A kernel is a file that registers a better way under a name. Its first lines say what it does, what
it gains in which benchmark on which device, and what is lost by deleting it. Kernels share
`device.py`, `points.py` and `memory.py`.
"""

import importlib as _importlib
import pkgutil as _pkgutil

from .seam import (
    Kernel,
    better,
    call,
    names,
    plain,
)


def _register() -> None:
    """Imports every file of kernels, which registers them."""
    for found in _pkgutil.iter_modules(__path__):
        _importlib.import_module(f"{__name__}.{found.name}")


_register()

__all__ = [
    "Kernel",
    "better",
    "call",
    "names",
    "plain",
]

__dir__ = __all__.copy
