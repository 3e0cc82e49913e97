"""What a mesh of eight devices makes of training: run in a process that has as many.

Writes by case how far the losses of a fit are from those on one device, how large the arrays of the
program are that each device runs, and how the weights are divided.
"""

import contextlib
import json
import math
import re
import tempfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import diffop as do

BATCH, DIM, WIDTH, BLOCK = 64, 512, 16, 8
KEYS = jax.random.split(jax.random.key(0), 3)


def mlp(dim):
    return eqx.nn.MLP(dim, "scalar", WIDTH, 1, jnp.tanh, key=KEYS[1])


def shared(dim):
    return do.nn.WeightSharedMLP(dim, BLOCK, WIDTH, 2, key=KEYS[1])


# The problem and its dimension, the network, the loss. 511 coordinates and 61 points cannot be
# divided by 2 and 4; semilinear-heat has time and conditions.
CASES = {
    "exact": ("allen-cahn-two-body", DIM, mlp, {"probes": "exact"}),
    "sparse": ("allen-cahn-two-body", DIM, mlp, {}),
    "exact, shared": ("allen-cahn-two-body", DIM, shared, {"probes": "exact"}),
    "sparse, shared": ("allen-cahn-two-body", DIM, shared, {}),
    "uneven": ("allen-cahn-two-body", DIM - 1, mlp, {"batch": 61}),
    "time": ("semilinear-heat", DIM, mlp, {}),
    "weighted": ("semilinear-heat", DIM, mlp, {"causal": True}),
    "weighted, uneven": ("semilinear-heat", DIM, mlp, {"causal": True, "batch": 61}),
}


def main():
    mesh = jax.make_mesh((4, 2), ("data", "model"))
    measured = {name: measure(mesh, *case) for name, case in CASES.items()}
    print(json.dumps(measured | {"checkpoints": checkpoints(mesh), "made": made(mesh)}))


def made(mesh):
    """The largest array of the program that makes a network where it will be."""

    def make(key):
        net = eqx.nn.MLP(DIM, "scalar", WIDTH, 1, jnp.tanh, key=key)
        return eqx.filter(do.train.shard(net, mesh), eqx.is_array)

    return largest(jax.jit(make).lower(KEYS[1]).compile().as_text())


def checkpoints(mesh):
    """A fit that goes on on other meshes; its loss is one of our own."""
    net = eqx.nn.MLP(6, "scalar", 4, 1, key=KEYS[1])

    def loss(u, key):
        points = do.train.shard_points(jax.random.normal(key, (10, 6)))
        return jnp.mean(jnp.square(jax.vmap(u)(points) - points[:, 0]))

    def fit(steps, mesh, **checkpoints):
        given = {"key": KEYS[2], "steps_per_dispatch": 2, "mesh": mesh, **checkpoints}
        return do.train.fit(net, loss, optax.adam(1e-2), steps, **given)

    alone, told = fit(8, None), []
    # 6 coordinates cannot be divided by 4
    meshes = [mesh, jax.make_mesh((2, 4), ("data", "model")), None, jax.make_mesh((8,), ("data",))]
    with tempfile.TemporaryDirectory() as directory:
        for steps, each in zip((2, 4, 6, 8), meshes, strict=True):
            kept = do.train.Checkpoints(directory, every=2, tell=told.append)
            # also where a caller has set it
            with contextlib.nullcontext() if each is None else jax.set_mesh(each):
                result = fit(steps, each, checkpoints=kept)
    gap = float(np.max(np.abs(result.losses / alone.losses - 1)))
    return {"gap": gap, "told": [text.split(" was made on ")[1] for text in told]}


def measure(mesh, name, dim, network, options):
    problem = do.pde.make(name, dim, key=KEYS[0])
    u = problem.ansatz(network(problem.dim))
    options = {"batch": BATCH, "n": 4, "probes": "sparse", **options}
    optimiser = optax.adam(1e-2)
    if options.get("causal"):
        options["causal"] = do.losses.Causal(problem.elapsed, 1e-3, slices=8)
        optimiser = do.methods.Balanced(optimiser, every=2)
    loss = do.losses.ResidualLoss(problem, **options)

    def fit(mesh):
        given = {"key": KEYS[2], "steps_per_dispatch": 3, "mesh": mesh}
        return do.train.fit(u, loss, optimiser, 6, **given)

    alone = fit(None)
    with noted_programs() as programs:
        divided = fit(mesh)
    weights = [leaf for leaf in jax.tree.leaves(divided.model) if getattr(leaf, "ndim", 0) == 2]
    return {
        "gap": float(np.max(np.abs(divided.losses / alone.losses - 1))),
        "changes": float(np.ptp(alone.losses) / alone.losses[0]),
        "largest": largest(programs[-1]),
        "parts": [leaf.sharding.shard_shape(leaf.shape) for leaf in weights],
    }


@contextlib.contextmanager
def noted_programs():
    """The programs that are compiled, as one device runs them."""
    programs, compile = [], jax.stages.Lowered.compile

    def note(lowered, *args, **kwargs):
        compiled = compile(lowered, *args, **kwargs)
        programs.append(compiled.as_text())
        return compiled

    jax.stages.Lowered.compile = note
    try:
        yield programs
    finally:
        jax.stages.Lowered.compile = compile


def largest(program):
    """How many numbers the largest array of a program has."""
    shapes = re.findall(r"\b(?:pred|[a-z]+\d+)\[([\d,]+)\]", program)
    return max(math.prod(map(int, shape.split(","))) for shape in shapes)


if __name__ == "__main__":
    main()
