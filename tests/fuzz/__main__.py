"""Many random programs, and which primitives they reached.

python -m tests.fuzz --programs 20000 --seed 0 --processes 2

A program that disagrees is printed with its number; `--only N` finds the lines of it that do.
`--of einsum` makes programs of random specifications alone, and so for other kinds of products.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import sys
import time

import numpy as np

from .batches import OF_A_BATCH, Case, disagrees, random_case, run_batch, set_up, shrunk
from .products import CONTRACTIONS

RARE = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="where a run that was stopped goes on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which none begins")
    parser.add_argument("--of", choices=sorted(CONTRACTIONS), help="products of one kind alone")
    parser.add_argument("--only", type=int, help="the number of one, to be shortened")
    options = parser.parse_args()
    if options.only is not None:
        return shorten(random_case(options.seed, options.only, options.of))

    counts: collections.Counter = collections.Counter()
    failures: list[str] = []
    begun = time.monotonic()
    until = time.time() + 60 * options.minutes
    fresh = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.processes, fresh, set_up) as pool:
        numbers = range(options.first, options.programs)
        jobs = [
            pool.submit(run_batch, options.seed, batch, options.of, until)
            for batch in (
                numbers[start : start + OF_A_BATCH] for start in range(0, len(numbers), OF_A_BATCH)
            )
        ]
        for job in concurrent.futures.as_completed(jobs):
            found, disagree = job.result()
            counts += found
            failures += disagree
            seconds = time.monotonic() - begun
            print(f"{counts['programs']} programs, {seconds:.0f} s", file=sys.stderr, flush=True)
            print("\n".join(disagree), end="\n" if disagree else "", file=sys.stderr, flush=True)
    report(counts, failures)
    sys.exit(bool(failures))


def shorten(case: Case) -> None:
    set_up()
    print(case, disagrees(case), sep="\n")
    if disagrees(case):
        print(shrunk(case), disagrees(shrunk(case)), sep="\n")


def report(counts: collections.Counter, failures: list[str]) -> None:
    said = ("programs", "say nothing", "estimates")
    total, near, estimates = (counts.pop(k, 0) for k in said)
    print(f"{total} programs, {estimates} of them with an estimate: {len(failures)} disagree")
    print(f"{near} of them are near a singularity, and say nothing")
    for name, count in counts.most_common():
        print(f"{name:<28} {count / total:7.2%}{'  rare' if count < RARE * total else ''}")


if __name__ == "__main__":
    main()
