"""Which primitives this version of JAX can differentiate, by which class of rule diffop pushes
them, and which functions of the tests have them.

`python -m tests.taylor.coverage` writes the table into the documentation, `--check` says whether it
is there, `--untested` only whether every primitive has a test, with a JAX other than the table's.
"""

import functools
import pathlib
import re
import sys
from collections.abc import Iterator

import jax
import jax.experimental.multihost_utils  # has primitives of its own
import jax.extend.core as jex
import jax.numpy as jnp
from jax.interpreters import ad

from diffop.taylor import primitive

from .collectives import COLLECTIVES
from .primitives import CASES, N

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "devdocs" / "primitives.md"
TABLE = re.compile(r"(<!-- primitives -->\n).*?(<!-- end -->)", re.DOTALL)

CALLS = ("custom_jvp_call", "custom_vjp_call", "shard_map")
"""Primitives that JAX differentiates without an entry in its table."""

WITHOUT_DERIVATIVE = {
    "comparisons, integers and bits": (
        "and argmax argmin bitcast_convert_type eq eq_to ge gt is_finite le le_to lt lt_to mulhi "
        "ne not or shift_left shift_right_arithmetic shift_right_logical xor approx_top_k"
    ),
    "random bits": (
        "random_bits random_fold_in random_seed random_split random_unwrap random_wrap"
    ),
    "references, logs and boxes: state, not functions": (
        "accum_grad_in_ref addupdate box_get box_set empty_ref free_ref freeze get log_extend "
        "log_read maybe_set new_box new_log new_ref run_state swap dce_sink"
    ),
    "callbacks and foreign code: no derivative unless `custom_jvp` gives one": (
        "debug_callback debug_print ffi_call io_callback pure_callback check"
    ),
    "inside of other transformations, never in a traced function": (
        "announce_jaxpr call_hi_primitive eval_jaxpr from_edtype to_edtype "
        "nondifferentiable_backward nontraceable select_if_vmap stage inspect_sharding noinline "
        "composite linear_call remat_opt tie vprim"
    ),
}
"""Primitives that JAX lists as differentiable and that nothing moves through, by reason."""

ELSEWHERE = {
    "not in these tests: XLA has none for CPUs": (
        "pbroadcast pbroadcast_dynamic ragged_all_to_all"
    ),
    "not in these tests: layouts and memories of accelerators": (
        "relayout with_memory_space_constraint"
    ),
    "not in these tests: several processes": (
        "host_local_array_to_global_array global_array_to_host_local_array"
    ),
    "`tests/operators/test_explicit_mesh.py`": "reshard",
    "`tests/kernels`": "kernel",
    "`tests/taylor/test_custom_rules.py`": "custom_vjp_call custom_vmap_call xla_metadata_call",
    "with `reduce_window_max`, whose jvp it is": "select_and_gather_add",
    "nothing: JAX cannot map it or derive it twice": "ragged_dot_general reduce_window",
    "nothing: JAX < 0.10 makes it in no public function": "all_gather_invariant",
    "nothing: JAX < 0.10.1 cannot derive it twice": "eig",
    "by their jvp; not in the table of tests": (
        "bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_fromdense bcoo_sort_indices "
        "bcoo_spdot_general bcoo_sum_duplicates bcoo_todense bcoo_transpose bcsr_dot_general "
        "bcsr_extract bcsr_fromdense bcsr_todense coo_fromdense coo_matmat coo_matvec coo_todense "
        "csr_fromdense csr_matmat csr_matvec csr_todense spsolve todense "
        "random_gamma xla_metadata_value"
    ),
}
"""Primitives that need devices or formats of their own, by where they are tested."""

LATER = {
    "pbroadcast_dynamic",
    "relayout",
    "with_memory_space_constraint",
    "xla_metadata_call",
}
"""Those of a newer JAX than that of the table."""


def _names(table: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in table.items() for name in names.split()}


def differentiable() -> list[str]:
    """The names of all primitives that `jax.jvp` can differentiate."""
    return sorted({*CALLS, *(primitive.name for primitive in ad.primitive_jvps)})


def primitives_in(jaxpr: jex.Jaxpr) -> Iterator[str]:
    """The primitives of a program and of all programs in it."""
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for parameter in jax.tree.leaves(eqn.params, is_leaf=_is_jaxpr):
            if _is_jaxpr(parameter):
                yield from primitives_in(getattr(parameter, "jaxpr", parameter))


def _is_jaxpr(value: object) -> bool:
    return isinstance(value, jex.Jaxpr | jex.ClosedJaxpr)


@functools.cache
def cases_by_primitive() -> dict[str, list[str]]:
    """The cases that have a primitive, by its name."""
    found: dict[str, list[str]] = {}
    functions = {case.name: case.function for case in CASES}
    functions |= {f"devices-{name}": function for name, function in COLLECTIVES.items()}
    for case, function in functions.items():
        closed = jax.make_jaxpr(function)(jnp.ones(N))
        for name in set(primitives_in(closed.jaxpr)):
            found.setdefault(name, []).append(case)
    return found


def rows() -> list[tuple[str, str, str]]:
    """Name, class of rule, and where it is tested, of each primitive that values move through."""
    nowhere, elsewhere = _names(WITHOUT_DERIVATIVE), _names(ELSEWHERE)
    lines = []
    for name in differentiable():
        if name in nowhere:
            continue
        cases = cases_by_primitive().get(name, [])
        one = f"`{cases[0]}`" if cases else elsewhere.get(name, "")
        shown = f"{len(cases)} functions" if len(cases) > 1 else one
        lines.append((name, primitive.named(name).kind, shown))
    return lines


def page(text: str) -> str:
    """The text of the page with the table as it is now."""
    lines = ["| primitive | rule | tested in |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {rule} | {where} |" for name, rule, where in rows()]
    reasons = [
        f"- {reason}: {', '.join(f'`{n}`' for n in names.split() if n in differentiable())}."
        for reason, names in WITHOUT_DERIVATIVE.items()
    ]
    table = "\n".join([*lines, "", "Nothing moves through", "", *reasons])
    return TABLE.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)


def untested() -> list[str]:
    """The primitives of this JAX that no test has and that are not excused."""
    return [f"the primitive {name!r} is not tested" for name, _, where in rows() if not where]


def outdated() -> list[str]:
    """What the page, or the excuses, say that is not so of this JAX."""
    found = []
    text = PAGE.read_text(encoding="utf-8")
    if page(text) != text:
        found.append("the table is not up to date: run python -m tests.taylor.coverage")
    gone = {*_names(WITHOUT_DERIVATIVE), *_names(ELSEWHERE)} - {*differentiable(), *LATER}
    return [*found, *(f"there is no primitive {name!r}" for name in sorted(gone))]


if __name__ == "__main__":
    with jax.enable_x64(True):
        if sys.argv[1:] == ["--untested"]:
            sys.exit("\n".join(untested()) or None)
        if sys.argv[1:] == ["--check"]:
            sys.exit("\n".join([*untested(), *outdated()]) or None)
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
