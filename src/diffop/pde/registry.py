"""Problems by name, for the command line."""

import difflib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from jaxtyping import PRNGKeyArray

from .ball.biharmonic import BiharmonicWaves
from .ball.many_body import EQUATIONS, SUMS, ManyBody, recommended_for_sum as of_many_bodies
from .classical.advection import Advection
from .classical.allen_cahn_1d import AllenCahn1D
from .classical.backward_step import BackwardStep
from .classical.burgers import Burgers
from .classical.cavity import Cavity
from .classical.ginzburg_landau import GinzburgLandau
from .classical.gray_scott import GrayScott
from .classical.helmholtz import Helmholtz
from .classical.kdv_cosine import KdVCosine
from .classical.kuramoto_sivashinsky import KuramotoSivashinsky
from .classical.taylor_green import TaylorGreen
from .classical.wave_1d import Wave1D
from .convection_diffusion import ConvectionDiffusion
from .cube.elliptic import OnCube
from .cube.heat import HeatOnCube
from .cube.recommended import ELLIPTIC
from .fokker_planck import StationaryFokkerPlanck
from .kovasznay import Kovasznay
from .plate import Plate
from .problem import AbstractReferenceProblem, AbstractSolvedProblem
from .recommended import ByDimension, Recommended
from .schroedinger import OscillatorChain
from .semilinear.allen_cahn import SemilinearAllenCahn
from .semilinear.heat import SemilinearHeat
from .semilinear.problem import PAPER
from .semilinear.sine_gordon import SemilinearSineGordon
from .solitons.kdv_1d import KdV1D
from .solitons.kdv_2d import KdV2D
from .solitons.kp_2d import KP2D
from .terminal_value.black_scholes_barenblatt import BlackScholesBarenblatt
from .terminal_value.hjb_lin import HJBLin
from .terminal_value.hjb_lqg import HJBLQG
from .wave import WaveEquation

Problem: TypeAlias = AbstractSolvedProblem | AbstractReferenceProblem

_Make = Callable[[int, PRNGKeyArray], Problem]


def _in_any_dimension(problem: Callable[..., Problem]) -> _Make:
    return lambda dim, key: problem(dim, key=key)


def _without_coefficients(problem: Callable[[int], Problem]) -> _Make:
    return lambda dim, _: problem(dim)


def _in_one_dimension(problem: Any) -> _Make:
    """Makes a problem, of its class or ready made, without a choice of dimension and without
    randomness.
    """
    own = problem.recommended.dim

    def make(dim: int, _: PRNGKeyArray) -> Problem:
        if dim != own:
            raise ValueError(
                f"{problem.name} has {own} coordinates, time among them, got dim {dim}; leave the "
                f"dimension out."
            )
        return problem() if isinstance(problem, type) else problem

    return make


class _Entry(NamedTuple):
    make: _Make
    recommended: Recommended | ByDimension
    summary: str
    paper: Recommended | None = None


_PERIOD = 4


def _headline(problem: Any) -> str:
    """The first line of its docstring, without the dollars around formulas."""
    return (problem.__doc__ or "").strip().splitlines()[0].replace("$", "")


def _on_the_ball(equation: str, bodies: int, period: int | None = None) -> tuple[str, _Entry]:
    """The entry of an equation with a sum."""
    summary = f"{EQUATIONS[equation].text} on the unit ball, u = 0 on the sphere, "
    name, solution = f"{equation}-{SUMS[bodies].text}", f"{SUMS[bodies].text} solution"
    if period is not None:
        name, solution = f"{name}-lattice", f"{solution} that repeats after {period} coordinates"
    return name, _Entry(
        lambda dim, key: ManyBody(equation, bodies, dim, key=key, period=period),
        of_many_bodies(bodies, period),
        f"{summary}{solution}.",
        Recommended() if period is None else None,
    )


def _on_the_cube(equation: str) -> tuple[str, _Entry]:
    """An equation with the two-body sum."""
    return f"{equation}-cube", _Entry(
        lambda dim, key: OnCube(equation, dim, key=key),
        ELLIPTIC,
        f"{EQUATIONS[equation].text} on the cube [−1, 1]^d, u given on its faces.",
    )


