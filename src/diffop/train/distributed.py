"""Starting several processes that train together, and leaving them where one is lost."""

import os
import sys
import time
from typing import NoReturn

import jax

_SHUTDOWN = 30  # seconds that a process which has ended waits for the others
_LAST = 10  # seconds by which the first process leaves after it has learnt that another is lost


def connect(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Connects this process with the others, before JAX is used for anything.

    What is not given is what a cluster (SLURM, Open MPI, Kubernetes, Cloud TPU) tells its
    processes.

    **Arguments:**

    - `coordinator`: address and port of the first process.
    - `processes`: how many there are.
    - `process`: which one this is, from 0.

    **Raises:** `ValueError` if something is missing or makes no sense; `ConnectionError` if the
    others cannot be reached.
    """
    given = [value is not None for value in (coordinator, processes, process)]
    if any(given) and not all(given):
        raise ValueError(
            "distributed expects --coordinator HOST:PORT, --processes N and --process K together, "
            "or none of them on a cluster that tells its processes."
        )
    if coordinator is not None:
        _check(coordinator, processes or 0, -1 if process is None else process)
    # signals are noted and agreed on by the run itself
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            coordinator, processes, process, shutdown_timeout_seconds=_SHUTDOWN
        )
    except ValueError:
        raise ValueError(
            "distributed finds no cluster that tells this process about the others; say "
            "--coordinator HOST:PORT --processes N --process K in each of them."
        ) from None
    except RuntimeError as error:
        raise ConnectionError(f"the other processes could not be reached: {error}") from None


def leave(code: int) -> NoReturn:
    """Ends this process, one of several of which another is lost, with an exit code.

    At its usual end a process waits for all others, and is aborted by the runtime, with its stack,
    if one does not come. The first process answers for all: where it is gone the runtime aborts
    whoever is left, so it stays until they have said what they have to.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if jax.process_index() == 0 and jax.process_count() > 2:
        time.sleep(_LAST)
    os._exit(code)


def _check(coordinator: str, processes: int, process: int) -> None:
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"coordinator must be HOST:PORT, got {coordinator!r}.")
    if not 0 <= process < processes:
        raise ValueError(
            f"process must be one of 0 to {processes - 1}, the number of processes being "
            f"{processes}, got {process}."
        )
