"""Cases that share compiled programs.

Most of the time of a small case goes into making a program of it: so several cases are one program,
and each test reads its own part of what comes out.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

SIZE = 8
"""Cases in a program; one with `--alone`."""


class Together:
    """`Together(cases, function)(case, *args)` is `jax.jit(function(case))(*args)`.

    The arguments have to be equal for all cases: what they are at the first call of a program is
    what it is run on. Where several cases cannot be one program, each is one by itself, so that
    only the case at fault fails.

    **Arguments:**

    - `cases`: all that will be asked for; neighbours share a program.
    - `function`: of a case, what is computed from the arguments.
    """

    def __init__(self, cases: Sequence[Hashable], function: Callable[..., Callable]) -> None:
        self._function = function
        self._cases = list(cases)
        self._place = {case: number for number, case in enumerate(self._cases)}
        self._run: dict[int, list[Any] | None] = {}

    def __call__(self, case: Hashable, *args: Any) -> Any:
        if SIZE == 1:
            return jax.jit(self._function(case))(*args)
        group, place = divmod(self._place[case], SIZE)
        if group not in self._run:
            self._run[group] = self._of_all(self._cases[group * SIZE : (group + 1) * SIZE], args)
        values = self._run[group]
        return jax.jit(self._function(case))(*args) if values is None else values[place]

    def _of_all(self, cases: list[Hashable], args: tuple) -> list[Any] | None:
        functions = [self._function(case) for case in cases]
        try:
            return jax.jit(lambda *args: [function(*args) for function in functions])(*args)
        except Exception:
            return None
