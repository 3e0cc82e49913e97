"""Checkpoints, from which a fit continues after an interruption."""

import json
import math
import os
import pathlib
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import PyTree

from ..extras import require_train
from ..kinds import as_word
from ..parallel.mesh import sizes_of
from ..parallel.processes import by_first, gathered_from_processes, is_first
from ..scalars import is_integer, plain
from ..storage import stored
from ..storage.arrays import filled_tree, kinds_by_place, stored_numbers
from ..storage.disk import damage
from ..storage.environment import changes, environment
from ..storage.identity import digest_with_code
from ..storage.mismatch import CheckpointMismatchError, check_equal, check_same_parts
from ..storage.stored import NOTES, Arrays, read_arrays, read_notes
from .iteration import State, recent_loss

_INTERVAL = 60.0  # seconds
_SHARE = 20  # writing takes at most one twentieth of the time
_LENGTH = 200  # characters of a reason; tensorstore's are long


@final
class Saved(NamedTuple):
    """The contents of a checkpoint.

    - `state`: a `diffop.train.State`.
    - `notes`: what was saved with it.
    """

    state: State
    notes: dict[str, Any]


@final
class Checkpoints:
    """Checkpoints of a fit in a directory: the last few and the best, each written as a whole.

    A checkpoint holds the model, the optimiser's state, the step and the losses. The randomness of
    a step comes from the fit's key and the number of the step, so a fit continues as if it had
    never stopped. The best checkpoint is the one with the lowest score: by default the mean of its
    last 100 losses.

    A checkpoint that was damaged after it was written is renamed (`300` to `300.damaged`) and the
    one before it is used; a fit that ends removes it. If a checkpoint cannot be written, on a full
    disk for instance, there is a warning and training goes on. A checkpoint made with other
    versions of the packages, or on another device, is used with a warning.

    A fit on a mesh of devices may continue on another mesh, or on one device: `tell` reports it. If
    several processes train together, all of them have to call the methods, with a directory that
    all of them see.

    **Arguments:**

    - `directory`: made when the first checkpoint is written. What else is in it stays.
    - `every`: the number of steps between checkpoints, which are written between two dispatches; 0
        for none. By default a minute lies between them, or more if writing one takes longer than
        three seconds.
    - `keep`: how many of the last ones are kept, at least 1.
    - `configuration`: settings that have to be equal for a fit to continue, by name: anything that
        `json` can write.
    - `tell`: called with a sentence if something is wrong with a checkpoint; by default
        `warnings.warn`.

    **Raises:** `ValueError` if `every` or `keep` is too small, `TypeError` if it is not an integer;
    `diffop.train.MissingExtraError` if
    the extra `train` is not installed.

    !!! example

        ```python
        import tempfile
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        with tempfile.TemporaryDirectory() as directory:
            checkpoints = do.train.Checkpoints(directory, every=100)
            do.train.fit(
                jnp.ones(2),
                loss,
                optax.sgd(0.01),
                200,
                key=jax.random.key(0),
                checkpoints=checkpoints,
            )
            steps = checkpoints.steps
        steps  # (100, 200): the same call again would have nothing left to do
        ```
    """

    def __init__(
        self,
        directory: str | os.PathLike,
        *,
        every: int | None = None,
        keep: int = 2,
        configuration: Mapping[str, Any] | None = None,
        tell: Callable[[str], None] = warnings.warn,
    ):
        for name, number in (("every", every), ("keep", keep)):
            if number is not None and not is_integer(plain(number)):
                raise TypeError(
                    f"Checkpoints expects {name} to be an integer, got {number!r} of type "
                    f"{type(number).__name__}."
                )
        if (every is not None and every < 0) or keep < 1:
            raise ValueError(
                f"Checkpoints expects every of at least 0 and keep of at least 1, got {every} and "
                f"{keep}; say every=0 for no checkpoints."
            )
        require_train()
        self.directory = pathlib.Path(directory)
        self._every = every
        self._keep = keep
        self._configuration = json.loads(json.dumps(dict(configuration or {})))
        self._tell = tell
        self._made_of: dict[str, str] = {}
        self._forget()

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that have a checkpoint, in order."""
        return stored.steps(self.directory)

    @property
    def wanted(self) -> bool:
        """Whether any will be written."""
        return self._every != 0

    def path(self, step: int) -> pathlib.Path:
        """The path of the checkpoint of a step."""
        return self.directory / str(step)

    def identify(self, **parts: PyTree) -> None:
        """Records the parts of a fit as digests, which are kept with each checkpoint. `newest`
        refuses checkpoints of another fit. `diffop.train.fit` calls this.

        A part is known by its arrays and its structure, and by the code of functions in it, with
        the numbers, arrays and functions in their scope. So two losses of yours are distinguished.
        The contents of objects other than pytrees are not compared.

        **Arguments:**

        - `parts`: pytrees, by name: the starting model, the loss, the optimiser and the key.
        """
        self._made_of = {name: digest_with_code(part) for name, part in parts.items()}

    def newest(self, like: State) -> Saved | None:
        """The newest checkpoint without damage; damaged ones are renamed.

        **Arguments:**

        - `like`: a state of an equal fit, such as `diffop.train.State.initial` makes.

        **Returns:** a `diffop.train.Saved`; None if there is no checkpoint.

        **Raises:** `diffop.train.CheckpointMismatchError` naming the settings that differ, or else
        the arrays, or else the parts of the fit.
        """
        step = by_first(self._newest_sound)
        if step >= 0:
            return self._gone_back_to(step, like)
        self._forget()
        return None

    def last(self) -> int | None:
        """The step of the newest checkpoint; None if there is none. It is not read, so damage goes
        unnoticed here.
        """
        steps = self.steps
        return steps[-1] if steps else None

    def ended_at(self) -> int | None:
        """The step after which a listener has ended the fit, if its newest checkpoint says so."""
        step = self.last()
        if step is None or damage(self.path(step), NOTES) is not None:
            return None
        return step if read_notes(self.path(step))["notes"].get("ended") else None

    def last_in_words(self) -> str:
        """A sentence that says where the newest checkpoint is."""
        step = self.last()
        if step is None:
            return "there is no checkpoint"
        return f"the last good checkpoint is {self.path(step)}"

    def best(self) -> int | None:
        """The step of the checkpoint with the lowest score; None if there is no checkpoint."""
        for step in reversed(self.steps):
            if damage(self.path(step), NOTES) is None:
                return read_notes(self.path(step))["best"]["step"]
        return None

    def restore(self, step: int, like: State) -> Saved:
        """The checkpoint of a step.

        **Arguments:**

        - `step`: one of `steps`.
        - `like`: as for `newest`.

        **Returns:** a `diffop.train.Saved`.

        **Raises:** `FileNotFoundError` if there is none, `ValueError` if it is damaged, and as
        `newest`.
        """
        if step not in self.steps:
            there = ", ".join(map(str, self.steps)) or "none"
            raise FileNotFoundError(
                f"{self.directory} has no checkpoint of step {step}; there are: {there}."
            )
        path = self.path(step)
        reason = damage(path)
        if reason is not None:
            raise ValueError(f"{path} is damaged: {reason}; choose another checkpoint.")
        try:
            return self._read(step, read_notes(path), like)
        except (CheckpointMismatchError, OSError):
            raise
        except Exception as error:  # right digests may be those of anything
            raise ValueError(
                f"{path} is not what a run writes, although its digests are right "
                f"({type(error).__name__}: {error}); choose another checkpoint."
            ) from error

    def due(self, step: int) -> bool:
        """Whether it is time for a checkpoint after `step` steps."""
        if self._every is None:
            passed = time.monotonic() - self._last_time
            due = passed >= max(_INTERVAL, _SHARE * self._took)
            return bool(
                gathered_from_processes(due)[0]
            )  # clocks differ, so the first process decides
        return self._every > 0 and step // self._every > self._last_step // self._every

    def save(
        self, state: State, notes: Mapping[str, Any] | None = None, score: float | None = None
    ) -> bool:
        """Writes a checkpoint, then removes those that are neither among the last nor the best.

        **Arguments:**

        - `state`: between two dispatches.
        - `notes`: anything that `json` can write, returned with the state.
        - `score`: the lower the better; by default the mean of the last losses.

        **Returns:** whether it was written; if not, `tell` was called with the reason.
        """
        began = time.monotonic()
        if score is None:
            score = recent_loss(state) if state.step else math.inf
        score = math.inf if math.isnan(score) else score
        best = {"step": state.step, "score": score}
        if self._best is not None and self._best["score"] <= score:
            best = self._best
        try:
            self._write(state, best, dict(notes or {}))
        except OSError as error:
            reason = error.strerror or str(error)
            self._tell(
                f"the checkpoint {self.path(state.step)} could not be written: "
                f"{reason[:_LENGTH]}; training goes on without it."
            )
            return False
        finally:
            self._last_step, self._last_time = state.step, time.monotonic()
            self._took = self._last_time - began
        self._best = best
        for step in {*self.steps[: -self._keep]} - {best["step"]} if is_first() else ():
            self._remove(self.path(step))
        return True

    def remove_damaged(self) -> None:
        """Removes the damaged checkpoints that were renamed."""
        for path in stored.damaged(self.directory):
            self._remove(path)

    def clear(self) -> None:
        """Removes all checkpoints, and the directory if it is then empty; if it is a link to a
        folder, only the link.
        """
        stored.clear(self.directory)
        self._forget()

    def _forget(self) -> None:
        """Nothing was written yet."""
        self._best: dict[str, Any] | None = None
        self._last_step, self._last_time, self._took = 0, time.monotonic(), 0.0

    def _newest_sound(self) -> int:
        """The newest step after damaged checkpoints were set aside; −1 if there is none."""
        for step in reversed(self.steps):
            path = self.path(step)
            reason = damage(path)
            if reason is None:
                return step
            name = stored.set_aside(path).name
            self._tell(f"the checkpoint {path} was skipped: {reason}; it is now called {name}.")
        return -1

    def _gone_back_to(self, step: int, like: State) -> Saved:
        notes = read_notes(self.path(step))
        saved = self._read(step, notes, like)
        changed, meshes = changes(notes["environment"]), (notes.get("mesh", {}), _mesh(like))
        before, now = (as_word(mesh) or "one device" for mesh in meshes)
        same = not changed and before == now
        check_same_parts(self.path(step), notes.get("made_of", {}), self._made_of, same)
        self._best = notes["best"]
        self._last_step = step
        if changed:
            self._tell(
                f"the checkpoint {self.path(step)} was made with other versions ({changed}); the "
                f"results may differ in their last digits from those of an uninterrupted fit."
            )
        if before != now:
            self._tell(
                f"the checkpoint {self.path(step)} was made on {before}, and the fit goes on on "
                f"{now}; its results are those of an uninterrupted one to rounding."
            )
        return saved

    def _read(self, step: int, notes: dict[str, Any], like: State) -> Saved:
        path = self.path(step)
        check_equal(path, notes["configuration"], self._configuration)
        arrays_now = kinds_by_place((like.model, like.optimiser))
        other = self._other_fit(notes, arrays_now)
        check_equal(path, notes["arrays"], arrays_now, other)
        arrays = read_arrays(path, _numbers(like))
        state = State(
            step,
            filled_tree(like.model, arrays["model"]),
            filled_tree(like.optimiser, arrays["optimiser"]),
            np.asarray(arrays["losses"][0])[:step],
            notes["seconds"],
            notes["compile_seconds"],
        )
        return Saved(state, notes["notes"])

    def _other_fit(self, notes: dict[str, Any], arrays_now: dict[str, str]) -> str:
        """What a checkpoint is of, if it has other arrays than these."""
        now = self._made_of.get("optimiser")
        same_optimiser = notes.get("made_of", {}).get("optimiser", now) == now
        if same_optimiser or _of_model(notes["arrays"]) != _of_model(arrays_now):
            return "another run"
        return "a fit with another optimiser, whose state has other arrays"

    def _write(self, state: State, best: dict[str, Any], notes: dict[str, Any]) -> None:
        arrays = _numbers(state)
        own = {
            "seconds": state.seconds,
            "compile_seconds": state.compile_seconds,
            "best": best,
            "configuration": self._configuration,
            "made_of": self._made_of,
            "environment": environment(),
            "mesh": _mesh(state),
            "arrays": kinds_by_place((state.model, state.optimiser)),
            "notes": notes,
        }
        stored.write(self.directory, state.step, arrays, own)

    def _remove(self, path: pathlib.Path) -> None:
        try:
            stored.discard(path)
        except OSError as error:
            self._tell(f"the old checkpoint {path} could not be removed: {error}.")


def _numbers(state: State) -> Arrays:
    """What is written of a state as arrays."""
    places = {"model": stored_numbers(state.model), "optimiser": stored_numbers(state.optimiser)}
    return {**places, "losses": [state.losses]}


def _of_model(arrays: dict[str, str]) -> dict[str, str]:
    """The model's part of the kinds of a state's arrays."""
    return {place: kind for place, kind in arrays.items() if place.startswith("[0]")}


def _mesh(state: State) -> dict[str, int]:
    return sizes_of((state.model, state.optimiser))
