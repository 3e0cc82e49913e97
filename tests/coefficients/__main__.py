"""Many random programs along random blocks.

python -m tests.coefficients --programs 2000 --first 0
"""

import argparse
import sys

import jax

from .fuzz import disagree, random_case

OF_A_BATCH = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="where a run that was stopped goes on")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    seeds, wrong = range(options.first, options.first + options.programs), 0
    for start in range(0, len(seeds), OF_A_BATCH):
        for text in disagree([random_case(seed) for seed in seeds[start : start + OF_A_BATCH]]):
            print(text, flush=True)
            wrong += 1
        jax.clear_caches()
    print(f"{len(seeds)} programs: {wrong} disagree")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
