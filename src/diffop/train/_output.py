"""The directory of a run: report, curve, picture and model."""

import dataclasses
import json
import os
import pathlib
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from ._model import build, build_problem
from ._report import Report
from ._settings import Settings

REPORT, CURVE, PICTURE, MODEL = "report.json", "curve.png", "solution.png", "model.eqx"
FILES = (REPORT, CURVE, PICTURE, MODEL)


def check_directory(directory: str | os.PathLike, overwrite: bool) -> None:
    """Checks that a run may write into `directory`, without touching it.

    **Raises:** `NotADirectoryError` if it is a file; `FileExistsError` if it has anything in it and
    `overwrite` is not set.
    """
    path = pathlib.Path(directory)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; name a directory for the results instead.")
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise FileExistsError(
            f"{path} is not empty; name another directory, or say --overwrite (overwrite=True) "
            f"to replace the results in it."
        )


def prepare_directory(directory: str | os.PathLike) -> pathlib.Path:
    """Makes the directory and removes earlier results, so that none outlives a failed run."""
    path = pathlib.Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (path / name).unlink(missing_ok=True)
    return path


def save(directory: pathlib.Path, report: Report, model: PyTree) -> None:
    """Writes `report.json` and `model.eqx`."""
    eqx.tree_serialise_leaves(directory / MODEL, model)
    text = json.dumps(dataclasses.asdict(report), indent=2)
    (directory / REPORT).write_text(text + "\n")


def written(directory: str | os.PathLike) -> tuple[str, ...]:
    """The files of a finished run that are in the directory."""
    return tuple(name for name in FILES if (pathlib.Path(directory) / name).is_file())


def load(directory: str | os.PathLike) -> PyTree:
    """The trained model of a run.

    **Arguments:**

    - `directory`: where `diffop.train.solve` or `python -m diffop solve … --out` left its results.

    **Returns:** a function (an Equinox module) from one point of shape `(d,)` to a scalar.

    **Raises:** `FileNotFoundError` if there is no finished run in the directory.

    !!! example

        ```python
        import tempfile
        import jax.numpy as jnp
        import diffop as do

        with tempfile.TemporaryDirectory() as directory:
            settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=10, width=8)
            do.train.solve(settings, directory)
            u = do.train.load(directory)
        u(jnp.zeros(4))
        ```
    """
    path = pathlib.Path(directory)
    if not (path / REPORT).is_file():
        raise FileNotFoundError(f"{path} has no {REPORT}; name the directory of a finished run.")
    report = json.loads((path / REPORT).read_text())
    skeleton = eqx.filter_eval_shape(_untrained, _settings_of(report))
    return eqx.tree_deserialise_leaves(path / MODEL, skeleton)


def _settings_of(report: dict[str, Any]) -> Settings:
    known = {field.name for field in dataclasses.fields(Settings)}
    everything = {**report, **report["settings"]}
    return Settings(**{name: value for name, value in everything.items() if name in known})


def _untrained(settings: Settings) -> PyTree:
    key = jax.random.key(0)
    return build(settings, build_problem(settings, key), key)
