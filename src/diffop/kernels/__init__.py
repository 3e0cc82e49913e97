"""Other ways to compute what the engine writes down plainly: faster, or in less memory, on some
devices.

The engine says `call(name, function, *operands)`, which means `function(*operands)` (`seam.py`). A
kernel is a file that registers something better under a name. It says in its first lines what it
does to which row of the benchmarks, on which device, and what is lost by deleting it. `device.py`,
`points.py` and `programs.py` are what kernels share.
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
    """Every file that there is."""
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
