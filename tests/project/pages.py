"""The Python blocks of a page, and what they print.

A block may be followed by its output:

    ```python
    print(1 / 3)
    ```

    ```text title="Output"
    0.3333
    ```

Blocks of a page share their names, and run in the folder `pictures` beside it, for those that they
save.
`python -m tests.project.pages PAGE…` runs pages and writes what they print and draw into them.
"""

import contextlib
import io
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import jax

DOCS = pathlib.Path(__file__).parents[2] / "docs"
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<shown>\n```text title=\"Output\"\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)(?:\.\d*)?(?:e[-+]?\d+)?|\b(?:nan|inf)\b")
SINGLE_PRECISION = 1e-5
DECIMALS = re.compile(r"\.(\d*)")


class Ran(NamedTuple):
    """A block of a page, what it printed, and what the page says that it prints."""

    number: int
    match: re.Match[str]
    printed: str

    @property
    def promised(self) -> str:
        return self.match["output"] or ""


def run(page: str, name: str, directory: pathlib.Path) -> Iterator[Ran]:
    """Runs the blocks of a page, one after the other."""
    pictures = directory / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    names: dict = {}
    double = jax.config.read("jax_enable_x64")  # which a page may set for itself
    try:
        for number, match in enumerate(BLOCK.finditer(page)):
            printed = io.StringIO()
            code = compile(match["code"], f"{name}, block {number}", "exec")
            with contextlib.redirect_stdout(printed), contextlib.chdir(pictures), as_users_do():
                exec(code, names)
            yield Ran(number, match, _without_trailing_blanks(printed.getvalue()))
    finally:
        jax.config.update("jax_enable_x64", double)


@contextlib.contextmanager
def as_users_do() -> Iterator[None]:
    """JAX's own settings, where tests are stricter."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def _without_trailing_blanks(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def agree(printed: str, promised: str) -> bool:
    """Whether two outputs are the same text with the same numbers: to the digits that are written
    or the precision of float32, since on another machine the last digit may differ. Numbers in
    scientific notation, which are those of trained networks and of rounding errors, may differ by a
    factor of two.
    """
    if NUMBER.split(printed) != NUMBER.split(promised):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True)
    return all(close(*pair) for pair in pairs)


def close(printed: str, promised: str, digits: float = 1.5) -> bool:
    """Of two numbers, to so many of the last digit that is promised."""
    if printed == promised:
        return True
    a, b = (float(each.replace(",", "")) for each in (printed, promised))
    if "e" in promised:
        return a * b > 0 and 0.5 <= a / b <= 2
    decimals = DECIMALS.search(promised)
    if not decimals:
        return False
    return abs(a - b) <= max(digits * 10.0 ** -len(decimals[1]), SINGLE_PRECISION * abs(b))


def updated(page: str, name: str, directory: pathlib.Path) -> str:
    """The page with the outputs that its blocks have now."""
    pieces, end = [], 0
    for each in run(page, name, directory):
        shown = f'\n```text title="Output"\n{each.printed}```\n' if each.printed else ""
        pieces += [page[end : each.match.start()], f"```python\n{each.match['code']}```\n", shown]
        end = each.match.end()
    return "".join(pieces) + page[end:]


def main(arguments: list[str]) -> None:
    os.environ.setdefault("MPLBACKEND", "Agg")
    for argument in arguments:
        path = pathlib.Path(argument).resolve()
        text = path.read_text(encoding="utf-8")
        path.write_text(updated(text, path.name, path.parent), encoding="utf-8")
        print(f"ran {path.relative_to(DOCS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
