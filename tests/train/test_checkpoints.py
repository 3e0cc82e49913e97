"""Checkpoints of a fit: what is in them, which are kept, and what is done with damaged ones."""

import contextlib
import errno
import math
import resource
import shutil
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.storage import disk, stored
from diffop.train import checkpoints

from .toy import Killed, state

KEY = jax.random.key(0)
MODEL = {"a": jnp.zeros(3), "b": jnp.ones((2, 4), jnp.bfloat16)}


def noisy(model, key):
    return jnp.sum((model["a"] - jax.random.normal(key, (3,))) ** 2)


def fit(optimiser, steps=60, **changes):
    given = {"key": KEY, "steps_per_dispatch": 10, **changes}
    return do.train.fit(MODEL, noisy, optimiser, steps, **given)


def killed_after(step):
    def observe(made, *_):
        if made == step:
            raise Killed

    return observe


equal = eqx.tree_equal


@pytest.mark.parametrize(
    "optimiser",
    [
        optax.adam(optax.linear_schedule(1e-2, 0.0, 60)),
        optax.sgd(1e-2),  # which has no state
        optax.noisy_sgd(1e-2, key=jax.random.key(1)),  # whose state has a random key
    ],
    ids=["adam", "sgd", "noisy-sgd"],
)
def test_a_fit_goes_on_bit_for_bit(optimiser, tmp_path):
    whole = fit(optimiser)
    checkpoints = do.train.Checkpoints(tmp_path, every=20)
    with pytest.raises(Killed):
        fit(optimiser, checkpoints=checkpoints, observe=killed_after(50))
    seen = []
    rest = fit(
        optimiser,
        checkpoints=do.train.Checkpoints(tmp_path, every=20),
        observe=lambda step, _, losses: seen.append((step, losses.size)),
    )
    assert seen == [(50, 10), (60, 10)]
    assert equal(rest.model, whole.model)
    assert rest.losses.dtype == whole.losses.dtype
    np.testing.assert_array_equal(rest.losses, whole.losses)


def test_double_precision(tmp_path):
    """The bits of a fit in double precision; single precision is refused what belongs to it."""
    model = {"a": np.zeros(3)}
    with jax.enable_x64(True):
        given = {"key": jax.random.key(0), "steps_per_dispatch": 10}
        model = jax.tree.map(jnp.asarray, model)
        whole = do.train.fit(model, noisy, optax.adam(1e-2), 30, **given)
        for steps in (20, 30):
            checkpoints = do.train.Checkpoints(tmp_path, every=10)
            rest = do.train.fit(
                model, noisy, optax.adam(1e-2), steps, **given, checkpoints=checkpoints
            )
        assert equal(rest.model, whole.model) and rest.model["a"].dtype == jnp.float64
        np.testing.assert_array_equal(rest.losses, whole.losses)
    single = do.train.State.initial({"a": jnp.zeros(3)}, optax.adam(1e-2))
    with pytest.raises(
        do.train.CheckpointMismatchError,
        match=r"\['a'\]: float64\[3\] in the checkpoint, float32\[3\] now",
    ):
        checkpoints.newest(single)


@pytest.mark.parametrize(
    "model",
    [
        {"a": np.zeros(3)},
        {"a": jnp.zeros(3), "trained": np.float64(5)},
        {"a": jnp.zeros(3), "large": np.array([3, 3_000_000_000])},
        {"a": jnp.zeros(3), "large": np.int64(3_000_000_000), "none": np.zeros((0, 2), int)},
        {"a": jnp.zeros(3), "small": np.arange(4, dtype=np.uint8), "mask": np.array(True)},
    ],
    ids=lambda model: "-".join(model),
)
def test_numbers_of_numpy(model, tmp_path):
    """Those that are trained become JAX's, others stay as they are, as in an uninterrupted fit.
    JAX has no type for some of them.
    """
    given = {"key": KEY, "steps_per_dispatch": 10}
    whole = do.train.fit(model, noisy, optax.adam(1e-2), 40, **given)
    for steps in (20, 30, 40):
        saved = do.train.Checkpoints(tmp_path, every=10)
        rest = do.train.fit(model, noisy, optax.adam(1e-2), steps, **given, checkpoints=saved)
    for name, number in whole.model.items():
        found = rest.model[name]
        assert type(found) is type(number) and found.dtype == number.dtype
        np.testing.assert_array_equal(found, number)


