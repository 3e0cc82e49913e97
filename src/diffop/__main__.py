"""The command line: `python -m diffop list`, `recommend`, `solve`, `report` and `plot`."""

import argparse
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import NoReturn, final

import equinox as eqx
import jax
from jax.sharding import Mesh

from . import __version__, console, pde, train
from .console import BAD_INPUT, FAILED, Ended, complain, ending, print_text, say
from .failures import failure
from .kinds import as_word, from_word
from .nearest import nearest
from .parallel.mesh import SIZES, make
from .parallel.processes import connect, is_first, leave
from .paths import found_at, is_path
from .pde.own import imported
from .pde.registry import summary
from .runs.directory import written
from .runs.settings import meanings, name_of, recommended_by, stated
from .runs.tables import find_runs, save_plot, table
from .train import solving
from .train.loggers import TRACKERS
from .train.model import Keys, build_problem


@final
class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        _, found, unknown = message.partition("unrecognized arguments: ")
        if found:
            word = unknown.split()[0].split("=")[0]
            message += nearest(word.lstrip("-"), [name.replace("_", "-") for name in stated()])
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (--help shows the options)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    **Arguments:**

    - `arguments`: the words after `python -m diffop`; by default those of this process.

    **Returns:** the exit code: 0 for success, 1 for a run that failed or an output that cannot be
    written, 2 for input that cannot be used, 130 for a run that was interrupted by Ctrl-C, 143 by
    SIGTERM, 141 for an output whose reader has gone.

    **Raises:** `SystemExit` if the words cannot be parsed, and after `--help`;
    `KeyboardInterrupt` at a second Ctrl-C.

    !!! example

        ```python
        from diffop.__main__ import main

        main(["list"])
        ```
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except Ended as end:
        return complain(end, end.code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="diffop", description="Differential operators for JAX, and PDEs solved.")
    parser.add_argument("--version", action="version", version=f"diffop {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the problems")
    listing.set_defaults(run=_list)
    _add_recommend(commands.add_parser("recommend", help="show the settings that suit a problem"))
    _add_solve(commands.add_parser("solve", help="train a network to solve a problem"))
    _add_report(commands.add_parser("report", help="compare runs in a table"))
    _add_plot(commands.add_parser("plot", help="draw the learning curves of runs"))
    return parser


def _add_recommend(parser: argparse.ArgumentParser) -> None:
    parser.description = "What `diffop solve` takes where nothing else is given, as its options."
    parser.set_defaults(run=_recommend)
    _add_problem(parser)
    _add_setting(parser, "dim")


def _add_problem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problem", help="a name that `diffop list` shows, or package.module:Class")
    parser.add_argument(
        "--paper",
        action="store_true",
        help="begin with the paper's settings, not with those that are recommended",
    )


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.description = "What is not given is as `diffop recommend PROBLEM --dim DIM` shows it."
    parser.set_defaults(run=_solve)
    _add_problem(parser)
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
    for name in stated():
        _add_setting(parser, name)


