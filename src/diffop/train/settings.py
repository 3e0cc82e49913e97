"""The settings of a run: what the command line asks for, checked."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, final

from .. import baselines, pde
from ..kinds import COUNT, COUNT_OR_NONE, NATURAL, Kind, check_size, only
from ..methods.optimisers import needs
from ..nearest import nearest
from ..paths import is_path, path_of
from ..pde import AbstractProblem, ByDimension, Recommended
from ..pde.own import size_of
from ..pde.registry import rule
from ..scalars import plain
from .identity import digest

Problem: TypeAlias = str | type[AbstractProblem] | AbstractProblem


@final
@dataclasses.dataclass(frozen=True, init=False)
class Settings(Recommended):
    """The settings of one run of `diffop.train.solve`.

    All but the seed default to what the problem recommends in that dimension
    (`diffop.pde.recommended`); what stands above are the paper's settings. What is recommended and
    cannot go with what is given is left out: the `fan_in_rate` of an optimiser without a rate, and
    the `gpinn` of a baseline.

    **Arguments:**

    - `problem`: one of `diffop.pde.names()`; or your own problem, or its class, which is
        called with `dim` and `key` if it takes them.
    - `dim`: the dimension that the problem is made with: the number of coordinates, without time
        where it has time beside any number of them (`space_dim`). That of a problem that is given
        is its own: 10 of `"wave"`, and of `WaveEquation(10)`, whose points have 11 coordinates.
    - `steps`: how many steps of the optimiser.
    - `n`: how many draws of jets are made of each homogeneous part of an operator at each step.
    - `seed`: an integer from 0 to $2³² − 1$, as random keys tell apart; it determines the problem's
        coefficients, the initial network, all training points and jets, and the test points.
    - `learning_rate`: the first step's.
    - `batch`: how many fresh points at each step.
    - `data_batch`: how many for each of the problem's conditions; None for as many.
    - `pool`: of how many times as many points those of a step are chosen, likelier where the
        residual is large (`diffop.losses.residual_adaptive`); 1 takes them as they are drawn.
    - `width`, `depth`: size and number of the hidden layers of the tanh network.
    - `block`, `channels`: each block of so many coordinates is seen through so many numbers, the
        same for all blocks (`diffop.nn.WeightSharedMLP`); a block of 1 shares nothing.
    - `sharing`: the rest of the network sees the numbers of all blocks `"joined"` to a vector, or
        `"summed"`, which is right for a lattice of equal blocks.
    - `input_scale`: the network sees the point times this number.
    - `output_scale`: the network's values are multiplied by this number, rounded to a power of two;
        `"source"` for the size of the solution that the problem tells from its source alone
        (`diffop.pde.AbstractProblem.magnitude`).
    - `anchor`: the value at the origin of the network in the ansatz is a parameter of its own
        (`diffop.nn.Anchored`), which begins at this number; `"source"` for the one that the problem
        tells from its source alone (`diffop.pde.AbstractProblem.location`). An output scale of
        `"source"` is then that of what is left. None leaves the network as it is.
    - `curvature`: a parameter that begins at this number, times $|x|²$, is added to the network in
        the ansatz (`diffop.nn.Curved`). None adds nothing.
    - `probes`: `"exact"`, or the kind of random jets: the name of a probe, as for
        `diffop.estimate`; or, to compare with, one of `diffop.baselines.names()`.
    - `square`: how the estimated residual is squared, as for `diffop.losses.ResidualLoss`:
        `"biased"`, `"product"` of two draws, or `"pairs"` of one.
    - `data_weight`: the weight of the problem's conditions in the loss, if it has any; or a list
        with one for each, in the order in which it returns them.
    - `weights`: of the squares of a system's residuals: a dict with a number for each of their
        names, such as `{"momentum": 1.0, "mass": 10.0}`, or a list for residuals that are an array;
        None for ones.
    - `gpinn`: the weight of the residual's squared gradient in the loss; 0 for none.
    - `gpinn_terms`: None for the whole gradient, by reverse mode; or from how many coordinates'
        derivatives of the residual it is estimated at each step, by jets.
    - `causal`: the tolerance of weights in the order of time (`diffop.losses.Causal`); 0 for none.
    - `balance`: after how many steps the terms of the loss get new weights by their gradients
        (`diffop.methods.Balanced`); 0 for no such weights.
    - `optimiser`: one of optax, as it is by default, by its name with hyphens: `"adam"`,
        `"nadamw"`, `"muon"`, those that need no more than a learning rate; `"gauss-newton"`,
        `"gauss-newton-cg"`, without a matrix, `"levenberg-marquardt"` or
        `"spring"`, which are `diffop.methods.GaussNewton`s for `square="biased"`, best in double
        precision; or `"l-bfgs"`, on the points of the first step. The latter have no learning rate.
        The steps of `"spring"` are the schedule's share of whole ones. Or your own function,
        from a schedule of learning rates to an optimiser: `package.module:function` on the command
        line.
    - `fan_in_rate`: a matrix that takes m numbers learns at most at this rate over $√m$
        ([why](../devdocs/scales.md)); 0 for no such bound.
    - `schedule`: how the learning rate decays: `"linear"` or `"cosine"` to 0, `"exponential"` to a
        150th, or not at all: `"constant"`.
    - `precision`: `"double"`, for this run alone; or `"default"`, as JAX is configured: single
        precision, unless it is told otherwise.

    **Raises:** `ValueError` naming the setting, what it expects and what it got.

    !!! example

        ```python
        import diffop as do

        do.train.Settings("allen-cahn-two-body", dim=1000, learning_rate=1e-2, input_scale=5.0)
        do.train.Settings("kdv-2d").steps  # what the problem recommends
        ```
    """

    problem: Problem
    seed: int = dataclasses.field(
        default=0, metadata=NATURAL("determines everything that is random")
    )

    def __init__(self, problem: Problem, *, seed: int = 0, **given: Any):
        unknown = given.keys() - stated().keys()
        if unknown:
            names = ", ".join(f"{each}{nearest(each, stated())}" for each in sorted(unknown))
            raise TypeError(
                f"Settings has nothing called {names}; `diffop solve --help` lists all settings."
            )
        found = _recommended_for(problem, given)
        values = {**_values(found), **given, "problem": problem, "seed": seed}
        for name, value in values.items():
            # the dataclass is frozen for its users; files of a run have Python's numbers
            object.__setattr__(self, name, plain(value))
        for name, excluded in (
            ("fan_in_rate", needs(self.optimiser) != "rate"),  # there is no rate to bound
            ("gpinn", self.probes in baselines.names()),  # whose values have no gradient
        ):
            if excluded and name not in given:
                object.__setattr__(self, name, 0.0)
        for name, field in stated().items():
            field["kind"].check(name, getattr(self, name))
            if field["kind"] in (COUNT, COUNT_OR_NONE, NATURAL):
                check_size(name, getattr(self, name))
        for name, kind in self._without_effect(found):
            kind.check(name, getattr(self, name))

    @classmethod
    def of_paper(cls, problem: str, **given: Any) -> "Settings":
        """The settings of the paper (`diffop.pde.paper`) but for those that are given.

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
        """What others leave no choice of, and why."""
        if not self.gpinn and self.gpinn_terms != found.gpinn_terms:
            yield (
                "gpinn_terms",
                only(None, "where gpinn is 0, and there is no gradient to take components of"),
            )
        if self.block == self.channels == 1 and self.sharing != found.sharing:
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
        """What a file of the run has of them."""
        values = {name: getattr(self, name) for name in stated()}
        if callable(self.optimiser):
            values["optimiser"] = path_of(self.optimiser)
        return {"problem": identity(self.problem), **values}


