"""Settings and fixtures that all tests share."""

import ctypes
import gc
import itertools
import os
import signal
from pathlib import Path

import hypothesis
import jax
import jaxtyping
import pytest

from . import checking, compiling, together
from .kept import Kept

# A library must not depend on its user's lenient settings.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Two devices, on which programs that are mapped over devices differ from others.
jax.config.update("jax_num_cpu_devices", 2)

# What is compiled is kept, for the next run and for the processes that tests start.
KEEPING = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".cache" / "compiled"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_traceback_in_locations_limit": 0,
}

# Programs here run once, on little: compiling them is what takes time. XLA takes a third of it
# without most optimisations, without its emitters for fusions and with one module of machine code
# for a program.
_QUICKLY = {"jax_disable_most_optimizations": True}
_QUICKLY_FLAGS = " --xla_cpu_parallel_codegen_split_count=1"
if jax.__version_info__ < (0, 11):  # XLA ends the process at a flag that it does not know
    _QUICKLY_FLAGS += " --xla_cpu_use_fusion_emitters=false"


def pytest_configure(config):
    """With `--rest` programs are compiled as users compile them, with `--alone` each by itself."""
    if config.getoption("alone"):
        together.SIZE = 1
        config.option.oracles = "compute"
    quickly = not config.getoption("rest")
    for name, value in (KEEPING | _QUICKLY if quickly else KEEPING).items():
        os.environ.setdefault(name.upper(), str(value))
        jax.config.update(name, value)
    if quickly:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + _QUICKLY_FLAGS


compiling.share_contexts()

jaxtyping.jaxtyped = checking.when_on(jaxtyping.jaxtyped)

# Tracing makes objects by the million, and most of them live as long as their program.
gc.set_threshold(100_000, 20, 20)

hypothesis.settings.register_profile(
    "diffop", deadline=None, derandomize=True, max_examples=30, print_blob=False
)
hypothesis.settings.load_profile("diffop")

GROWTH = 2**31
"""Bytes by which a process may grow before what JAX keeps for later is let go."""

LONGEST = (
    *("project/test_results.py", "project/test_docs.py", "project/test_examples.py"),
    *("project/test_benchmarks.py", "operators/test_exact.py", "precision/test_types.py"),
    *("taylor/test_primitives.py", "train/test_kill.py", "train/test_solve.py"),
    *("train/test_mesh.py", "train/test_processes.py", "taylor/test_replacing.py"),
    *("project/test_snapshot.py", "train/test_squares.py", "test_streams.py"),
)
"""Files that begin first, so that no process is left alone with one of them."""


AS_USERS = {"losses", "precision"}
"""Directories of tests that `--rest` runs with programs as users compile them, as it does those
beside kept oracles anywhere. `make test` runs them, too, with programs that are compiled quickly,
unless it is told that the rest follows (`--rest-follows`). In both jaxtyping and beartype check
types (`tests/checking.py`). Those whose arithmetic others show have the mark `once`.
"""


def pytest_addoption(parser):
    parser.addoption("--rest", action="store_true", help="run what `make test` leaves to do")
    parser.addoption("--rest-follows", action="store_true", help="leave out what --rest runs")
    parser.addoption("--alone", action="store_true", help="nothing shared, nothing kept: to debug")
    modes = ("read", "check", "write", "compute")
    parser.addoption("--oracles", choices=modes, default="read")


def pytest_collection_modifyitems(config, items):
    """The longest files begin."""
    root = Path(__file__).parent
    if config.getoption("oracles") == "write":
        items[:] = [item for item in items if "kept" in item.fixturenames]
    files = {item: item.path.relative_to(root).as_posix() for item in items}
    for item in items:
        for name in ("slow", "once"):
            if any(not mark.args for mark in item.iter_markers(name)):
                raise pytest.UsageError(f"{item.nodeid}: its mark, {name}, does not say why")
    if config.getoption("rest") or config.getoption("rest_follows"):
        chosen = [item for item in items if _is_left(item) == config.getoption("rest")]
        config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
        items[:] = chosen
    rank = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(files[item], len(rank)))


def _is_left(item):
    """Whether `make test` does not run it, or it is to run once more as users run it."""
    if item.get_closest_marker("slow") or "kept" in item.fixturenames:
        return True
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return folder in AS_USERS and not item.get_closest_marker("once")


@pytest.fixture(autouse=True)
def memory():
    yield
    let_go(GROWTH)


def let_go(growth):
    """What JAX keeps of what was before, for anything that may follow, is let go when this process
    has grown by so many bytes.
    """
    if _resident() > _least + growth:
        jax.clear_caches()
        gc.collect()
        _trim(0)
        globals()["_least"] = _resident()


_trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)


def _resident():
    """The memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_least = _resident()


@pytest.fixture(autouse=True)
def types(request):
    """Types are checked, but in what takes long; a test begins."""
    checked = not request.node.get_closest_marker("slow")
    jaxtyping.config.update("jaxtyping_disable", not checked)
    checking.begin()


@pytest.fixture
def compiled_quickly():
    """Also with `--rest`: programs whose arithmetic smaller ones show as users compile it."""
    with compiling.quickly():
        yield


@pytest.fixture
def ctrl_c_is_heard():
    """A shell's background jobs ignore Ctrl-C, and so do their children; not so handlers."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def as_users_see_it(types):
    """Without the run-time type checks of the test suite, which would answer first."""
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture(scope="module")
def kept_values(request):
    values = Kept(request.path, request.config.getoption("oracles"))
    yield values
    values.write()


@pytest.fixture
def kept(kept_values, request):
    """`kept(compute)` is what an oracle's `compute()` returns, read from a file: see `Kept`."""
    calls = itertools.count()
    return lambda compute: kept_values.value(f"{request.node.name} {next(calls)}", compute)


@pytest.fixture
def getkey():
    """`getkey()` is a new random key at each call, the same sequence in every test."""
    seeds = itertools.count()
    return lambda: jax.random.key(next(seeds))


@pytest.fixture(scope="module")
def x64():
    """Double precision for one test module: `pytestmark = pytest.mark.usefixtures("x64")`."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def kernels_everywhere(halves, monkeypatch):
    """What is done on a lone CPU with many points and large arrays, done with few and small ones on
    any machine.
    """
    for name, value in {
        **{"scaled_rows.LARGE": 1, "weighted_rows.ENOUGH": 0, "symmetric.LEAST": 1},
        **{"parts.MANY": 1, "parts.WHOLE": 0, "parts.SMALL": 0, "parts.FEWEST": 1},
        **{"parts.LOW": 1, "parts.HIGH": 1},
    }.items():
        monkeypatch.setattr(f"diffop.kernels.{name}", value)


@pytest.fixture
def halves(monkeypatch):
    """What is done on a lone CPU with wide layers, done with narrow ones on any machine."""
    monkeypatch.setattr("diffop.kernels.halves.LEAST", 2)
    monkeypatch.setattr("diffop.kernels.halves.LARGE", 1)
    monkeypatch.setattr("diffop.kernels.device.on_lone_cpu", lambda *_: True)
    jax.clear_caches()
    yield
    jax.clear_caches()
