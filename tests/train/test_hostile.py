"""Files from elsewhere: nothing in them is run, and what they say is checked."""

import hashlib
import io
import json
import os
import pickle

import numpy as np
import pytest

import diffop as do

DIGESTS = "SHA256SUMS"


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


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    "changes, message",
    [
        ({"problem": "../../etc/passwd"}, "there is no problem"),
        ({"dim": "1000; import os"}, "dim must be an integer of at least 1"),
        ({"width": -5}, "width must be an integer of at least 1"),
        ({"probes": "__import__('os')"}, "probes must be one of"),
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


def resigned(checkpoint, name, content):
    """The digests of a checkpoint, one of whose files has another content."""
    digest = hashlib.sha256(content).hexdigest()
    lines = (checkpoint / DIGESTS).read_text().splitlines()
    names = {line.split("  ")[1]: line for line in lines} | {name: f"{digest}  {name}"}
    return "".join(f"{line}\n" for line in names.values())


def test_a_checkpoint_that_is_something_else(run, tmp_path):
    """Any file of it, with digests that say so: nothing is run, and what fails fails in words."""
    checkpoint, trap = run / "checkpoints" / "2", tmp_path / "trap"
    digests = (checkpoint / DIGESTS).read_text()
    refused = 0
    for line in digests.splitlines():
        name = line.split("  ")[1]
        saved = (checkpoint / name).read_bytes()
        (checkpoint / DIGESTS).write_text(resigned(checkpoint, name, pickled(trap)))
        (checkpoint / name).write_bytes(pickled(trap))
        try:
            do.train.load(run, checkpoint="last")
        except ValueError as error:
            refused += "is not what a run writes" in str(error)
        finally:
            (checkpoint / name).write_bytes(saved)
            (checkpoint / DIGESTS).write_text(digests)
        assert not trap.exists()
    assert refused >= 2  # the others hold what loading does not read


def test_digests_that_lead_elsewhere(run, tmp_path):
    """A name outside of the checkpoint is neither written nor shown."""
    path = run / "checkpoints" / "2" / DIGESTS
    saved, secret = path.read_text(), tmp_path / "secret"
    secret.write_text("hush")
    path.write_text(saved + f"{'0' * 64}  {os.path.relpath(secret, path.parent)}\n")
    try:
        for which in (2, "last"):
            with pytest.raises(ValueError, match="2 is damaged: .* choose another") as info:
                do.train.load(run, checkpoint=which)
    finally:
        path.write_text(saved)
    assert "hush" not in str(info.value) and secret.read_text() == "hush"