def _add_setting(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds a setting to the parsed options only if it is given, since its value may be None."""
    kind = stated()[name]
    meaning = meanings().get(name, "")  # from docstrings, which `python -OO` leaves out
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        type=from_word,
        metavar=kind.metavar,
        help=f"{meaning} ({', '.join(kind.choices)})" if kind.choices else meaning,
        default=argparse.SUPPRESS,
    )


def _add_devices(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--mesh",
        type=from_word,
        metavar=SIZES.metavar,
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
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=pathlib.Path,
        help="an --out of `diffop solve`, or a directory of such",
    )


def _add_plot(parser: argparse.ArgumentParser) -> None:
    _add_report(parser)  # of the same directories
    parser.description = "Losses and errors against steps, in one picture; also of running runs."
    parser.set_defaults(run=_plot)
    out = pathlib.Path("curves.png")
    parser.add_argument("--out", type=pathlib.Path, default=out, help=f"picture (default: {out})")
    parser.add_argument("--overwrite", action="store_true", help="replace the picture")


def _list(_: argparse.Namespace) -> int:
    names = pde.names()
    width = max(map(len, names))
    print_text("\n".join(f"{name:{width}}  {summary(name)}" for name in names))
    return 0


def _recommend(options: argparse.Namespace) -> int:
    with ending(BAD_INPUT, ValueError, OSError):
        settings = _settings(options)
        eqx.filter_eval_shape(build_problem, settings, Keys.of(settings).problem)
    names = [field.name for field in dataclasses.fields(pde.Recommended)]
    lines = [f"--{name.replace('_', '-')} {as_word(getattr(settings, name))}" for name in names]
    print_text("\n".join(lines))
    if not options.paper and isinstance(recommended_by(settings.problem), pde.ByDimension):
        name = name_of(settings.problem)
        say(f"what {name} recommends depends on --dim; this is for {settings.dim}.")
    return 0


def _solve(options: argparse.Namespace) -> int:
    try:
        return _solved(options)
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        reason = failure(error)
        if not options.distributed or reason is None:
            raise
        complain(
            f"another process has ended, or a device has failed ({reason}); the same command with "
            f"--resume goes on.",
            FAILED,
        )
        leave(FAILED)


def _solved(options: argparse.Namespace) -> int:
    how = {name: getattr(options, name) for name in ("resume", "checkpoint_every", "log")}
    bad_input = ending(BAD_INPUT, ValueError, OSError, MemoryError)
    with ending(FAILED, train.MissingExtraError), bad_input:
        settings = _settings(options)
        how["mesh"] = _mesh(options)
        train.check(settings, options.out, options.overwrite, **how)
    failed = (train.NonFiniteLossError, train.CheckpointMismatchError, MemoryError, OSError)
    try:
        with ending(FAILED, *failed):
            report = solving.run(settings, options.out, **how)
    except train.Interrupted as error:
        if is_first():
            say(str(error))
        return 128 + error.signal
    if is_first():
        results = f"results: {options.out}/{', '.join(written(options.out))}"
        print_text(f"{report.as_text()}\n{results}", f"the {results}")
    return 0


def _report(options: argparse.Namespace) -> int:
    with ending(BAD_INPUT, ValueError, OSError):
        runs, broken = find_runs(options.directories)
        text = table(runs)
    print_text(text)
    return _left_out(broken)


def _plot(options: argparse.Namespace) -> int:
    with ending(FAILED, train.MissingExtraError), ending(BAD_INPUT, ValueError, OSError):
        runs, broken = find_runs(options.directories)
        save_plot(runs, options.out, options.overwrite)
    print_text(f"picture: {options.out}")
    return _left_out(broken)


def _left_out(broken: Sequence[str]) -> int:
    """Reports which runs could not be read; returns the exit code."""
    for each in broken:
        complain(each, BAD_INPUT)
    return BAD_INPUT if broken else 0


def _settings(options: argparse.Namespace) -> train.Settings:
    """The settings given on the command line; the problem or the paper provides the rest."""
    given = {name: value for name, value in vars(options).items() if name in stated()}
    if is_path(given.get("optimiser")):
        given["optimiser"] = found_at(given["optimiser"], "optimiser")
    if options.paper:
        return train.Settings.of_paper(options.problem, **given)
    problem = imported(options.problem) if ":" in options.problem else options.problem
    return train.Settings(problem, **given)


def _mesh(options: argparse.Namespace) -> Mesh | None:
    """The requested mesh, after this process is connected with the others."""
    words = ("coordinator", "processes", "process")
    others = {name: getattr(options, name) for name in words}
    if options.mesh is not None:
        SIZES.check("mesh", options.mesh)
    if options.distributed and options.mesh is None:
        raise ValueError("distributed expects --mesh; say for instance --mesh data=4,model=2.")
    if not options.distributed and any(value is not None for value in others.values()):
        raise ValueError("coordinator, processes and process are for --distributed; say so.")
    if options.distributed:
        connect(**others)
    return None if options.mesh is None else make(options.mesh)


def process() -> NoReturn:
    """The command line as a process."""
    console.as_process(main)


if __name__ == "__main__":
    process()