def test_an_ended_fit_is_not_repeated(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path, every=10)
    first = fit(optax.sgd(0.1), 20, checkpoints=checkpoints)
    again = fit(
        optax.sgd(0.1), 20, checkpoints=checkpoints, observe=lambda *_: pytest.fail("a step")
    )
    assert equal(first.model, again.model)
    assert (first.seconds, first.compile_seconds) == (again.seconds, again.compile_seconds)


def test_times_go_on(tmp_path):
    """The time of what a killed fit has made after its checkpoint is not in the result."""
    checkpoints = do.train.Checkpoints(tmp_path, every=20)
    first = fit(optax.sgd(0.1), 20, checkpoints=checkpoints)
    rest = fit(optax.sgd(0.1), 60, checkpoints=do.train.Checkpoints(tmp_path, every=20))
    assert rest.seconds > first.seconds and rest.compile_seconds > first.compile_seconds


def test_more_steps_than_asked_for(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path, every=10)
    fit(optax.sgd(0.1), 20, checkpoints=checkpoints)
    with pytest.raises(ValueError, match="a start of at most 10 steps, got one that has made 20"):
        fit(optax.sgd(0.1), 10, checkpoints=checkpoints)


def test_what_is_saved_comes_back(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path / "new" / "directory")
    saved, notes = state(3, [0.1, 0.2, 0.3]), {"errors": [[1, 0.1]], "seconds": 1 / 3}
    assert checkpoints.newest(state(0)) is None
    assert checkpoints.last() is None and checkpoints.best() is None
    assert checkpoints.save(saved, notes)
    back = checkpoints.newest(state(0))
    assert back is not None
    assert equal(back.state, saved)
    assert back.state.step == 3
    assert (back.state.seconds, back.state.compile_seconds) == (1.5, 2.5)
    assert back.notes == notes


def test_the_last_and_the_best_are_kept(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path, keep=2)
    for step, score in [(1, 5.0), (2, 1.0), (3, 4.0), (4, 1.0), (5, 3.0), (6, 2.0)]:
        checkpoints.save(state(step), score=score)
    assert checkpoints.steps == (2, 5, 6)  # the earlier of equal ones
    assert (checkpoints.best(), checkpoints.last()) == (2, 6)
    resumed = do.train.Checkpoints(tmp_path, keep=1)
    resumed.newest(state(0))
    resumed.save(state(7), score=0.5)
    assert resumed.steps == (7,) and resumed.best() == 7


def test_the_score_is_the_mean_of_the_last_losses(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path, keep=1)
    checkpoints.save(state(200, [9.0] * 100 + [1.0] * 100))
    checkpoints.save(state(300, [0.0] * 200 + [2.0] * 100))
    assert checkpoints.steps == (200, 300) and checkpoints.best() == 200