_MAKERS: dict[Any, _Make] = (
    {
        BiharmonicWaves: _in_any_dimension(BiharmonicWaves),
        HeatOnCube: _in_any_dimension(HeatOnCube),
        StationaryFokkerPlanck: _in_any_dimension(StationaryFokkerPlanck),
    }
    | {
        problem: _without_coefficients(problem)
        for problem in (
            SemilinearHeat,
            SemilinearAllenCahn,
            SemilinearSineGordon,
            OscillatorChain,
            HJBLin,
            HJBLQG,
            BlackScholesBarenblatt,
            WaveEquation,
        )
    }
    | {
        problem: _in_one_dimension(problem)
        for problem in (
            *(KdV1D, KdV2D, KP2D, Kovasznay, Plate, ConvectionDiffusion),
            *(Burgers, AllenCahn1D, KdVCosine, KuramotoSivashinsky),
            *(Advection, Wave1D, Helmholtz, GinzburgLandau, GrayScott, TaylorGreen),
            *(Cavity(), Cavity(1000), BackwardStep()),
        )
    }
)
_PAPERS = dict.fromkeys((SemilinearHeat, SemilinearAllenCahn, SemilinearSineGordon), PAPER)
_BALL = [*itertools.product(EQUATIONS, SUMS), *itertools.product(EQUATIONS, [2], [_PERIOD])]
_ON_DOMAINS = dict([*itertools.starmap(_on_the_ball, _BALL), *map(_on_the_cube, EQUATIONS)])
_PROBLEMS = _ON_DOMAINS | {
    problem.name: _Entry(make, problem.recommended, _headline(problem), _PAPERS.get(problem))
    for problem, make in _MAKERS.items()
}


def names() -> tuple[str, ...]:
    """The names of all problems, sorted.

    **Returns:** a tuple of strings, each of which `diffop.pde.make` accepts.

    !!! example

        ```python
        import diffop as do

        do.pde.names()  # ('advection', 'allen-cahn-1d', …)
        ```
    """
    return tuple(sorted(_PROBLEMS))


def summary(name: str) -> str:
    """The first line of the documentation of the problem called `name`."""
    return _PROBLEMS[name].summary


def recommended(name: str, dim: int | None = None) -> Recommended:
    """The settings that suit the problem called `name`, in `dim` dimensions.

    **Arguments:**

    - `name`: one of `diffop.pde.names()`.
    - `dim`: the dimension; by default the recommended one.

    **Returns:** a `diffop.pde.Recommended`.

    **Raises:** `ValueError` if there is no such problem (the message names the nearest ones) or if
    `dim` is not a dimension.

    !!! example

        ```python
        import diffop as do

        do.pde.recommended("kdv-2d").dim  # 3
        do.pde.recommended("allen-cahn-two-body", 100_000).steps  # 400
        ```
    """
    return rule(name).at(dim)


def rule(name: str) -> Recommended | ByDimension:
    """What the problem called `name` recommends, by dimension."""
    return _find(name).recommended


def paper(name: str, dim: int | None = None) -> Recommended:
    """The settings with which Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix
    "Experiment setup", trains networks on the problem called `name`.

    **Arguments:**

    - `name`: one of `diffop.pde.names()`.
    - `dim`: the dimension, on which the other settings do not depend; by default 1000 on the unit
        ball and 10 for the semilinear equations.

    **Returns:** a `diffop.pde.Recommended`.

    **Raises:** `ValueError` if there is no such problem, if the paper trains nothing on it, or if
    `dim` is not a dimension.

    !!! example

        ```python
        import diffop as do

        do.pde.paper("allen-cahn-two-body").steps  # 10_000
        ```
    """
    found = None if ":" in name else _find(name).paper  # a path names a user's class
    if found is None:
        trained = [each for each in names() if _PROBLEMS[each].paper is not None]
        raise ValueError(
            f"the paper trains no network on {name}; it does on {', '.join(trained)}; ask for "
            f"what is recommended instead."
        )
    return found.at(dim)


def make(name: str, dim: int | None = None, *, key: PRNGKeyArray) -> Problem:
    """The problem called `name`, in `dim` dimensions.

    **Arguments:**

    - `name`: one of `diffop.pde.names()`.
    - `dim`: the dimension; by default the recommended one. It is the number of coordinates of a
        point, without time for problems of any dimension (`problem.dim` includes time).
    - `key`: a key from `jax.random.key`, for everything random in the problem.

    **Returns:** the problem.

    **Raises:** `ValueError` if there is no such problem (the message names the nearest ones) or if
    it does not exist in `dim` dimensions.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.make("allen-cahn-two-body", 1000, key=jax.random.key(0))
        ```
    """
    entry = _find(name)
    return entry.make(entry.recommended.dim if dim is None else dim, key)


def _find(name: str) -> _Entry:
    if name not in _PROBLEMS:
        module, _, of_class = name.rpartition(".")
        if module:
            raise ValueError(
                f"there is no problem called {name!r}; a class of your own is module:Class, such "
                f"as {module}:{of_class}."
            )
        near = difflib.get_close_matches(name, names(), cutoff=0.3) or names()
        raise ValueError(
            f"there is no problem called {name!r}; the nearest names are: {', '.join(near)}."
        )
    return _PROBLEMS[name]
