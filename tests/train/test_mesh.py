"""Training on a mesh of devices: the results of one device, with every device doing its part."""

import itertools
import json
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.__main__ import main
from diffop.kinds import from_word
from diffop.parallel.mesh import SIZES as MESHES, make
from diffop.train import solving

from .. import compiling
from . import eight_devices

KEY = jax.random.key(0)
MESH = jax.make_mesh((1, 1), ("data", "model"))
LOCAL = eight_devices.BATCH * eight_devices.DIM // 8
"""Coordinates of the points on each device; the first layer's weights there are as many."""


processes = pytest.mark.slow("starts a process of eight devices")


@pytest.fixture(scope="module")
def measured():
    command = [sys.executable, "-m", "tests.train.eight_devices"]
    with compiling.quickly():
        environment = os.environ | {"JAX_NUM_CPU_DEVICES": "8", "JAX_ENABLE_X64": "1"}
        result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


@processes
@pytest.mark.parametrize("case", eight_devices.CASES)
def test_losses_are_those_of_one_device_and_nothing_is_whole(case, measured):
    assert measured[case]["changes"] > 1e-3  # the fit goes somewhere
    assert measured[case]["gap"] < 1e-10
    # neither the points nor the weights, nor anything else of their size, are whole anywhere
    parts = 2 if case == "weighted, uneven" else 1  # a time is joined to padded parts of points
    assert measured[case]["largest"] <= 1.02 * parts * LOCAL


