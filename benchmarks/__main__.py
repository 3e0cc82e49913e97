"""Measures, and makes tables of what was measured.

python -m benchmarks list
python -m benchmarks run [SUITE…] [--level short] [--where NAME=VALUE…] [--out FILE]
python -m benchmarks report [FILE…] [--pictures DIR] [--pages]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .harness.case import LEVELS, Case, Scope, matching
from .harness.machine import machine
from .harness.pages import filled, marked
from .harness.process import in_own_process
from .harness.report import by_name, sections
from .harness.running import run
from .harness.suite import AbstractSuite
from .harness.table import draw
from .suites import SUITES, measure, named

ROOT = Path(__file__).parents[1]
COMMITTED = sorted((Path(__file__).parent / "results").glob("measured-*.jsonl"))


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    try:
        {"list": _list, "run": _run, "report": _report}[options.command](options)
    except (ValueError, FileNotFoundError) as error:
        sys.exit(f"benchmarks: {error}")


def _list(_: argparse.Namespace) -> None:
    for suite in SUITES.values():
        short, full = (len(list(suite.cases(Scope(level)))) for level in LEVELS[1:])
        print(f"{suite.name:<22} {suite.title} (cases: short {short}, full {full})")


def _run(options: argparse.Namespace) -> None:
    suites, wanted = named(options.suites), matching(options.where)
    place = in_own_process(machine)
    scope = Scope(options.level, accelerator=place["platform"] != "cpu")

    def cases(suite: AbstractSuite) -> list[Case]:
        return [case for case in suite.cases(scope) if wanted(case)]

    if not any(map(cases, suites)):
        raise ValueError(
            f"no case at level {scope.level!r} is {' and '.join(options.where) or 'there'}; choose "
            f"another --level, or other --where."
        )
    run(
        suites,
        cases,
        measure,
        place,
        options.out,
        options.runs,
        limit=options.limit,
        again=options.again,
    )
    _print(suites, [options.out] if options.out.exists() else [])


def _report(options: argparse.Namespace) -> None:
    paths = options.files or COMMITTED
    suites = named(options.suites)
    if options.pages:
        tables = by_name(sections(suites, paths))
        for page in marked(ROOT):
            page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
        for section in sections(suites, paths):
            for picture in section.pictures:
                path = options.pictures / f"{picture.name}.png"
                draw(picture, str(path))
                print(f"wrote {path}")
    if not options.pages and options.pictures is None:
        _print(suites, paths)


def _print(suites: list[AbstractSuite], paths: list[Path]) -> None:
    for section in sections(suites, paths):
        print(f"{section.markdown()}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the suites")
    running = commands.add_parser("run", help="measure what is not in the result file yet")
    running.add_argument("suites", nargs="*", help="all by default")
    running.add_argument("--level", choices=LEVELS, default="short")
    running.add_argument("--where", nargs="+", default=[], metavar="NAME=VALUE")
    running.add_argument("--out", type=Path, default=Path("out/benchmarks.jsonl"))
    running.add_argument("--runs", type=Path, default=Path("out/runs"), help="for trainings")
    running.add_argument("--limit", type=float, help="seconds for each case")
    running.add_argument("--again", action="store_true", help="also what had no numbers before")
    reporting = commands.add_parser("report", help="tables of result files")
    reporting.add_argument("files", nargs="*", type=Path, help="by default those of the repository")
    reporting.add_argument("--suites", nargs="+", default=[])
    reporting.add_argument("--pictures", type=Path, metavar="DIR", help="write PNGs there")
    reporting.add_argument("--pages", action="store_true", help="write the tables into the pages")
    return parser


if __name__ == "__main__":
    main()
