"""The command line: `python -m diffop list` and `python -m diffop solve PROBLEM --out DIR`."""

import argparse
import dataclasses
import pathlib
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn, final

from . import pde, train
from .operators.squares import SQUARES
from .pde._registry import summary
from .train._output import written
from .train._settings import ESTIMATORS

_FAILED, _BAD_INPUT, _INTERRUPTED = 1, 2, 130


@final
class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(_BAD_INPUT, f"{self.prog}: error: {message} (--help shows the options)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    **Arguments:**

    - `arguments`: the words after `python -m diffop`; those of this process if not given.

    **Returns:** the exit code: 0 for success, 1 for a run that failed, 2 for input that cannot be
    used, 130 for an interrupted run.

    **Raises:** `SystemExit` where the words cannot be parsed, and after `--help`.

    !!! example

        ```python
        from diffop.__main__ import main

        main(["list"])
        ```
    """
    options = _parser().parse_args(arguments)
    return options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="diffop", description="Differential operators for JAX, and PDEs solved.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the problems")
    listing.set_defaults(run=_list)
    _add_solve(commands.add_parser("solve", help="train a network to solve a problem"))
    return parser


_OPTIONS = (
    ("dim", int, "dimensions"),
    ("steps", int, "steps of Adam"),
    ("n", int, "draws of jets at each step"),
    ("learning-rate", float, "the first step's; decays linearly to 0"),
    ("batch", int, "fresh points at each step"),
    ("data-batch", int, "of initial or boundary data; as many as --batch if not given"),
    ("input-scale", float, "the network sees the point times this"),
    ("width", int, "units of each hidden layer"),
    ("depth", int, "hidden layers"),
    ("data-weight", float, "weight of initial and boundary data in the loss"),
    ("gpinn", float, "weight of the residual's squared gradient in the loss, 0 for none"),
    ("gpinn-terms", int, "components of that gradient at each step"),
)
"""The settings that each problem recommends a number for."""


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "What is not given is as the problem recommends (see below)."
    parser.epilog = "\n".join(["recommended settings:", *map(_recommendation, pde.names())])
    parser.set_defaults(run=_solve)
    parser.add_argument("problem", help="a name that `diffop list` shows")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory for the results")
    parser.add_argument("--overwrite", action="store_true", help="replace results in --out")
    parser.add_argument("--seed", type=int, default=0, help="determines everything that is random")
    for name, kind, text in _OPTIONS:
        parser.add_argument(f"--{name}", type=kind, help=text)
    parser.add_argument("--estimator", choices=ESTIMATORS, help="how operators are taken")
    parser.add_argument("--square", choices=SQUARES, help="how an estimated residual is squared")


def _recommendation(name: str) -> str:
    settings = dataclasses.asdict(pde.recommended(name))
    text = " ".join(f"{key.replace('_', '-')}={value}" for key, value in settings.items())
    return textwrap.fill(
        f"{name}: {text}",
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def _list(_: argparse.Namespace) -> int:
    for name in pde.names():
        print(f"{name:24s} {summary(name)}")
    return 0


def _solve(options: argparse.Namespace) -> int:
    try:
        settings = _settings(options)
        train.check(settings, options.out, options.overwrite)
    except (ValueError, OSError) as error:
        return _complain(error, _BAD_INPUT)
    except train.MissingExtraError as error:
        return _complain(error, _FAILED)
    try:
        report = train.solve(settings, options.out, options.overwrite)
    except (train.NonFiniteLossError, OSError) as error:
        return _complain(error, _FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted; no results were written.", _INTERRUPTED)
    print(report.as_text())
    print(f"results: {options.out}/{', '.join(written(options.out))}")
    return 0


def _settings(options: argparse.Namespace) -> train.Settings:
    """What was given on the command line; the problem recommends the rest."""
    names = train.Settings.__dataclass_fields__
    given = {name: value for name, value in vars(options).items() if name in names}
    return train.Settings(**{name: value for name, value in given.items() if value is not None})


def _complain(error: Exception | str, code: int) -> int:
    print(f"diffop: error: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
