"""The way from an operator to the first equation that is pushed: what a reader has to follow.

python -m tests.project.way [--all]
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp

import diffop as do
from diffop.taylor.interpreter import push_equation

ROOT = Path(do.__file__).parent


class Call(NamedTuple):
    file: str
    function: str


class _Arrived(Exception):
    pass


def way(function: Callable[[], object]) -> list[Call]:
    """The library's own calls, in order, up to that of `push_equation`."""
    calls: list[Call] = []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            calls.append(Call(path.relative_to(ROOT).as_posix(), frame.f_code.co_name))
            if frame.f_code is push_equation.__code__:
                raise _Arrived

    sys.setprofile(note)
    try:
        function()
    except _Arrived:
        return calls
    finally:
        sys.setprofile(None)
    raise ValueError("no equation was pushed")


def of_the_laplacian() -> list[Call]:
    """`L.exact(u)(x)` of the Laplacian, not for the first time."""
    laplacian = do.Laplacian()

    def value():
        return laplacian.exact(lambda x: jnp.sum(jnp.tanh(x)))(jnp.ones(3))

    value()
    return way(value)


def main() -> None:
    calls = of_the_laplacian()
    files = [call.file for call in calls]
    changes = sum(a != b for a, b in zip(files, files[1:], strict=False))
    print(f"{len(calls)} calls in {len(set(files))} files, with {changes} changes of file")
    if "--all" in sys.argv:
        print(*(f"{file:<36} {function}" for file, function in calls), sep="\n")


if __name__ == "__main__":
    main()
