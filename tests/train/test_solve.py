"""Whole runs, small: what is left on disk, and that something is learnt."""

import dataclasses
import json
import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.train.model import Keys, untrained

KEYS = (
    "problem dim steps n seed rel_l1 rel_l2 null_rel_l2 skill it_per_s compile_s peak_memory_mb "
    "parameters settings environment loss components resumed_at mesh ended_at test_points "
    "reference_rel_error"
).split()


def small(**changes):
    given = {"dim": 4, "steps": 30, "n": 2, "width": 8, **changes}
    return do.train.Settings.of_paper("allen-cahn-two-body", **given)


SETTINGS = small(input_scale=3.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run that several tests look at: its report and its directory."""
    directory = tmp_path_factory.mktemp("runs") / "new" / "run"
    return do.train.solve(SETTINGS, directory), directory


def test_report_and_files(run):
    report, directory = run
    names = {"report.json", "curve.png", "model.eqx", "run.json", "metrics.jsonl"}
    assert {path.name for path in directory.iterdir()} == names
    written = json.loads((directory / "report.json").read_text())
    assert written.pop("version") == json.loads((directory / "run.json").read_text())["version"]
    assert written == dataclasses.asdict(report)
    assert list(written) == KEYS
    given = {name: written[name] for name in ("problem", "dim", "steps", "n", "seed")}
    assert written["settings"] == {**dataclasses.asdict(SETTINGS), **given}
    assert written["test_points"] == 20_000
    assert written["settings"] == json.loads((directory / "run.json").read_text())["settings"]
    assert written["skill"] == written["null_rel_l2"] / written["rel_l2"]
    assert written["parameters"] == 4 * 8 + 8 + 2 * (8 * 8 + 8) + 8 + 1
    assert written["it_per_s"] > 0 and written["compile_s"] > 0 and written["peak_memory_mb"] > 50
    assert (directory / "curve.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_files_of_another_form(run, tmp_path):
    """Without a version they are of this one; the run is known by its report, too."""
    report, directory = run
    shutil.copytree(directory, tmp_path / "run")
    for name in ("run.json", "report.json"):
        found = json.loads((directory / name).read_text())
        del found["version"]
        (tmp_path / "run" / name).write_text(json.dumps(found))
    assert do.train.solve(SETTINGS, tmp_path / "run", resume=True) == report
    (tmp_path / "run" / "run.json").unlink()
    assert do.train.solve(SETTINGS, tmp_path / "run", resume=True) == report
    x = jnp.ones(report.dim) / 9
    assert do.train.load(tmp_path / "run")(x) == do.train.load(directory)(x)
    (tmp_path / "run" / "report.json").write_text(json.dumps({"version": 99, "settings": {}}))
    with pytest.raises(ValueError, match="report.json is of another version of diffop; read it"):
        do.train.load(tmp_path / "run")


def test_a_trained_network_beats_the_null_model(tmp_path):
    settings = small(dim=5, steps=600, width=32, learning_rate=1e-2)
    report = do.train.solve(settings, tmp_path)
    assert report.skill > 4
    assert f"{report.skill:.1f} times below the null model's" in report.as_text()


def test_equal_settings_give_equal_runs(run, tmp_path):
    """And another seed gives another problem, for which one step is not enough."""
    report, _ = run
    again = do.train.solve(SETTINGS, tmp_path / "again")
    assert (again.rel_l1, again.rel_l2) == (report.rel_l1, report.rel_l2)
    other = do.train.solve(small(seed=1, steps=1), tmp_path / "other")
    assert other.null_rel_l2 != report.null_rel_l2
    assert other.skill < 1 and "no better than the null model's" in other.as_text()


@pytest.mark.slow("trains networks")
def test_a_value_at_one_point_is_learnt(tmp_path):
    """From the equation and the value at the last time, which alone is wrong by the null error."""
    settings = do.train.Settings(
        "semilinear-heat", dim=3, steps=400, batch=100, width=32, depth=2, learning_rate=5e-3
    )
    report = do.train.solve(settings, tmp_path)
    assert report.test_points == 1 and report.reference_rel_error == 1e-5
    assert report.null_rel_l2 > 0.3 and report.skill > 10
    assert "on 1 fixed points, where the reference is exact to 1e-05" in report.as_text()
    u = do.train.load(tmp_path)
    value = do.pde.SemilinearHeat(3).reference().values[0]
    np.testing.assert_allclose(abs(u(jnp.zeros(4)) - value) / value, report.rel_l1, rtol=1e-3)


def test_the_model_can_be_loaded(run):
    report, directory = run
    u = do.train.load(directory)
    assert u(jnp.array([1.0, 0.0, 0.0, 0.0])) == 0.0
    keys = Keys.of(SETTINGS)
    problem = do.pde.make(SETTINGS.problem, SETTINGS.dim, key=keys.problem)
    errors = do.train.FixedPoints(problem, keys.test).errors(u)
    assert errors == (report.rel_l1, report.rel_l2)


def test_double_precision_is_for_the_run_alone(tmp_path):
    """It is the run of a session of double precision; its models are, and their checkpoints."""
    settings = small(steps=4, precision="double")
    report = do.train.solve(settings, tmp_path / "run", checkpoint_every=2)
    assert jnp.zeros(3).dtype == jnp.float32
    models = [do.train.load(tmp_path / "run", which) for which in (None, "last")]
    for u in models:
        leaves = jax.tree.leaves(eqx.filter(u, eqx.is_array))
        assert {leaf.dtype.name for leaf in leaves} == {"float64"}
    with jax.enable_x64(True):
        last, ended = (u(jnp.zeros(4)) for u in models)
        assert last == ended and last.dtype == jnp.float64
        again = do.train.solve(small(steps=4), tmp_path / "session")
    assert (again.rel_l1, again.rel_l2) == (report.rel_l1, report.rel_l2)


def test_weights_are_shared_by_blocks(tmp_path):
    report = do.train.solve(small(dim=10, block=4, channels=2, depth=1, steps=2), tmp_path)
    # each of three blocks of 4 is seen through 2 numbers, and a network of 8 units sees all 6
    assert report.parameters == (4 * 2 + 2) + (6 * 8 + 8) + (8 + 1)
    assert do.train.load(tmp_path)(jnp.ones(10) / jnp.sqrt(10.0)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("sharing", ["joined", "summed", "sliding"])
def test_networks_of_blocks_have_all_values(sharing):
    """Velocities and pressure."""
    net = untrained(do.train.Settings("kovasznay", block=2, sharing=sharing), jax.random.key(0))
    assert jax.eval_shape(net, jnp.zeros(2)).shape == (3,)


def test_loading_needs_a_finished_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="no report.json; name the directory of a finished"):
        do.train.load(tmp_path)


def test_a_directory_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty; name another directory, or say"):
        do.train.solve(small(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_overwriting_replaces_results_and_nothing_else(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "report.json").write_text("old")
    do.train.solve(small(steps=2), tmp_path, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / "report.json").read_text())["steps"] == 2


def test_a_failed_run_leaves_no_old_results(tmp_path):
    do.train.solve(small(steps=2), tmp_path)
    with pytest.raises(do.train.NonFiniteLossError, match="at step 2 of 20"):
        do.train.solve(small(steps=20, learning_rate=1e38), tmp_path, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "metrics.jsonl"}


def test_a_file_is_not_a_directory(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(NotADirectoryError, match="is a file; name a directory"):
        do.train.solve(small(), tmp_path / "out", overwrite=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (small(dim=1), "at least 2, got 1"),
        (small(block=5), "expects a block of 2 to 4 coordinates, or a block of 1"),
        (do.train.Settings("kdv-2d", dim=4), "kdv-2d has 3 coordinates, .* got dim 4; leave"),
        (
            do.train.Settings("semilinear-allen-cahn", dim=7),
            "reference values in 10, 100, .* got 7 dimensions",
        ),
        (
            small(probes="gaussian", gpinn=0.1, gpinn_terms=2),
            "gaussian probes are biased for .* Unbiased for it: ",
        ),
        (
            small(probes="exact", square="pairs"),
            "'exact', whose loss has no bias; say square='biased'",
        ),
    ],
)
def test_checking(settings, message, tmp_path):
    """Nothing is written."""
    do.train.check(small(), tmp_path / "run")
    with pytest.raises(ValueError, match=message):
        do.train.check(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()