def test_when_one_is_due(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    by_steps, never = (do.train.Checkpoints(tmp_path, every=every) for every in (25, 0))
    assert [step for step in range(0, 60, 10) if by_steps.due(step)] == [30, 40, 50]
    assert not any(map(never.due, range(1000)))
    by_time = do.train.Checkpoints(tmp_path)
    times = [0.0, 59.0, 61.0]
    assert [now.__setitem__(0, time) or by_time.due(10) for time in times] == [False, False, True]

    def slow(*_):
        now[0] += 10.0

    monkeypatch.setattr(stored, "write", slow)
    by_time.save(state(1))  # took ten seconds, so the next is due 200 seconds later
    times = [132.0, 270.0, 272.0]
    assert [now.__setitem__(0, time) or by_time.due(10) for time in times] == [False, False, True]


def damages(path):
    """A file as damage can leave it."""
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    return {"cut": content[: len(content) // 2], "flipped": bytes(flipped), "missing": None}


def test_any_damage_to_the_newest_leads_to_the_one_before(tmp_path):
    """Every file of it, cut, with one bit flipped, or missing; orbax itself would restore some of
    these, with wrong numbers."""
    whole = do.train.Checkpoints(tmp_path / "whole")
    for step in (1, 2):
        whole.save(state(step))
    files = [path for path in whole.path(2).rglob("*") if path.is_file() and path.stat().st_size]
    assert len(files) > 5
    for number, file in enumerate(files):
        for how, content in damages(file).items():
            copy = tmp_path / f"{number}-{how}"
            shutil.copytree(whole.directory, copy)
            damaged = copy / file.relative_to(whole.directory)
            damaged.unlink() if content is None else damaged.write_bytes(content)
            said = []
            checkpoints = do.train.Checkpoints(copy, tell=said.append)
            saved = checkpoints.newest(state(0))
            assert saved is not None and equal(saved.state, state(1)), (file, how)
            (sentence,) = said
            assert f"the checkpoint {copy / '2'} was skipped: it" in sentence
            assert sentence.endswith("it is now called 2.damaged.")
            assert checkpoints.steps == (1,) and (copy / "2.damaged").is_dir()
            shutil.rmtree(copy)


def test_all_damaged(tmp_path):
    said = []
    checkpoints = do.train.Checkpoints(tmp_path, tell=said.append)
    for _ in range(2):
        checkpoints.save(state(1))
        (checkpoints.path(1) / "SHA256SUMS").unlink()
        assert checkpoints.newest(state(0)) is None
    assert len(said) == 2 and "not written to its end; it is now called 1.damaged-2" in said[1]
    assert checkpoints.save(state(1))


def test_damaged_ones_are_removed_in_the_end(tmp_path):
    """When a fit has ended, not before; they are part of what is cleared, too."""
    checkpoints = do.train.Checkpoints(tmp_path, every=20, tell=lambda _: None)
    with pytest.raises(Killed):
        fit(optax.sgd(1e-2), checkpoints=checkpoints, observe=killed_after(50))
    (checkpoints.path(40) / "SHA256SUMS").write_text("")
    (tmp_path / "notes.damaged").write_text("mine")
    kept = []

    def observe(step, *_):
        kept.append((tmp_path / "40.damaged").is_dir())

    fit(optax.sgd(1e-2), checkpoints=checkpoints, observe=observe)
    assert kept == [True] * 4 and not (tmp_path / "40.damaged").exists()
    shutil.copytree(checkpoints.path(60), tmp_path / "50.damaged-2")
    checkpoints.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.damaged"]


def test_what_is_read_to_find_one(tmp_path, monkeypatch):
    """Of the newest nothing, of the best what tells which it is, all of a restored one."""
    checkpoints = do.train.Checkpoints(tmp_path, keep=3)
    for step, score in [(1, 2.0), (2, 1.0), (3, 3.0)]:
        checkpoints.save(state(step), score=score)
    read, digest = [], disk._digest

    def recorded(path):
        read.append(path.relative_to(tmp_path).as_posix())
        return digest(path)

    monkeypatch.setattr(disk, "_digest", recorded)
    assert checkpoints.last() == 3 and read == []
    assert checkpoints.best() == 2
    assert read and all(name.startswith("3/notes/") for name in read)
    read.clear()
    checkpoints.restore(2, state(0))
    files = [path for path in checkpoints.path(2).rglob("*") if path.is_file()]
    names = {path.relative_to(tmp_path).as_posix() for path in files}
    assert sorted(read) == sorted(names - {"2/SHA256SUMS"})
    for path in (checkpoints.path(3) / "notes").iterdir():
        path.write_bytes(b"")
    assert checkpoints.best() == 2  # as the one before says


def test_one_that_was_asked_for(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path)
    for step in (1, 2):
        checkpoints.save(state(step))
    assert equal(checkpoints.restore(1, state(0)).state, state(1))
    with pytest.raises(FileNotFoundError, match="no checkpoint of step 3; there are: 1, 2."):
        checkpoints.restore(3, state(0))
    (checkpoints.path(2) / "SHA256SUMS").unlink()
    with pytest.raises(ValueError, match="2 is damaged: it has no SHA256SUMS, .* choose another"):
        checkpoints.restore(2, state(0))


def test_other_settings_are_named(tmp_path):
    do.train.Checkpoints(tmp_path, configuration={"dim": 1000, "n": 4}).save(state(1))
    other = do.train.Checkpoints(tmp_path, configuration={"dim": 100, "n": 4, "square": "pairs"})
    with pytest.raises(
        do.train.CheckpointMismatchError,
        match=r"1 is of another run \(dim: 1000 in the checkpoint, 100 now; square: None in the "
        r"checkpoint, pairs now\); start anew in another directory",
    ):
        other.newest(state(0))
    assert other.steps == (1,)


def test_settings_that_are_words_for_numbers(tmp_path):
    """Strings are told from numbers, and a NaN from nothing but other values."""
    settings = {"fill": "NaN", "bounds": ["-Infinity", math.inf], "unset": math.nan, "own": "'NaN"}
    for step in (1, 2):
        checkpoints = do.train.Checkpoints(tmp_path, configuration=settings)
        checkpoints.newest(state(0))
        checkpoints.save(state(step), {"said": "Infinity"})
    saved = checkpoints.newest(state(0))
    assert saved is not None and saved.notes == {"said": "Infinity"}
    other = do.train.Checkpoints(tmp_path, configuration=settings | {"fill": math.nan})
    with pytest.raises(
        do.train.CheckpointMismatchError, match=r"\(fill: NaN in the checkpoint, nan now\)"
    ):
        other.newest(state(0))


def test_other_arrays_are_named(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path)
    checkpoints.save(state(1))
    other = state(0)._replace(model={"w": jnp.zeros(6)})
    with pytest.raises(
        do.train.CheckpointMismatchError,
        match=r"\['w'\]: float32\[5\] in the checkpoint, float32\[6\] now",
    ):
        checkpoints.newest(other)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        ValueError("RESOURCE_EXHAUSTED: No space left on device [os_error_code='28']"),
    ],
    ids=["system", "tensorstore"],
)
def test_a_full_disk(error, tmp_path, monkeypatch):
    """Training goes on, each failure is said, nothing is left of it, and the rest is kept."""
    import orbax.checkpoint as ocp

    said = []
    checkpoints = do.train.Checkpoints(tmp_path, every=10, tell=said.append)
    save = ocp.Checkpointer.save

    def full(self, directory, **items):
        if directory.name in ("20.unfinished", "30.unfinished"):
            directory.with_name(f"{directory.name}.orbax-checkpoint-tmp").mkdir()
            raise error
        return save(self, directory, **items)

    monkeypatch.setattr(ocp.Checkpointer, "save", full)
    result = fit(optax.sgd(1e-2), checkpoints=checkpoints, steps=40)
    assert equal(result.model, fit(optax.sgd(1e-2), steps=40).model)
    assert [f"the checkpoint {tmp_path / str(step)} could not be" in text for step, text in
            zip((20, 30), said, strict=True)] == [True, True]  # fmt: skip
    assert all("No space left on device" in text and "training goes on" in text for text in said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "40"]


def test_what_orbax_leaves_to_its_callers(tmp_path, caplog):
    """Files may not grow, as on a full disk: an `OSError`, without lines of its threads. By itself
    Orbax raises another error, and logs a traceback of each thread."""
    import orbax.checkpoint as ocp

    arrays = {"w": [np.random.default_rng(0).normal(size=10**4)]}
    with files_of_at_most(2**14):
        with pytest.raises(OSError, match="Failed to write"):
            stored.save(tmp_path / "1", arrays, {})
        assert not caplog.records
        with pytest.raises(ValueError, match="Failed to write"):
            ocp.Checkpointer(ocp.StandardCheckpointHandler()).save(tmp_path / "2", arrays)
    assert {each.name for each in caplog.records} >= {"absl"}


@contextlib.contextmanager
def files_of_at_most(size):
    """Writing more is an error, as on a full disk."""
    kind, before = resource.RLIMIT_FSIZE, signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(kind)
    resource.setrlimit(kind, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_disk_without_room_is_not_written_to(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage._replace(free=2**20))
    with pytest.warns(UserWarning, match=f"{tmp_path}/1 could not be written: No space left"):
        assert not do.train.Checkpoints(tmp_path).save(state(1))
    assert not list(tmp_path.iterdir())


def test_what_a_killed_save_has_left_is_removed(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path)
    checkpoints.save(state(1))
    for name in ("2.unfinished", "2.unfinished.orbax-checkpoint-tmp", "2.orbax-checkpoint-tmp"):
        shutil.copytree(checkpoints.path(1), tmp_path / name)
    assert checkpoints.steps == (1,)
    checkpoints.save(state(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_what_a_killed_removal_has_left_is_removed(tmp_path, monkeypatch):
    """It is none of the steps meanwhile."""
    checkpoints = do.train.Checkpoints(tmp_path, keep=1)
    checkpoints.save(state(1), score=1.0)

    def killed(path):
        for name in ("SHA256SUMS", "_CHECKPOINT_METADATA", "notes/metadata"):
            (path / name).unlink()
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(disk.shutil, "rmtree", killed)
        checkpoints.save(state(2), score=0.5)
    assert checkpoints.steps == (2,) and len(list(tmp_path.iterdir())) == 2
    checkpoints.save(state(3), score=0.2)
    assert [path.name for path in tmp_path.iterdir()] == ["3"]


def test_one_that_cannot_be_removed_stops_no_others(tmp_path, monkeypatch):
    said = []
    checkpoints = do.train.Checkpoints(tmp_path, keep=1, tell=said.append)

    def busy(*_, **__):
        raise OSError(errno.EBUSY, "Device or resource busy")

    with monkeypatch.context() as patched:
        patched.setattr(disk.shutil, "rmtree", busy)
        assert all(checkpoints.save(state(step), score=-float(step)) for step in (1, 2, 3))
    for step, sentence in zip((1, 2), said, strict=True):
        assert f"the old checkpoint {tmp_path / str(step)} could not be removed" in sentence
    assert checkpoints.steps == (3,)
    checkpoints.save(state(4), score=-4.0)
    assert [path.name for path in tmp_path.iterdir()] == ["4"]


def test_clearing_leaves_what_is_not_a_checkpoint(tmp_path):
    checkpoints = do.train.Checkpoints(tmp_path / "mine")
    checkpoints.save(state(1))
    (checkpoints.directory / "notes.txt").write_text("mine")
    checkpoints.clear()
    assert [path.name for path in checkpoints.directory.iterdir()] == ["notes.txt"]
    (checkpoints.directory / "notes.txt").unlink()
    checkpoints.clear()
    assert not checkpoints.directory.exists()


def test_what_others_have_beside_checkpoints_stays(tmp_path):
    """Folders with numbers for names, what ends as unfinished ones do, and names in folders."""
    folders = ["2024", "01", "٣", "7.damaged", "my.unfinished", "0/100"]
    folders += ["1/arrays", "2/notes", "3/arrays", "3/notes", "8.damaged/notes"]
    for name in folders:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "mine.txt").write_text("mine")
    (tmp_path / "8.unfinished").write_text("a file of mine")
    (tmp_path / "2024" / "SHA256SUMS").write_text("digests of mine")
    saved = do.train.Checkpoints(tmp_path, every=10, keep=1, tell=pytest.fail)
    assert saved.steps == ()
    fit(optax.sgd(0.1), 30, checkpoints=saved)
    assert saved.steps[-1] == 30
    saved.clear()
    assert saved.steps == ()
    assert all((tmp_path / name / "mine.txt").read_text() == "mine" for name in folders)
    assert (tmp_path / "8.unfinished").read_text() == "a file of mine"


def test_after_clearing_it_is_as_new(tmp_path):
    """The next fit writes when it is due, and its best is one of its own."""
    saved = do.train.Checkpoints(tmp_path / "mine", every=10, keep=1)
    for _ in range(2):
        fit(optax.sgd(0.1), 30, checkpoints=saved)
        assert saved.steps[-1:] == (30,) and saved.best() in saved.steps
        saved.clear()
    fit(optax.sgd(1e-6), 20, checkpoints=saved)  # worse than all before
    assert saved.steps[-1] == 20 and saved.best() in saved.steps
    shutil.rmtree(saved.directory)
    fit(optax.sgd(0.1), 20, checkpoints=saved)
    assert saved.steps[-1] == 20


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("every", [float("nan"), 2.5, "5"])
def test_numbers_that_are_no_integers(every, tmp_path):
    with pytest.raises(TypeError, match="expects every to be an integer, got"):
        do.train.Checkpoints(tmp_path, every=every)


@pytest.mark.parametrize(("every", "keep"), [(-1, 2), (None, 0)])
def test_numbers_that_make_no_sense(every, keep, tmp_path):
    with pytest.raises(ValueError, match=f"got {every} and {keep}; say every=0"):
        do.train.Checkpoints(tmp_path, every=every, keep=keep)
