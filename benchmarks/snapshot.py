"""What programs consist of, in numbers that a busy machine does not change.

python -m benchmarks.snapshot                    beside the record: what has grown, or shrunk
python -m benchmarks.snapshot --write            writes the record
python -m benchmarks.snapshot --where Gabor      only those whose names have a word in them

Of each program: its equations by primitive; what its arithmetic is and how many bytes it reads and
writes, before XLA has changed anything and after; what XLA sets aside for intermediate arrays; and
how long tracing took, beside tracing a nested Laplacian of the same kind of network. All but the
last are the same at each time. What XLA makes of a program is compared where the processor is the
record's: elsewhere it has other instructions to choose from.
"""

import argparse
import collections
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.extend.core as jex

from .subjects.agreement import PARTS
from .subjects.programs import PROGRAMS, nested

RECORD = Path(__file__).parent / "results" / "snapshot.json"
ALLOWED = 0.03
"""The part by which a number may grow without a new record."""
FEW = 2048
"""Bytes below which arrays in between are not worth a word."""
_QUICKLY: Any = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""What LLVM makes of a program changes none of its numbers, and took half of the time."""
_CALLS = ("jit", "kernel")
_OF_XLA = ("flops", "bytes", "temporary")


class Measured(NamedTuple):
    """A program's numbers."""

    equations: Mapping[str, int]
    flops_written: float
    bytes_written: float
    flops: float
    bytes: float
    temporary: int
    trace: float | None


def measured(
    function: Callable[..., Any], args: Any, timed: bool = False, by_xla: bool = True
) -> Measured:
    """Of a function at arguments whose arrays may be types alone; with the time, and with what XLA
    makes of it, if asked for.
    """
    arrays, static = eqx.partition(args, _is_array)
    leaves, structure = jax.tree.flatten(arrays)

    def run(leaves: list[Any]) -> Any:
        values = eqx.combine(jax.tree.unflatten(structure, leaves), static)
        return jax.tree.leaves(eqx.filter(function(*values), eqx.is_array))

    traced = jax.jit(run).trace(leaves)
    lowered = traced.lower()
    compiled = lowered.compile(_QUICKLY) if by_xla else None
    written = lowered.cost_analysis() or {}
    made = compiled.cost_analysis() or {} if compiled else {}
    memory: Any = compiled.memory_analysis() if compiled else None
    return Measured(
        dict(collections.Counter(_primitives(traced.jaxpr.jaxpr)).most_common()),
        written.get("flops", 0.0),
        written.get("bytes accessed", 0.0),
        made.get("flops", 0.0),
        made.get("bytes accessed", 0.0),
        memory.temp_size_in_bytes if compiled else 0,
        round(_seconds(run, leaves) / _seconds(*_unit()), 2) if timed else None,
    )


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct) or eqx.is_array(leaf)


def _unit() -> tuple[Callable[..., Any], Any]:
    method, u, points = nested()
    arrays, static = eqx.partition((u, points), _is_array)
    return lambda arrays: PARTS["forward"](method, *eqx.combine(arrays, static)), arrays


def _seconds(function: Callable[..., Any], arrays: Any) -> float:
    """To trace a function, when it is not for the first time."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        jax.jit(lambda arrays: function(arrays)).trace(arrays)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _primitives(jaxpr: jex.Jaxpr) -> Iterator[str]:
    """The names of all equations, those of inner programs too; calls have none of their own."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name not in _CALLS:
            yield eqn.primitive.name
        for inner in _inner(eqn.params.values()):
            yield from _primitives(inner)


def _inner(values: Any) -> Iterator[jex.Jaxpr]:
    for value in values:
        if isinstance(value, jex.ClosedJaxpr):
            yield value.jaxpr
        elif isinstance(value, jex.Jaxpr):
            yield value
        elif isinstance(value, tuple | list):
            yield from _inner(value)


def processor() -> str:
    """Its model, and how many cores of it there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{model}, {os.cpu_count()} cores"


def larger(before: Mapping[str, Any], after: Mapping[str, Any], same: bool) -> list[str]:
    """Names of what has grown too much; of XLA's numbers only on the same processor."""
    names = ["equations", "flops_written", "bytes_written", *(_OF_XLA if same else ())]
    return [name for name in names if _is_larger(name, *_numbers(name, before, after))]


def _is_larger(name: str, old: float, new: float) -> bool:
    return new > old * (1 + ALLOWED) and not (name == "temporary" and new <= FEW)


def _numbers(name: str, *measured: Mapping[str, Any]) -> list[float]:
    """Equations are counted by primitive."""
    found = [each[name] for each in measured]
    return [sum(each.values()) for each in found] if name == "equations" else found


def changes(names: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """These numbers before and after, and how often the one is the other."""
    pairs = [(name, *_numbers(name, before, after)) for name in names]
    said = [
        f"{name} {old:,.0f} → {new:,.0f} ({new / max(old, 1):.2f}×)" for name, old, new in pairs
    ]
    return "; ".join(said)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.snapshot", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the record")
    parser.add_argument("--where", default="", help="only programs with this in their names")
    options = parser.parse_args(words)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"programs": {}}
    machine = {"processor": processor(), "jax": jax.__version__}
    same = all(record.get(name) == value for name, value in machine.items())

    grown, found = 0, dict(record["programs"])
    for name, make in PROGRAMS.items():
        if options.where not in name:
            continue
        compared = same or options.write
        numbers = measured(*make(), timed=options.write, by_xla=compared)._asdict()
        before, found[name] = record["programs"].get(name), numbers
        if options.write:
            print(f"{name}: {sum(numbers['equations'].values())} equations", flush=True)
            continue
        if before is None:
            print(f"{name}: not in the record")
            grown += 1
            continue
        worse, better = larger(before, numbers, same), larger(numbers, before, same)
        grown += bool(worse)
        for sign, names in (("LARGER", worse), ("smaller", better)):
            if names:
                print(f"{sign}: {name}: {changes(names, before, numbers)}", flush=True)
    if options.write:
        known = {name: found[name] for name in PROGRAMS if name in found}
        RECORD.write_text(json.dumps({**machine, "programs": known}, indent=1) + "\n")
        return 0
    print(f"{grown} of {len(PROGRAMS)} programs have grown by more than {ALLOWED:.0%}")
    return int(grown > 0)


if __name__ == "__main__":
    sys.exit(main())
