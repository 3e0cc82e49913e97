"""Files from elsewhere: nothing in them is run, and what they say is checked."""

import io
import json
import os
import pickle

import numpy as np
import pytest

import diffop as do


class Payload:
    """Makes a directory when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    settings = do.train.Settings("allen-cahn-two-body", dim=4, steps=2, width=4, depth=1, batch=4)
    do.train.solve(settings, directory / "run", checkpoint_every=1)
    return directory / "run"


def pickled(path):
    return pickle.dumps(Payload(path))


def pickled_array(path):
    file = io.BytesIO()
    np.save(file, np.array([Payload(path)], dtype=object), allow_pickle=True)
    return file.getvalue()


def test_the_payload_works(tmp_path):
    pickle.loads(pickled(tmp_path / "trap"))
    assert (tmp_path / "trap").exists()


@pytest.mark.parametrize("content", [pickled, pickled_array, lambda path: b"", lambda path: b"{}"])
def test_a_model_that_is_something_else(content, run, tmp_path):
    model, trap = run / "model.eqx", tmp_path / "trap"
    saved = model.read_bytes()
    model.write_bytes(content(trap))
    try:
        with pytest.raises(ValueError, match="model.eqx is not the network that report.json"):
            do.train.load(run)
        assert not trap.exists()
    finally:
        model.write_bytes(saved)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"problem": "../../etc/passwd"}, "there is no problem"),
        ({"dim": "1000; import os"}, "dim must be an integer of at least 1"),
        ({"width": -5}, "width must be an integer of at least 1"),
        ({"estimator": "__import__('os')"}, "estimator must be one of"),
    ],
)
def test_settings_that_a_report_claims(changes, message, run):
    report = run / "report.json"
    saved = report.read_text()
    told = json.loads(saved)
    told["settings"] |= changes
    report.write_text(json.dumps(told))
    try:
        with pytest.raises(ValueError, match=message):
            do.train.load(run)
    finally:
        report.write_text(saved)
