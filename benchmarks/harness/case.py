"""What one measurement is of."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

Size = int | float | str


class Case(NamedTuple):
    """One method at one size: a line of a result file.

    - `suite`: who measures it.
    - `method`: what is measured, "diffop" or the name of something beside it.
    - `sizes`: all that a time, a memory or an error depends on, in the order in which it is read.
    """

    suite: str
    method: str
    sizes: Mapping[str, Size]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal cases, however their sizes are ordered."""
        return (self.suite, self.method, *sorted(self.sizes.items()))

    def whole(self, name: str) -> int:
        """A size that is a whole number."""
        return int(self.sizes[name])

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {worded(size)}" for name, size in self.sizes.items())
        return f"{self.suite}: {self.method}, {sizes}"


def worded(size: Size) -> str:
    """As people write it: 1,000,000."""
    return f"{size:,}" if isinstance(size, int) else str(size)


class Scope(NamedTuple):
    """How much is measured.

    - `level`: "mini" for tests, "short" for minutes, "full" for all that is in the documentation.
    - `accelerator`: whether there is one; some sizes would take days without.
    """

    level: str
    accelerator: bool = False

    def pick(self, mini: list, short: list, full: list, accelerated: list | None = None) -> list:
        """The sizes of this scope; `accelerated` are those of "full" with an accelerator."""
        if self.level == "full" and self.accelerator and accelerated is not None:
            return accelerated
        return {"mini": mini, "short": short, "full": full}[self.level]

    def last(self, every: Iterable[str]) -> list[str]:
        """The last one of these in tests, where one shows that it is measured; elsewhere all."""
        return list(every)[-1:] if self.level == "mini" else list(every)


LEVELS = ("mini", "short", "full")

Condition = Callable[[Case], bool]


def matching(words: list[str]) -> Condition:
    """Whether a case has all of these: `method=jet dim=100`.

    **Raises:** `ValueError` for a word that is not of this form.
    """
    wanted = dict(_pair(word) for word in words)

    def condition(case: Case) -> bool:
        sizes = {"method": case.method, **case.sizes}
        return all(str(sizes.get(name)) == value for name, value in wanted.items())

    return condition


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise ValueError(f"--where expects words such as method=jet or dim=100, got {word!r}.")
    return name, value
