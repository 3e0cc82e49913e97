"""Many random programs, and which primitives they reached.

python -m tests.fuzz --programs 20000 --seed 0
"""

import argparse
import collections
import sys
import time

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np

from ..taylor.coverage import primitives_in
from .checking import OPERATORS, PROBES, check_estimate, check_exact
from .operations import SIZE
from .programs import programs

RARE = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=250, help="programs of one hypothesis run")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "standard")

    reached: collections.Counter = collections.Counter()
    counts: collections.Counter = collections.Counter()
    start = time.monotonic()

    def check(program, wanted, probes, number):
        x = jnp.asarray(np.random.default_rng(number).normal(size=SIZE))
        counts["programs"] += 1
        reached.update(set(primitives_in(jax.make_jaxpr(program)(x).jaxpr)))
        counts["said nothing"] += not check_exact(program, wanted, x)
        if counts["programs"] % 4 == 0:
            check_estimate(program, probes, jax.random.key(number), x)

    for batch in range(-(-options.programs // options.batch)):
        settings = hypothesis.settings(
            max_examples=options.batch,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        if batch % 20 == 19:
            jax.clear_caches()
        run = hypothesis.given(programs(), OPERATORS, PROBES, st.integers(0, 10**6))(check)
        hypothesis.seed(options.seed * 100_000 + batch)(settings(run))()
        seconds = time.monotonic() - start
        print(f"{counts['programs']} programs, {seconds:.0f} s", file=sys.stderr, flush=True)

    total = counts["programs"]
    print(f"{total} programs agree; {counts['said nothing']} of them were near a singularity")
    for name, count in reached.most_common():
        rare = "  rare" if count < RARE * total else ""
        print(f"{name:<28} {count / total:7.2%}{rare}")


if __name__ == "__main__":
    main()
