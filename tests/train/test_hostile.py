"""Files from elsewhere: nothing in them is run, and what they say is checked."""

import hashlib
import io
import json
import os
import pickle
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.runs import directory as runs

from .toy import settings

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
    do.train.solve(settings(n=16, width=4, batch=4), directory / "run", checkpoint_every=1)
    return directory / "run"


@pytest.fixture
def write():
    """`write(path, content)` is for a test alone: the file of the run has its own afterwards."""
    saved = {}

    def write(path, content):
        saved.setdefault(path, path.read_bytes())
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    yield write
    for path, content in saved.items():
        path.write_bytes(content)


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
def test_a_model_that_is_something_else(content, run, tmp_path, write):
    trap = tmp_path / "trap"
    write(run / "model.eqx", content(trap))
    with pytest.raises(ValueError, match="model.eqx is not the network that report.json"):
        do.train.load(run)
    assert not trap.exists()


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
def test_settings_that_a_report_claims(changes, message, run, write):
    told = json.loads((run / "report.json").read_text())
    told["settings"] |= changes
    write(run / "report.json", json.dumps(told))
    with pytest.raises(ValueError, match=message):
        do.train.load(run)


def resigned(checkpoint, name, content):
    """The digests of a checkpoint, one of whose files has another content."""
    digest = hashlib.sha256(content).hexdigest()
    lines = (checkpoint / DIGESTS).read_text().splitlines()
    names = {line.split("  ")[1]: line for line in lines} | {name: f"{digest}  {name}"}
    return "".join(f"{line}\n" for line in names.values())


def test_a_checkpoint_that_is_something_else(run, tmp_path, write):
    """Any file of it, with digests that say so: nothing is run, and what fails fails in words."""
    checkpoint, trap = run / "checkpoints" / "2", tmp_path / "trap"
    digests = (checkpoint / DIGESTS).read_text()
    refused = 0
    for line in digests.splitlines():
        name = line.split("  ")[1]
        saved = (checkpoint / name).read_bytes()
        write(checkpoint / DIGESTS, resigned(checkpoint, name, pickled(trap)))
        write(checkpoint / name, pickled(trap))
        try:
            do.train.load(run, checkpoint="last")
        except ValueError as error:
            refused += "is not what a run writes" in str(error)
        write(checkpoint / name, saved)
        write(checkpoint / DIGESTS, digests)
        assert not trap.exists()
    assert refused >= 2  # the others hold what loading does not read


def test_digests_that_lead_elsewhere(run, tmp_path, write):
    """A name outside of the checkpoint is neither written nor shown."""
    path, secret = run / "checkpoints" / "2" / DIGESTS, tmp_path / "secret"
    secret.write_text("hush")
    more = f"{'0' * 64}  {os.path.relpath(secret, path.parent)}\n"
    write(path, path.read_text() + more)
    for which in (2, "last"):
        with pytest.raises(ValueError, match="2 is damaged: .* choose another") as info:
            do.train.load(run, checkpoint=which)
    assert "hush" not in str(info.value) and secret.read_text() == "hush"


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("name", "which", "message"),
    [
        ("report.json", None, "model.eqx is not the network that report.json describes: .*another"),
        ("run.json", 2, "checkpoints/2 is not a checkpoint of the run that run.json describes: 1"),
    ],
)
def test_layers_that_no_file_has(name, which, message, run, write):
    """They are not made first: it took for ever."""
    saved = (run / name).read_text()
    assert saved.count('"depth": 1,') == 1
    write(run / name, saved.replace('"depth": 1,', f'"depth": {10**9},'))
    began = time.monotonic()
    with pytest.raises(ValueError, match=message) as info:
        do.train.load(run, which)
    assert "1000000000 hidden layers are not in" in str(info.value)
    assert time.monotonic() - began < 10


def test_any_bit_of_the_network(run, write):
    """A bit that flips anywhere, in headers, numbers or the digest, is seen."""
    path = run / "model.eqx"
    saved = path.read_bytes()
    for place in {*range(0, len(saved), 23), *range(len(saved) - 72, len(saved), 5)}:
        flipped = bytearray(saved)
        flipped[place] ^= 1
        write(path, flipped)
        with pytest.raises(ValueError, match="model.eqx is not the network that report.json"):
            do.train.load(run)


def test_a_network_from_before_it_had_a_digest(run, write):
    """Who knows nothing of the digest reads the arrays before it."""
    path, x, file = run / "model.eqx", jnp.ones(4) / 4, io.BytesIO()
    saved, u = path.read_bytes(), do.train.load(run)
    eqx.tree_serialise_leaves(file, u)
    assert saved.startswith(file.getvalue()) and len(file.getvalue()) == len(saved) - 72
    write(path, file.getvalue())
    assert do.train.load(run)(x) == u(x)
    assert eqx.tree_deserialise_leaves(io.BytesIO(saved), u)(x) == u(x)


def test_links_to_what_lies_elsewhere(tmp_path):
    """Overwriting a run follows none of them, and removes nothing behind them."""
    elsewhere = {name: tmp_path / f"my-{name}" for name in ("checkpoints", "tensorboard")}
    mine = (
        elsewhere["checkpoints"] / "7" / "mine.txt",
        elsewhere["tensorboard"] / "events.out.tfevents.1",
    )
    out = tmp_path / "run"
    out.mkdir()
    for path in mine:
        path.parent.mkdir(parents=True)
        path.write_text("mine")
    for name, folder in elsewhere.items():
        (out / name).symlink_to(folder)
    runs.begin(out, {}, resume=False)
    assert [path.read_text() for path in mine] == ["mine", "mine"]
    assert [path.name for path in out.iterdir()] == ["run.json"]


def test_links_among_checkpoints(tmp_path):
    mine = tmp_path / "mine" / "9"
    checkpoints = do.train.Checkpoints(tmp_path / "checkpoints", keep=1)
    state = do.train.State(9, jax.numpy.ones(2), (), np.ones(9), 0.0, 0.0)
    do.train.Checkpoints(mine.parent).save(state)
    files = sorted(mine.rglob("*"))
    for act in (lambda: checkpoints.save(state), checkpoints.clear):
        (tmp_path / "checkpoints").mkdir(exist_ok=True)
        (tmp_path / "checkpoints" / "7").symlink_to(mine)
        act()
        assert 7 not in checkpoints.steps
        assert sorted(mine.rglob("*")) == files
    assert not (tmp_path / "checkpoints").exists()