@processes
def test_weights_of_the_input_are_divided(measured):
    dim, width, block = eight_devices.DIM, eight_devices.WIDTH, eight_devices.BLOCK
    assert measured["sparse"]["parts"] == [[width, dim // 2], [1, width]]
    assert measured["exact, shared"]["parts"] == [
        [1, block],
        [width, dim // block // 2],
        [width, width],
        [1, width],
    ]
    # time makes 513 coordinates: between programs the weights are divided along the width
    assert measured["time"]["parts"] == [[width // 2, dim + 1], [1, width]]


@processes
def test_a_fit_goes_on_on_another_mesh(measured):
    assert measured["checkpoints"]["gap"] < 1e-10
    meshes = ["data=4,model=2", "data=2,model=4", "one device", "data=8"]
    assert measured["checkpoints"]["told"] == [
        f"{before}, and the fit goes on on {now}; its results are those of an uninterrupted one to "
        f"rounding."
        for before, now in itertools.pairwise(meshes)
    ]


@processes
def test_a_network_is_made_where_it_will_be(measured):
    assert measured["made"] == eight_devices.WIDTH * eight_devices.DIM // 2


def points_of_one_array(x, key):
    points = do.train.shard_points(jax.random.normal(key, (5, 2)))
    return jnp.mean(jnp.square(points @ x - 1))


def points_of_two_arguments():
    """Times have one axis, along which they are divided."""
    rod = do.pde.SpaceTime(do.pde.Box((0.0, 0.0), (1.0, 1.0)), 1.0, argnum=1)
    heat = do.equations.Equation.linear(
        do.Partial(argnum=1) - do.Laplacian(), lambda x, t: x[0] * t
    )
    return do.losses.ResidualLoss(heat, 6, probes="exact", points=rod.sample)


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (jnp.ones(2), points_of_one_array),
        (
            do.nn.JoinedInput(eqx.nn.MLP(3, "scalar", 4, 1, activation=jnp.tanh, key=KEY)),
            points_of_two_arguments(),
        ),
    ],
    ids=["an array", "two arguments"],
)
def test_a_mesh_of_one_device(model, loss):
    together, alone = (
        do.train.fit(model, loss, optax.adam(0.1), 3, key=KEY, mesh=mesh).losses
        for mesh in (MESH, None)
    )
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_the_start_is_left_as_it_is():
    """Although the state is donated from one dispatch to the next."""
    start = do.train.State.initial(jnp.ones(2), optax.adam(0.1), MESH)
    loss = lambda x, key: jnp.sum(x**2)
    for _ in do.train.iterate(
        start.model, loss, optax.adam(0.1), 2, key=KEY, start=start, mesh=MESH
    ):
        pass
    np.testing.assert_array_equal(start.model, [1.0, 1.0])


def test_points_stay_as_they_are_without_a_mesh():
    points = jnp.ones((3, 2))
    assert do.train.shard_points(points) is points


def test_a_mesh_with_other_axes():
    with pytest.raises(ValueError, match="the axes data and model, or one of them, got 'points';"):
        do.train.shard(jnp.ones(2), jax.make_mesh((1,), ("points",)))


def test_a_fit_with_an_empty_array_goes_on(tmp_path):
    mesh = jax.make_mesh((1, 2), ("data", "model"))
    model = {"w": jnp.ones((12, 3)), "none": jnp.zeros((0, 12))}

    def loss(model, key):
        return jnp.mean((jax.random.normal(key, (8, 12)) @ model["w"]) ** 2)

    def fit(steps, **options):
        given = {"key": KEY, "steps_per_dispatch": 5, **options}
        return do.train.fit(model, loss, optax.sgd(0.01), steps, **given)

    saved = do.train.Checkpoints(tmp_path, every=5)
    fit(5, mesh=mesh, checkpoints=saved)
    gone_on = fit(10, mesh=mesh, checkpoints=saved)
    assert gone_on.model["none"].shape == (0, 12)
    np.testing.assert_allclose(gone_on.model["w"], fit(10).model["w"], rtol=1e-6)


def test_methods_for_one_device(tmp_path):
    """Least squares are refused before anything is begun, Muon is not."""
    settings = do.train.Settings("kovasznay")
    mesh = jax.make_mesh((2,), ("data",))
    with pytest.raises(ValueError, match="GaussNewton makes its steps on one device, got a mesh"):
        do.train.check(settings, tmp_path / "run", mesh=mesh)
    first_order = do.train.Settings("kovasznay", optimiser="muon", learning_rate=0.01)
    do.train.check(first_order, tmp_path / "run", mesh=mesh)


@pytest.mark.parametrize("words", ["data=4,model=2", "model=8"])
def test_words(words):
    MESHES.check("mesh", from_word(words))


@pytest.mark.parametrize(
    ("words", "got"),
    [
        ("points=4", "{'points': 4}"),
        ("data=2,data=2", "'data=2,data=2'"),
        ("", "''"),
        ("data", "'data'"),
        ("data=0", "{'data': 0}"),
        ("data=1.5", "{'data': 1.5}"),
        ("data=4,model=two", "'data=4,model=two'"),
    ],
)
def test_words_that_make_no_sense(words, got, tmp_path, capsys):
    assert main([*SOLVE, "--mesh", words, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "diffop: error: mesh must be data=N, model=M or data=N,model=M, with integers of at least "
        f"1, got {got}.\n"
    )


@pytest.mark.parametrize(
    ("sizes", "devices", "message"),
    [
        ({"data": 2}, 1, "data=2 has 2 devices, but there is 1; data=1"),
        ({"model": 4}, 8, "model=4 has 4 devices, but there are 8; model=8"),
        (
            {"data": 4, "model": 4},
            8,
            "data=4,model=4 has 16 devices, but there are 8; data=2,model=4",
        ),
        (
            {"data": 2, "model": 3},
            8,
            "data=2,model=3 has 6 devices, but there are 8; data=2,model=4",
        ),
        (
            {"model": 3, "data": 3},
            8,
            "data=3,model=3 has 9 devices, but there are 8; data=8,model=1",
        ),
    ],
)
def test_meshes_that_do_not_fit_the_devices(sizes, devices, message, monkeypatch):
    monkeypatch.setattr(jax, "device_count", lambda: devices)
    with pytest.raises(ValueError, match=f"^the mesh {message} would fit.$"):
        make(sizes)


SIZES = ["--dim", "4", "--width", "8", "--depth", "1", "--n", "2"]
SOLVE = ["solve", "allen-cahn-two-body", "--paper", *SIZES]


def test_the_command_line_makes_the_mesh(tmp_path, monkeypatch):
    meshes = []

    def run(settings, directory, *, mesh, **_):
        meshes.append(mesh)
        raise do.train.Interrupted("enough", 2)

    monkeypatch.setattr(solving, "run", run)
    assert main([*SOLVE, "--mesh", "model=2,data=1", "--out", str(tmp_path)]) == 130
    assert [mesh.shape for mesh in meshes] == [{"data": 1, "model": 2}]


TWO = ["--distributed", "--mesh", "data=1", "--processes", "2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mesh", "data=512"], "the mesh data=512 has 512 devices, but there"),
        (["--distributed"], "distributed expects --mesh; say for instance --mesh data=4,model=2."),
        (["--process", "1"], "coordinator, processes and process are for --distributed; say so."),
        (
            TWO,
            "distributed expects --coordinator HOST:PORT, --processes N and --process K together",
        ),
        (
            [*TWO, "--coordinator", "here", "--process", "0"],
            "coordinator must be HOST:PORT, got 'here'.",
        ),
        (
            [*TWO, "--coordinator", "here:1", "--process", "2"],
            "process must be one of 0 to 1, the number of processes being 2, got 2.",
        ),
    ],
)
def test_words_on_the_command_line_that_make_no_sense(words, message, tmp_path, capsys):
    assert main([*SOLVE, *words, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("error", "words", "message"),
    [
        (
            ValueError("coordinator_address should be defined."),
            [],
            "distributed finds no cluster that tells this process about the others; say",
        ),
        (
            RuntimeError("DEADLINE_EXCEEDED"),
            ["--coordinator", "here:1", "--processes", "2", "--process", "1"],
            "the other processes could not be reached: DEADLINE_EXCEEDED",
        ),
    ],
)
def test_a_connection_that_fails(error, words, message, tmp_path, capsys, monkeypatch):
    def initialize(*_, **__):
        raise error

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    words = ["--mesh", "data=2", "--distributed", *words]
    assert main([*SOLVE, *words, "--out", str(tmp_path / "run")]) == 2
    assert f"diffop: error: {message}" in capsys.readouterr().err


LOST = "UNKNOWN: Gloo AllGather failed: Connection reset by peer"


@pytest.mark.parametrize("error", [ValueError(LOST), jax.errors.JaxRuntimeError(LOST)], ids=repr)
@pytest.mark.parametrize("action", [(do.train, "check"), (solving, "run")])
def test_another_process_is_lost(action, error, tmp_path, capsys, monkeypatch):
    """JAX says so in two ways; a call of a program that cannot begin raises `ValueError`."""

    def lost(*_, **__):
        raise error

    monkeypatch.setattr(jax.distributed, "initialize", lambda *_, **__: None)
    monkeypatch.setattr(*action, lost)
    monkeypatch.setattr(os, "_exit", lambda code: sys.exit(code))
    with pytest.raises(SystemExit) as left:
        main([*SOLVE, "--mesh", "data=2", "--distributed", "--out", str(tmp_path / "run")])
    assert left.value.code == 1
    expected = f"diffop: error: another process has ended, or a device has failed ({LOST});"
    assert capsys.readouterr().err.startswith(expected)


def test_other_errors_of_several_processes(tmp_path, monkeypatch):
    def mistaken(*_, **__):
        raise ValueError("too many values to unpack")

    monkeypatch.setattr(jax.distributed, "initialize", lambda *_, **__: None)
    monkeypatch.setattr(solving, "run", mistaken)
    with pytest.raises(ValueError, match="too many values"):
        main([*SOLVE, "--mesh", "data=2", "--distributed", "--out", str(tmp_path / "run")])
