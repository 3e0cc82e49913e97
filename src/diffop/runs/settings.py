"""The settings of a run, checked."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, final

from .. import baselines, pde
from ..kinds import NONE, SEED, Kind, only
from ..methods.optimisers import needs
from ..nearest import nearest
from ..paths import is_path, path_of
from ..pde import AbstractProblem, ByDimension, Recommended
from ..pde.own import size_of
from ..pde.registry import rule
from ..scalars import plain
from ..storage.identity import digest

GivenProblem: TypeAlias = str | type[AbstractProblem] | AbstractProblem


@final
@dataclasses.dataclass(frozen=True, init=False)
class Settings(Recommended):
    """The settings of one run of `diffop.train.solve`.

    Every setting except the seed defaults to what the problem recommends in that dimension
    (`diffop.pde.recommended`); the values in the signature above are the paper's. Recommended
    values that cannot go with given ones are left out: the `fan_in_rate` for an optimiser without a
    rate, and `gpinn` for a baseline.

    **Arguments:**

    - `problem`: one of `diffop.pde.names()`; or your own problem, or its class, which is called
        with `dim` and `key` if it takes them.
    - `dim`: the dimension with which the problem is made: the number of coordinates, without time
        if time is added to any number of them (`space_dim`). A problem that is an object has its
        own: 10 for `"wave"`, and for `WaveEquation(10)`, whose points have 11 coordinates.
    - `steps`: how many steps of the optimiser.
    - `n`: how many draws of jets are made of each homogeneous part of an operator at each step.
    - `seed`: an integer from 0 to $2³² − 1$, the range of random keys; it determines the problem's
        coefficients, the initial network, all training points and jets, and the test points.
    - `learning_rate`: the rate of the first step.
    - `batch`: how many fresh points at each step.
    - `data_batch`: how many points for each of the problem's conditions; None for `batch`.
    - `pool`: the points of a step are chosen from this many times as many, more likely where the
        residual is large (`diffop.losses.residual_adaptive`); 1 takes them as they are drawn.
    - `width`, `depth`: size and number of the hidden layers of the tanh network.
    - `block`, `channels`: each block of `block` coordinates is reduced to `channels` numbers, in
        the same way for all blocks (`diffop.nn.WeightSharedMLP`); a block of 1 shares nothing.
    - `sharing`: the numbers of all blocks are `"joined"` to a vector for the rest of the network,
        or `"summed"`, which is right for a lattice of equal blocks. `"sliding"` is another network
        (`diffop.nn.SlidingMLP`): one small network, of that width and depth, reduces each block of
        neighbouring coordinates, which overlap, to `channels` numbers.
    - `input_scale`: the network sees the point times this number.
    - `output_scale`: the network's values are multiplied by this number, rounded to a power of two;
        `"source"` for the size of the solution that follows from the problem's source alone
        (`diffop.pde.AbstractProblem.magnitude`).
    - `anchor`: makes the value at the origin of the network in the ansatz a separate parameter
        (`diffop.nn.Anchored`), which begins at this number; `"source"` for the number that follows
        from the problem's source alone (`diffop.pde.AbstractProblem.location`). An output scale of
        `"source"` is then that of the remainder. None leaves the network as it is.
    - `curvature`: adds a parameter that begins at this number, times $|x|²$, to the network in the
        ansatz (`diffop.nn.Curved`). None adds nothing.
    - `probes`: `"exact"`, or the kind of random jets: the name of a probe, as for
        `diffop.estimate`; or, for comparisons, one of `diffop.baselines.names()`.
    - `square`: how the estimated residual is squared, as for `diffop.losses.ResidualLoss`:
        `"biased"`, `"product"` of two draws, or `"pairs"` of one.
    - `data_weight`: the weight of the problem's conditions in the loss, if it has any; or a list
        with one for each, in the order in which the problem returns them.
    - `weights`: of the squares of a system's residuals: a dict with a number for each name, such as
        `{"momentum": 1.0, "mass": 10.0}`, or a list for residuals that are an array; None for ones.
    - `gpinn`: the weight of the residual's squared gradient in the loss; 0 for none.
    - `gpinn_terms`: None for the whole gradient, by reverse mode; or the number of coordinates
        whose derivatives of the residual estimate it at each step, by jets.
    - `causal`: the tolerance of weights in the order of time (`diffop.losses.Causal`); 0 for none.
    - `balance`: the number of steps after which the terms of the loss get new weights by their
        gradients (`diffop.methods.Balanced`); 0 for no such weights.
    - `optimiser`: an optimiser of optax with its defaults, by its name with hyphens: `"adam"`,
        `"nadamw"`, `"muon"`, and all others that need only a learning rate. Or, without a learning
        rate: `"gauss-newton"`, `"gauss-newton-cg"` (without a matrix), `"levenberg-marquardt"` or
        `"spring"`, which are `diffop.methods.GaussNewton`s for `square="biased"`, best in double
        precision; or `"l-bfgs"`, on the points of the first step. For `"spring"` the schedule gives
        the fraction of a whole step. Or your own function, from a schedule of learning rates to an
        optimiser: `package.module:function` on the command line.
    - `fan_in_rate`: a matrix with m inputs learns at most at this rate over $√m$
        ([why](../devdocs/scales.md)); 0 for no such bound.
    - `schedule`: how the learning rate decays: `"linear"` or `"cosine"` to 0, `"exponential"` to a
        150th, or not at all: `"constant"`.
    - `precision`: `"double"`, for this run alone; or `"default"`, as JAX is configured: single
        precision, unless configured otherwise.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.

    !!! example

        ```python
        import diffop as do

        do.train.Settings("allen-cahn-two-body", dim=1000, learning_rate=1e-2, input_scale=5.0)
        do.train.Settings("kdv-2d").steps  # what the problem recommends
        ```
    """

    problem: GivenProblem
    seed: int = dataclasses.field(default=0, metadata={"kind": SEED})

    def __init__(self, problem: GivenProblem, *, seed: int = 0, **given: Any):
        unknown = given.keys() - stated().keys()
        if unknown:
            names = ", ".join(f"{each}{nearest(each, stated())}" for each in sorted(unknown))
            raise TypeError(
                f"Settings has nothing called {names}; `diffop solve --help` lists all settings."
            )
        found = _recommended_for(problem, given)
        values = {**vars(found), **given, "problem": problem, "seed": seed}
        for name, value in values.items():
            # the dataclass is frozen for users; the files of a run hold plain Python numbers
            object.__setattr__(self, name, plain(value))
        for name, excluded in (
            ("fan_in_rate", needs(self.optimiser) != "rate"),  # there is no rate to bound
            ("gpinn", self.probes in baselines.names()),  # their values have no gradient
        ):
            if excluded and name not in given:
                object.__setattr__(self, name, 0.0)
        for name, kind in stated().items():
            kind.check(name, getattr(self, name))
        for name, kind in self._without_effect(found):
            kind.check(name, getattr(self, name))

    @classmethod
    def of_paper(cls, problem: str, **given: Any) -> "Settings":
        """The settings of the paper (`diffop.pde.paper`), except those that are given.

        **Arguments:**

        - `problem`: one of `diffop.pde.names()`.
        - `**given`: any of the settings above.

        **Returns:** the settings.

        **Raises:** `ValueError` if the paper trains nothing on the problem, or if a setting cannot
        be used.

        !!! example

            ```python
            import diffop as do

            do.train.Settings.of_paper("allen-cahn-two-body", dim=100).steps  # 10_000
            ```
        """
        return cls(problem, **{**dataclasses.asdict(pde.paper(problem, given.get("dim"))), **given})

    def _without_effect(self, found: Recommended) -> Iterator[tuple[str, Kind]]:
        """Settings that have no effect because of others, and their fixed values."""
        if not self.gpinn and self.gpinn_terms != found.gpinn_terms:
            yield (
                "gpinn_terms",
                only(None, "where gpinn is 0, and there is no gradient to take components of"),
            )
        if self.block == self.channels == 1 and self.sharing == "summed" != found.sharing:
            why = "where block and channels are 1, and there is nothing to be summed"
            yield "sharing", only("joined", why)
        asked, name = needs(self.optimiser), f"for the optimiser {self.optimiser}"
        if asked == "squares":
            yield "square", Kind(f"biased, a sum of squares, {name}", ("biased",).__contains__)
        if asked == "points":
            for each in ("causal", "balance"):
                yield each, only(0, f"{name}, whose loss has to stay the same")
        if asked != "rate":
            yield "fan_in_rate", only(0, f"{name}, which has no learning rate")

    def as_json(self) -> dict[str, Any]:
        """The settings as a file of the run holds them."""
        values = {name: getattr(self, name) for name in stated()}
        if callable(self.optimiser):
            values["optimiser"] = path_of(self.optimiser)
        return {"problem": identity(self.problem), **values}


def stated() -> dict[str, Kind]:
    """The allowed values of each setting but the problem, by its name."""
    fields = dataclasses.fields(Settings)
    return {field.name: field.metadata["kind"] for field in fields if field.metadata}


@functools.cache
def meanings() -> dict[str, str]:
    """What each setting means, by its name: the first sentence of its entry in the docstring of
    `Settings`, in plain words.
    """
    entries = re.findall(r"^- (`.*?`): (.*?)\.$", inspect.getdoc(Settings) or "", re.M | re.S)
    found = {}
    for names, text in entries:
        sentence, *_ = " ".join(text.split()).split(". ")
        without_links = re.sub(r" \(\[.*?\]\(.*?\)\)", "", sentence)
        words = re.sub("[`$]", "", without_links).replace("None", NONE)
        found |= dict.fromkeys(names.strip("`").split("`, `"), words)
    return found


def _recommended_for(problem: GivenProblem, given: Mapping[str, Any]) -> Recommended:
    """What a problem recommends in the given dimension, or in its own."""
    if isinstance(problem, str) or (isinstance(problem, type) and size_of(problem)):
        return recommended_settings(problem, given.get("dim"))
    own: Any = own_dim(problem)  # there is no other dimension
    known = Kind(f"{own}, as the problem's, or left out", (own,).__contains__)
    known.check("dim", given.get("dim", own))
    return recommended_settings(problem, own)


def own_dim(problem: type[AbstractProblem] | AbstractProblem) -> int:
    """The dimension of a given problem, without time if it has a `space_dim`."""
    cls = problem if isinstance(problem, type) else type(problem)
    return getattr(problem, size_of(cls) or "dim", problem.dim)


def as_settings(given: "Settings | GivenProblem") -> Settings:
    """The settings themselves, or those that a problem recommends."""
    return given if isinstance(given, Settings) else Settings(given)


def identity(problem: GivenProblem) -> str:
    """A string that identifies a problem.

    It is the name of a problem of the library, `package.module:Class` for a class, and for an
    object also a digest of the values with which it was made: its arrays, and its fields as Python
    prints them. The code of the class is not part of it.
    """
    if isinstance(problem, str):
        return problem
    cls = problem if isinstance(problem, type) else type(problem)
    return path_of(cls) if isinstance(problem, type) else f"{path_of(cls)}#{digest(problem)}"


def name_of(problem: GivenProblem) -> str:
    """The name of a problem, for display."""
    return problem.partition("#")[0] if isinstance(problem, str) else problem.name


def recommended_settings(problem: GivenProblem, dim: int | None = None) -> Recommended:
    """The settings that suit a problem in `dim` dimensions, or in the dimension it recommends."""
    return recommended_by(problem).at(dim)


def recommended_by(problem: GivenProblem) -> Recommended | ByDimension:
    """What suits a problem, by dimension."""
    if isinstance(problem, str):
        return Recommended() if is_path(problem) else rule(problem)
    found: Any = problem.recommended
    # a class whose objects each recommend their own settings says nothing by itself
    return Recommended() if isinstance(found, property) else found
