"""Tries what is released: wheel and sdist, each in an empty environment of each Python.

python tests/dist.py dist --pythons python3.11 python3.13 --tag v0.2.0

Nothing of the checkout is there: processes run in a directory of their own, and see what was
installed. `python -m build` has made the archives before (`make dist`).
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
ARCHIVE = re.compile(r"diffop_jax-(?P<version>[\w.]+?)(?:-py3-none-any\.whl|\.tar\.gz)")
HEADING = re.compile(r"^## (\S+)", re.MULTILINE)

OPERATOR = """
import diffop, jax, jax.numpy as jnp
u = lambda x: jnp.sum(x**3)
print(diffop.__version__, diffop.__file__, diffop.Laplacian().exact(u)(jnp.ones(5)))
"""
METADATA = """
import importlib.metadata
print(importlib.metadata.metadata("diffop-jax"))
"""
RELATIVE = re.compile(r"\]\((?!https?:|#)")
SHORT = ["--dim", "10", "--steps", "50", "--width", "8", "--batch", "10", "--seed", "0"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--pythons", nargs="+", required=True)
    parser.add_argument("--tag", default="", help="what the version has to be called")
    options = parser.parse_args()
    archives = sorted(options.directory.resolve().iterdir())
    version = check_names(archives, options.tag)
    for python in options.pythons:
        for archive in archives:
            with tempfile.TemporaryDirectory() as directory:
                tried = try_out(archive, python, pathlib.Path(directory), version)
            print(f"{archive.name} under {tried}", flush=True)


def check_names(archives: list[pathlib.Path], tag: str) -> str:
    """The version of a wheel and an sdist, which is the changelog's newest and that of the tag.

    **Raises:** `ValueError` where it is not.
    """
    found = [ARCHIVE.fullmatch(archive.name) for archive in archives]
    versions = {match["version"] for match in found if match}
    if len(archives) != 2 or not all(found) or len(versions) != 1:
        raise ValueError(
            f"expected a wheel and an sdist of one version, got "
            f"{', '.join(archive.name for archive in archives)}; remove what is old."
        )
    (version,) = versions
    newest = HEADING.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
    if newest != version:
        raise ValueError(f"CHANGELOG.md begins with {newest}, and the version is {version}.")
    if tag not in ("", f"v{version}"):
        raise ValueError(f"the tag is {tag}, and the version is {version}.")
    return version


def try_out(archive: pathlib.Path, python: str, home: pathlib.Path, version: str) -> str:
    """Installs an archive, and uses it: the list, an operator, a short solve. What it ran under."""

    def run(*words: str | pathlib.Path) -> str:
        done = subprocess.run(words, cwd=home, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{archive.name}: {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout.strip()

    run(python, "-m", "venv", "empty")
    own = home / "empty" / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{archive}[train]")
    text = run(own, "-I", "-c", METADATA)
    expect("License-File: LICENSE" in text and "Keywords: " in text, text[:2000])
    if os.environ.get("GITHUB_REPOSITORY"):
        expect("Project-URL: Source" in text and not RELATIVE.search(text), text[:2000])
    program = home / "empty" / "bin" / "diffop"
    expect("allen-cahn-two-body" in run(program, "list"), "diffop list")
    got, file, value = run(own, "-I", "-c", OPERATOR).split()
    expect(got == version and file.startswith(str(home)) and value == "30.0", f"{got} {file}")
    run(program, "solve", "allen-cahn-two-body", *SHORT, "--out", "run")
    report = json.loads((home / "run" / "report.json").read_text())
    expect(0 < report["rel_l2"] < 1 and (home / "run" / "curve.png").is_file(), str(report))
    run(own, "-m", "pip", "check")
    return f"{run(own, '--version')}, {own_jax(run, own)}: relative error {report['rel_l2']:.2e}"


def own_jax(run, own: pathlib.Path) -> str:
    """The JAX that was installed, by name and version."""
    return run(own, "-c", "import jax; print('jax', jax.__version__)")


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(f"what was installed does not do what it should: {what}")


if __name__ == "__main__":
    main()
