"""The report of a run."""

import dataclasses
import math
from typing import Any, final

from ..kinds import as_word


@final
@dataclasses.dataclass(frozen=True)
class Report:
    """The numbers of one run; `report.json` holds the same under the same names.

    - `problem`, `dim`, `steps`, `n`, `seed`: what was solved.
    - `rel_l1`, `rel_l2`: relative errors on fixed test points.
    - `null_rel_l2`: the relative L2 error of the null model (one fitted number without a network)
        on the same points. The number is fitted to the solution, or to the data if only reference
        values of the solution are known.
    - `skill`: `null_rel_l2 / rel_l2`; at 1 or below the network has learnt nothing useful. It is
        infinite if only the network's error is 0, and 1 if both errors are 0. The skill and the
        errors are None for a problem whose solution is unknown.
    - `loss`: the mean of the last 100 losses, or of all if there are fewer.
    - `it_per_s`: training steps per second, without compiling and measuring.
    - `compile_s`: seconds spent compiling.
    - `peak_memory_mb`: in units of $10⁶$ bytes.
    - `parameters`: how many numbers were trained.
    - `settings`: all settings.
    - `test_points`: how many there were.
    - `reference_rel_error`: that of the reference values, which are not exact.
    - `environment`: the versions and the device with which the numbers were made.
    - `components`: the relative L2 error of each component of a solution with several, by name.
    - `resumed_at`: after how many steps the run was resumed, each time; empty if it never stopped.
    - `mesh`: how many devices there were along each axis of the mesh at the end; empty for one
        device.
    - `ended_at`: after how many steps a listener ended the run; None if all were made.

    For a resumed run, `it_per_s` counts every step of the result once; steps that a killed part
    made after its last checkpoint do not count. `compile_s` sums over all parts, and
    `peak_memory_mb` is that of the largest part.
    """

    problem: str
    dim: int
    steps: int
    n: int
    seed: int
    rel_l1: float | None
    rel_l2: float | None
    null_rel_l2: float | None
    skill: float | None
    it_per_s: float
    compile_s: float
    peak_memory_mb: float
    parameters: int
    settings: dict[str, Any]
    environment: dict[str, str]
    loss: float | None = None
    components: dict[str, float] = dataclasses.field(default_factory=dict)
    resumed_at: list[int] = dataclasses.field(default_factory=list)
    mesh: dict[str, int] = dataclasses.field(default_factory=dict)
    ended_at: int | None = None
    test_points: int = 0
    reference_rel_error: float = 0.0

    def as_text(self) -> str:
        """The results of the run in a few lines."""
        resumed = ", ".join(map(str, self.resumed_at))
        made = f"{self.ended_at} of " if self.ended_at else ""
        return (
            f"{self._errors()}"
            f"{made}{self.steps} steps at {self.it_per_s:.3g} steps/s, "
            f"compiled in {self.compile_s:.1f} s, "
            f"peak memory {self.peak_memory_mb:.0f} MB, {self.parameters} parameters"
            f"{f', resumed after step {resumed}' if resumed else ''}"
            f"{f', on {as_word(self.mesh)}' if self.mesh else ''}"
        )

    def _errors(self) -> str:
        if self.skill is None:
            return (
                f"loss {self.loss:.2e}; nothing is known of the solution to measure errors with\n"
            )
        if self.rel_l2 == self.null_rel_l2 == 0:
            verdict = "as the null model's: one fitted number is all that there is to learn"
        elif self.skill > 1:
            times = "infinitely many" if math.isinf(self.skill) else f"{self.skill:.1f}"
            verdict = f"{times} times below the null model's {self.null_rel_l2:.2e}"
        else:
            verdict = f"no better than the null model's {self.null_rel_l2:.2e}"
        return (
            f"relative L2 error {self.rel_l2:.2e}, {verdict}\n"
            f"  (the null model is one fitted number, without a network; "
            f"skill = {self.skill:.2f})\n"
            f"relative L1 error {self.rel_l1:.2e} on {self.test_points} fixed points"
            f"{self._reference()}\n"
            f"{self._components()}"
        )

    def _components(self) -> str:
        """A line of errors by component, if the solution has several."""
        errors = ", ".join(f"{name} {error:.2e}" for name, error in self.components.items())
        return f"relative L2 errors of the components: {errors}\n" if errors else ""

    def _reference(self) -> str:
        """A remark on reference values that are not exact."""
        error = self.reference_rel_error
        return f", where the reference is exact to {error:.0e}" if error else ""
