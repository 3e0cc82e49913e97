"""The scripts in `examples/` run, as their own documentation says."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

ARGUMENTS = {
    "inverse.py": ["--steps", "1000"],
    "ground_states.py": ["--steps", "100", "--blocks", "4"],
    "million.py": ["--dim", "10000", "--points", "2"],
    "pirate.py": ["--steps", "50"],
}
# What an error is that tells that the script has solved its problem; the coefficient of inverse.py
# is known to about 1 % from its measurements, and helium to 1e-4 after six times as many steps.
LARGEST = {
    **{"poisson.py": 1e-3, "inverse.py": 2e-2, "ground_states.py": 3e-3},
    **{"separable.py": 1e-2, "pirate.py": 1e-3, "operator_learning.py": 3e-2},
}


@pytest.mark.slow("starts processes that train networks")
@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_example(script):
    command = [sys.executable, f"examples/{script}", *ARGUMENTS.get(script, [])]
    assert f"python examples/{script}" in (ROOT / "examples" / script).read_text()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    error = re.search(r"relative (?:L2 )?error (\S+)", done.stdout)
    assert (error is not None) == (script in LARGEST)
    assert error is None or float(error[1]) < LARGEST[script]
