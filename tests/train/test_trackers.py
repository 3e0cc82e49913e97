"""TensorBoard and Weights & Biases, by stand-ins for their packages that note what is asked."""

import sys
import types

import pytest

import diffop as do
from diffop.runs.metrics import Metric
from diffop.train.loggers import TensorBoard, WeightsAndBiases

RUN = {"settings": {"dim": 4}, "null_rel_l2": 0.5, "id": "a1"}
METRICS = [Metric(10, 2.0, 0.5, 0.1), Metric(20, 1.0, None, 0.2)]


class Recorder:
    """Notes the calls of its methods, and returns itself."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self.calls.append((name, args, kwargs))
            return self

        return call


@pytest.fixture
def told(monkeypatch):
    recorder = Recorder()
    tensorboard = types.ModuleType("tensorboardX")
    tensorboard.SummaryWriter = recorder.SummaryWriter  # pyright: ignore
    wandb = types.ModuleType("wandb")
    wandb.init = recorder.init  # pyright: ignore
    monkeypatch.setitem(sys.modules, "tensorboardX", tensorboard)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    return recorder.calls


def log_all(logger, failed):
    for metric in METRICS:
        logger.log(metric)
    logger.close(failed)


def test_tensorboard(told, tmp_path):
    log_all(TensorBoard(tmp_path, RUN, 0), failed=False)
    events = str(tmp_path / "tensorboard")
    assert told == [
        ("SummaryWriter", (events,), {"purge_step": None, "flush_secs": 10}),
        ("add_text", ("settings", "{'dim': 4}"), {}),
        ("add_scalar", ("loss", 2.0, 10), {}),
        ("add_scalar", ("error", 0.5, 10), {}),
        ("add_scalar", ("loss", 1.0, 20), {}),
        ("close", (), {}),
    ]


def test_tensorboard_forgets_what_a_killed_run_did_after_its_checkpoint(told, tmp_path):
    TensorBoard(tmp_path, RUN, 30)
    assert [call[2] for call in told] == [{"purge_step": 31, "flush_secs": 10}]


def test_weights_and_biases(told, tmp_path):
    log_all(WeightsAndBiases(tmp_path / "run", RUN, 0), failed=True)
    given = {
        "project": "diffop",
        "name": "run",
        "dir": str(tmp_path / "run"),
        "id": "a1",
        "resume": "allow",
        "config": {"dim": 4, "null_rel_l2": 0.5},
    }
    assert told == [
        ("init", (), given),
        ("define_metric", ("*",), {"step_metric": "step"}),
        ("log", ({"step": 10, "loss": 2.0, "error": 0.5},), {}),
        ("log", ({"step": 20, "loss": 1.0},), {}),
        ("finish", (), {"exit_code": 1}),
    ]


def test_a_run_tells_them_what_it_notes(told, tmp_path):
    settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=10, n=2, width=8, depth=1)
    report = do.train.solve(settings, tmp_path, log=["tensorboard", "wandb"])
    logged = [call[1][0] for call in told if call[0] == "log"]
    assert [each["step"] for each in logged] == [10]
    assert ("finish", (), {"exit_code": 0}) in told
    assert next(call[2]["config"] for call in told if call[0] == "init")["dim"] == report.dim


@pytest.mark.parametrize(
    ("name", "package", "error", "message"),
    [
        (
            "tensorboard",
            "tensorboardX",
            do.train.MissingExtraError,
            "to tensorboard needs tensorbo",
        ),
        ("wandb", "wandb", do.train.MissingExtraError, r"wandb, .* install 'diffop-jax\[wandb\]'"),
        ("paper", "paper", ValueError, "log must be one of tensorboard, wandb, got 'paper'."),
    ],
)
def test_trackers_that_are_not_there(name, package, error, message, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(error, match=message):
        do.train.check(do.train.Settings("allen-cahn-two-body"), tmp_path, log=[name])