def stated() -> dict[str, Mapping[str, Any]]:
    """What is stated of each setting but the problem, by its name: the `kind` of its values, and
    its `help` on the command line.
    """
    fields = dataclasses.fields(Settings)
    return {field.name: field.metadata for field in fields if field.metadata}


def _values(settings: Recommended) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def _recommended_for(problem: Problem, given: Mapping[str, Any]) -> Recommended:
    """What a problem recommends in the dimension that is given, or in its own."""
    if isinstance(problem, str) or (isinstance(problem, type) and size_of(problem)):
        return recommended(problem, given.get("dim"))
    own: Any = own_dim(problem)  # there is no other
    known = Kind(f"{own}, as the problem's, or left out", (own,).__contains__)
    known.check("dim", given.get("dim", own))
    return recommended(problem, own)


def own_dim(problem: type[AbstractProblem] | AbstractProblem) -> int:
    """The dimension of a problem that is given: without time, where it has a `space_dim`."""
    cls = problem if isinstance(problem, type) else type(problem)
    return getattr(problem, size_of(cls) or "dim", problem.dim)


def as_settings(given: "Settings | Problem") -> Settings:
    """Settings, or those that a problem recommends."""
    return given if isinstance(given, Settings) else Settings(given)


def identity(problem: Problem) -> str:
    """A problem in a word that is another one for another problem.

    It is the name of a problem of the library; `package.module:Class` for a class; and for an
    object that and a digest of what it was made with: its arrays, and its fields as Python shows
    them. What the class does is not in it.
    """
    if isinstance(problem, str):
        return problem
    cls = problem if isinstance(problem, type) else type(problem)
    return path_of(cls) if isinstance(problem, type) else f"{path_of(cls)}#{digest(problem)}"


def name_of(problem: Problem) -> str:
    """The name of a problem, for people."""
    return problem.partition("#")[0] if isinstance(problem, str) else problem.name


def recommended(problem: Problem, dim: int | None = None) -> Recommended:
    """The settings that suit a problem in so many dimensions, or in those that it recommends."""
    return recommended_by(problem).at(dim)


def recommended_by(problem: Problem) -> Recommended | ByDimension:
    """What suits a problem in every dimension."""
    if isinstance(problem, str):
        return Recommended() if is_path(problem) else rule(problem)
    found: Any = problem.recommended
    # of a class whose objects recommend each its own, nothing is known
    return Recommended() if isinstance(found, property) else found
