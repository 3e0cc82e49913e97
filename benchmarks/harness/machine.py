"""Where numbers come from."""

import importlib.metadata
import os
import platform
from pathlib import Path

import jax

from . import torch

_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "folx", "diffop-jax")


def machine() -> dict[str, str | int]:
    """The device and the versions: the head of a result file. Call it in a process of its own,
    which takes the accelerator's memory and gives it back.
    """
    device = jax.devices()[0]
    return {
        "device": device.device_kind if device.platform != "cpu" else _processor(),
        "platform": device.platform,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _cores(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version for name in _PACKAGES if (version := _version(name))},
        **torch.versions(),
    }


def _cores() -> int:
    return os.cpu_count() or 1


def _processor() -> str:
    """The model where Linux tells it, else the architecture."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, f"{platform.machine()} CPU")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
