"""The command line: `python -m diffop list`, `solve`, `report` and `plot`."""

import argparse
import dataclasses
import os
import pathlib
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn, final

import jax
from jax.sharding import Mesh

from . import baselines, pde, train
from .losses.probes import PROBES
from .losses.squares import SQUARES
from .pde.own import imported
from .pde.registry import summary
from .train.distributed import connect, leave
from .train.mesh import make, parsed
from .train.optimisers import OPTIMISERS, SCHEDULES
from .train.output import written
from .train.precision import PRECISIONS
from .train.processes import failure, is_first
from .train.runs import find_runs
from .train.settings import SHARING, SOURCE
from .train.summary import save_plot, table
from .train.trackers import TRACKERS

_NONE = "none"
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
    used, 130 for a run that was interrupted by Ctrl-C, 143 by SIGTERM.

    **Raises:** `SystemExit` where the words cannot be parsed, and after `--help`;
    `KeyboardInterrupt` at a second Ctrl-C.

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
    _add_report(commands.add_parser("report", help="compare runs in a table"))
    _add_plot(commands.add_parser("plot", help="draw the learning curves of runs"))
    return parser


def _number_or_word(text: str) -> float | str:
    """The settings say which words there are."""
    try:
        return float(text)
    except ValueError:
        return text


def _integer_or_none(text: str) -> int | None:
    try:
        return None if text == _NONE else int(text)
    except ValueError:
        message = f"expected an integer or {_NONE}, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def _numbers(text: str) -> float | list[float] | dict[str, float] | None:
    """`1.5`, `1,2,3`, `a=1,b=2` or none; the settings say which of these they take."""
    words = [word.rpartition("=") for word in text.split(",")]
    names = [name for name, _, _ in words if name]
    try:
        numbers = [float(number) for _, _, number in words]
    except ValueError:
        numbers = []
    if text == _NONE:
        return None
    if len(numbers) != len(words) or len(set(names)) not in (0, len(words)):
        raise argparse.ArgumentTypeError(
            f"expected numbers such as 1,10, or names with numbers such as a=1,b=10, each name "
            f"once, got {text!r}"
        )
    if names:
        return dict(zip(names, numbers, strict=True))
    return numbers if len(numbers) > 1 else numbers[0]


_OPTIONS = (
    ("dim", int, "dimensions"),
    ("steps", int, "steps of the optimiser"),
    ("n", int, "draws of jets at each step"),
    ("learning-rate", float, "the first step's"),
    ("batch", int, "fresh points at each step"),
    ("data-batch", _integer_or_none, "of initial or boundary data; none for as many as --batch"),
    ("pool", int, "times as many points from which those of large residuals are chosen"),
    ("input-scale", float, "the network sees the point times this"),
    ("width", int, "units of each hidden layer"),
    ("depth", int, "hidden layers"),
    ("block", int, "coordinates that share weights in the first layer, 1 for none"),
    ("channels", int, "numbers that each block is seen through"),
    ("gpinn", float, "weight of the residual's squared gradient in the loss, 0 for none"),
    ("gpinn-terms", _integer_or_none, "components of that gradient at each step; none for all"),
    ("fan-in-rate", float, "matrices of m inputs learn at most at this over √m, 0 for no bound"),
)
"""The settings that each problem recommends a number for."""


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "What is not given is as the problem recommends (see below)."
    parser.epilog = "\n".join(["recommended settings:", *map(_recommendation, pde.names())])
    parser.set_defaults(run=_solve)
    parser.add_argument("problem", help="a name that `diffop list` shows, or package.module:Class")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory for the results")
    parser.add_argument("--overwrite", action="store_true", help="replace results in --out")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the run in --out; start one if there is none, do nothing if it has ended",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=int,
        metavar="STEPS",
        help="steps between checkpoints, 0 for none (default: a minute between them)",
    )
    parser.add_argument(
        "--log",
        action="append",
        choices=TRACKERS,
        default=[],
        help="also log to TensorBoard or Weights & Biases",
    )
    _add_devices(parser.add_argument_group("several devices"))
    parser.add_argument("--seed", type=int, default=0, help="determines everything that is random")
    _add_setting(
        parser,
        "data-weight",
        type=_numbers,
        metavar="NUMBER[,NUMBER…]",
        help="weight of initial and boundary data in the loss, or one for each condition",
    )
    _add_setting(
        parser,
        "weights",
        type=_numbers,
        metavar="NAME=NUMBER,…",
        help="weights of a system's residuals; NUMBER,… where they have no names, none for ones",
    )
    for name, kind, text in _OPTIONS:
        metavar = f"NUMBER|{_NONE}" if kind is _integer_or_none else None
        _add_setting(parser, name, type=kind, metavar=metavar, help=text)
    _add_setting(
        parser,
        "output-scale",
        type=_number_or_word,
        metavar=f"NUMBER|{SOURCE}",
        help="the network's values are multiplied by this, or by what the source tells of the "
        "solution's size",
    )
    names = (*PROBES, *baselines.names())
    _add_setting(
        parser,
        "probes",
        choices=names,
        metavar="NAME",
        help=f"how operators are taken: {', '.join(PROBES)}; or, to compare with, a baseline: "
        f"{', '.join(baselines.names())}",
    )
    _add_setting(parser, "estimator", choices=names, metavar="NAME", help=argparse.SUPPRESS)
    _add_setting(parser, "sharing", choices=SHARING, help="what the network sees of the blocks")
    _add_setting(parser, "square", choices=SQUARES, help="how an estimated residual is squared")
    names = f"how the network is trained: {', '.join(OPTIMISERS)}"
    _add_setting(parser, "optimiser", choices=OPTIMISERS, metavar="NAME", help=names)
    _add_setting(parser, "schedule", choices=SCHEDULES, help="how the learning rate decays")
    _add_setting(
        parser, "precision", choices=PRECISIONS, help="double, or as JAX is configured: single"
    )


