"""What two processes make of a run together: each writes what it has seen.

python -m tests.train.two_processes PORT PROCESS DIRECTORY
"""

import json
import os
import pathlib
import signal
import sys

import jax
import jax.numpy as jnp
import optax

import diffop as do
from diffop.parallel.processes import by_first, connect, on_host, succeeded_everywhere
from diffop.train import progress as report, solving

from .toy import settings

SETTINGS = settings(dim=16, steps=8, width=4, batch=4)
PER_DISPATCH = 2 * SETTINGS.batch * SETTINGS.dim  # coordinates, on one device


def main(port, process, directory):
    connect(f"127.0.0.1:{port}", 2, process)
    mesh = jax.make_mesh((1, 2), ("data", "model"))
    solving._COORDINATES_PER_DISPATCH = PER_DISPATCH // 2
    seen = {
        "stopped": stopped(process, mesh, directory),
        "resumed": resumed(mesh, directory),
        "fit stopped": fit_stopped(process, mesh, directory),
        "not finite": not_finite(mesh),
        "whole": whole(mesh),
        "failed first": message(lambda: by_first(lambda: 1 // 0)),
        "failed second": message(lambda: succeeded_everywhere(lambda: 1 // (process - 1))),
    }
    (directory / f"{process}.json").write_text(json.dumps(seen))


def stopped(process, mesh, directory):
    """The second process is sent a signal after step 4."""
    call = report.Progress.__call__

    def signalled(self, state):
        call(self, state)
        if process == 1 and state.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    report.Progress.__call__ = signalled
    try:
        do.train.solve(SETTINGS, directory / "run", mesh=mesh)
    except do.train.Interrupted as error:
        return str(error)
    finally:
        report.Progress.__call__ = call


def resumed(mesh, directory):
    report = do.train.solve(SETTINGS, directory / "run", mesh=mesh, resume=True)
    return [report.rel_l2, report.resumed_at, report.mesh]


def fit_stopped(process, mesh, directory):
    """Ctrl-C in the second process, after step 20; then the same call once more."""

    def fit(observe):
        kept = do.train.Checkpoints(directory / "fit", every=1000)
        given = {"key": jax.random.key(0), "steps_per_dispatch": 10, "mesh": mesh}
        given |= {"observe": observe, "checkpoints": kept}
        return do.train.fit(jnp.ones(2), lambda x, key: x @ x, optax.sgd(0.01), 40, **given)

    def interrupt(step, *_):
        if process == 1 and step == 20:
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
    seen = []
    try:
        fit(interrupt)
    except do.train.Interrupted as error:
        seen.append([str(error), error.signal])
    made = []
    result = fit(lambda step, *_: made.append(step))
    return [*seen, made, on_host(result.model).tolist()]


def not_finite(mesh):
    loss = lambda x, key: -x @ x
    try:
        do.train.fit(jnp.ones(2), loss, optax.sgd(9.0), 100, key=jax.random.key(0), mesh=mesh)
    except do.train.NonFiniteLossError as error:
        return error.step


def whole(mesh):
    return jnp.sum(on_host(do.train.shard(jnp.arange(6.0).reshape(2, 3), mesh))).item()


def message(action):
    try:
        action()
    except (OSError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
