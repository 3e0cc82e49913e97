"""What results depend on beside the code: versions, and the kind of device."""

import importlib.metadata
import platform

import jax

_PACKAGES = ("diffop-jax", "jax", "jaxlib", "equinox", "optax")


def environment() -> dict[str, str]:
    """The versions of Python and of the packages that affect results, and the kind of device."""
    return {
        **{name: _version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
    }


def changes(before: dict[str, str]) -> str:
    """The differences between this environment and another in words; empty without any."""
    now = environment()
    names = [name for name in now if now[name] != before.get(name)]
    return ", ".join(f"{name} {before.get(name)} before, {now[name]} now" for name in names)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # run from a source tree, not installed
        return "not installed"
