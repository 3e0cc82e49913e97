"""The Python that has PyTorch and jet-for-pytorch, in a virtual environment of its own."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

VARIABLE = "DIFFOP_TORCH_PYTHON"
_DEFAULT = Path(__file__).parents[2] / ".venv-torch" / "bin" / "python"
_VERSIONS = """
import importlib.metadata, json
print(json.dumps({name: importlib.metadata.version(name) for name in ("torch", "jet-for-pytorch")}))
"""


def interpreter() -> Path:
    """`.venv-torch/bin/python`, which `make .venv-torch` makes, or what `DIFFOP_TORCH_PYTHON` says.

    **Raises:** `ImportError` if there is none.
    """
    path = Path(os.environ.get(VARIABLE, _DEFAULT))
    if not path.exists():
        raise ImportError(f"{path} does not exist; make .venv-torch, or set {VARIABLE}")
    return path


def call(*arguments: str) -> Any:
    """The JSON that a program prints.

    **Raises:** `ImportError` if it lacks a package, `RuntimeError` with its last line if it fails.
    """
    done = subprocess.run([interpreter(), *arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    raise (ImportError if "ModuleNotFoundError" in last else RuntimeError)(last)


def versions() -> dict[str, str]:
    """Of its packages; nothing if it is not there."""
    try:
        return call("-c", _VERSIONS)
    except (ImportError, RuntimeError):
        return {}