def _add_setting(parser: argparse.ArgumentParser, name: str, **how: Any) -> None:
    """One that is among the options only where it is given: its value may be None."""
    parser.add_argument(f"--{name}", default=argparse.SUPPRESS, **how)


def _add_devices(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--mesh",
        metavar="data=N,model=M",
        help="divide the points over N devices, the input dimension over M",
    )
    group.add_argument(
        "--distributed",
        action="store_true",
        help="one of several processes that train together, as the cluster tells, or:",
    )
    group.add_argument("--coordinator", metavar="HOST:PORT", help="of the first process")
    group.add_argument("--processes", type=int, metavar="N", help="how many processes there are")
    group.add_argument("--process", type=int, metavar="K", help="which one this is, from 0")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = "Medians and ranges over the seeds of each configuration."
    parser.set_defaults(run=_report)
    _add_directories(parser)


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.description = "Losses and errors against steps, in one picture; also of running runs."
    parser.set_defaults(run=_plot)
    _add_directories(parser)
    out = pathlib.Path("curves.png")
    parser.add_argument("--out", type=pathlib.Path, default=out, help=f"picture (default: {out})")
    parser.add_argument("--overwrite", action="store_true", help="replace the picture")


def _add_directories(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=pathlib.Path,
        help="an --out of `diffop solve`, or a directory of such",
    )


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
        return _solved(options)
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        reason = failure(error)
        if not options.distributed or reason is None:
            raise
        _complain(
            f"another process has ended, or a device has failed ({reason}); the same command with "
            f"--resume goes on.",
            _FAILED,
        )
        leave(_FAILED)


def _solved(options: argparse.Namespace) -> int:
    how = {name: getattr(options, name) for name in ("resume", "checkpoint_every", "log")}
    try:
        settings = _settings(options)
        how["mesh"] = _mesh(options)
        train.check(settings, options.out, options.overwrite, **how)
    except (ValueError, OSError) as error:
        if failure(error):
            raise
        return _complain(error, _BAD_INPUT)
    except train.MissingExtraError as error:
        return _complain(error, _FAILED)
    try:
        report = train.solve(settings, options.out, options.overwrite, **how)
    except (train.NonFiniteLossError, train.CheckpointMismatchError, OSError) as error:
        return _complain(error, _FAILED)
    except train.Interrupted as error:
        if is_first():
            print(f"diffop: {error}", file=sys.stderr)
        return 128 + error.signal
    if is_first():
        print(report.as_text())
        print(f"results: {options.out}/{', '.join(written(options.out))}")
    return 0


def _report(options: argparse.Namespace) -> int:
    try:
        print(table(find_runs(options.directories)))
    except (ValueError, OSError) as error:
        return _complain(error, _BAD_INPUT)
    return 0


def _plot(options: argparse.Namespace) -> int:
    try:
        save_plot(find_runs(options.directories), options.out, options.overwrite)
    except (ValueError, OSError) as error:
        return _complain(error, _BAD_INPUT)
    except train.MissingExtraError as error:
        return _complain(error, _FAILED)
    print(f"picture: {options.out}")
    return 0


def _settings(options: argparse.Namespace) -> train.Settings:
    """What was given on the command line; the problem recommends the rest."""
    if "estimator" in options:
        if "probes" in options:
            raise ValueError("estimator is the old name of probes; leave --estimator out.")
        print("diffop: --estimator is now called --probes; say that.", file=sys.stderr)
        options.probes = options.estimator
    names = train.Settings.__dataclass_fields__
    given = {name: value for name, value in vars(options).items() if name in names}
    if ":" in given["problem"]:
        given["problem"] = imported(given["problem"])
    return train.Settings(**given)


def _mesh(options: argparse.Namespace) -> Mesh | None:
    """The mesh that was asked for, when this process is connected with the others."""
    words = ("coordinator", "processes", "process")
    others = {name: getattr(options, name) for name in words}
    sizes = None if options.mesh is None else parsed(options.mesh)
    if options.distributed and sizes is None:
        raise ValueError("distributed expects --mesh; say for instance --mesh data=4,model=2.")
    if not options.distributed and any(value is not None for value in others.values()):
        raise ValueError("coordinator, processes and process are for --distributed; say so.")
    if options.distributed:
        connect(**others)
    return None if sizes is None else make(sizes)


def _complain(error: Exception | str, code: int) -> int:
    print(f"diffop: error: {error}", file=sys.stderr)
    return code


def process() -> NoReturn:
    """The command line as a process of its own: Ctrl-C that is not noted ends it at once, without
    waiting for what XLA is at.
    """
    try:
        code = main()
    except KeyboardInterrupt:
        code = _complain("interrupted; `solve` with --resume goes on with its run.", _INTERRUPTED)
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    process()
