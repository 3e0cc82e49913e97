"""Times one operator of `jet-for-pytorch`, or its nested baseline, and prints one JSON object.

The package is that of "Collapsing Taylor Mode Automatic Differentiation" (Dangel, Siebert,
Zeinhofer, Walther; NeurIPS 2025). Runs in a process of its own, in an environment with PyTorch
and the package, by `benchmarks.suites.collapsed`.
"""

# pyright: reportMissingImports=false

import argparse
import copy
import importlib.metadata
import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jet import bilaplacian, capture_graph, common_subexpression_elimination, laplacian
from torch import Tensor, nn
from torch.func import grad, jvp, vmap

OPERATORS = (
    "laplacian",
    "weighted-laplacian",
    "biharmonic",
    "stochastic-laplacian",
    "stochastic-biharmonic",
)
METHODS = ("collapsed", "taylor", "nested")
PARTS = ("forward", "gradient")
WIDTH = 128
WARM_UPS = 2
FEWEST_REPEATS = 3
CHECKED_POINTS = 2
TOLERANCE = 1e-3
DRAW_SEED = 1

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    """What is measured."""

    operator: str
    method: str
    dim: int
    points: int
    samples: int | None
    part: str

    @property
    def stochastic(self) -> bool:
        """Whether the directions are drawn anew at each call."""
        return self.operator.startswith("stochastic-")

    @property
    def fourth_order(self) -> bool:
        """Whether derivatives of order four are taken, else of order two."""
        return self.operator.endswith("biharmonic")


def main() -> None:
    """Builds, checks and times the case of the command line."""
    case, seconds, repeats = parse()
    torch.manual_seed(0)
    net = network(case.dim)
    factor = torch.randn(case.dim, case.dim) / case.dim**0.5
    points = torch.randn(case.points, case.dim)
    start = time.perf_counter()
    operator = build(case, net, factor)
    build_seconds = time.perf_counter() - start
    check(case, net, factor, operator)
    times = measure(lambda: compute(case.part, net, operator, points), seconds, repeats)
    print(json.dumps(report(case, times, build_seconds)))


def parse() -> tuple[Case, float, int]:
    """The case, the budget of the timed runs in seconds, and the most timed runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operator", choices=OPERATORS, required=True)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--samples", type=int, help="directions at each point, if stochastic")
    parser.add_argument("--part", choices=PARTS, default="forward")
    parser.add_argument("--seconds", type=float, default=10.0, help="budget of the timed runs")
    parser.add_argument("--repeats", type=int, default=20, help="the most timed runs")
    given = parser.parse_args()
    case = Case(given.operator, given.method, given.dim, given.points, given.samples, given.part)
    if case.stochastic != (case.samples is not None):
        parser.error("--samples goes with a stochastic operator, and only with one.")
    return case, given.seconds, given.repeats


def network(dim: int) -> nn.Sequential:
    """Tanh, three hidden layers, weights and biases uniform within 1 / sqrt(fan_in)."""
    layers = [nn.Linear(dim, WIDTH), nn.Tanh()]
    for _ in range(2):
        layers += [nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    layers.append(nn.Linear(WIDTH, 1))
    for layer in layers:
        if isinstance(layer, nn.Linear):
            bound = layer.in_features**-0.5
            nn.init.uniform_(layer.weight, -bound, bound)
            nn.init.uniform_(layer.bias, -bound, bound)
    return nn.Sequential(*layers)


def scalar(net: nn.Module) -> Function:
    """The network as a function from one point to a tensor without axes."""
    return lambda x: net(x).squeeze(-1)


def build(case: Case, net: nn.Module, factor: Tensor) -> Function:
    """The operator of the network as a function of a batch of points."""
    one = nested(case, net, factor) if case.method == "nested" else taylor(case, net, factor)
    return vmap(one, randomness="different" if case.stochastic else "error")


def taylor(case: Case, net: nn.Module, factor: Tensor) -> Function:
    """The package's operator at one point, prepared as in the package's own benchmark."""
    mock = (torch.zeros(case.dim),)
    collapsed = case.method == "collapsed"
    # The estimate of the biharmonic operator is defined for normal directions only.
    draws = None if case.samples is None else ("normal", case.samples)
    if case.fourth_order:
        function = bilaplacian(scalar(net), mock, collapsed=collapsed, randomization=draws)
    else:
        weighting = None
        if case.operator == "weighted-laplacian":
            weighting = (lambda x, v: v @ factor.T, factor.shape[1])
        function = laplacian(
            scalar(net), mock, collapsed=collapsed, randomization=draws, weighting=weighting
        )
    graph, _ = capture_graph(function, mock)
    common_subexpression_elimination(graph.graph)
    graph.recompile()
    return graph


def nested(case: Case, net: nn.Module, factor: Tensor) -> Function:
    """The operator at one point by forward over reverse, over all directions at once."""
    u = scalar(net)
    if not case.fourth_order:
        return lambda x: contract(u, x, directions(case, factor)) / (case.samples or 1)
    if case.samples is None:
        basis = torch.eye(case.dim)
        return lambda x: contract(lambda y: contract(u, y, basis), x, basis)
    samples = case.samples

    def estimate(x: Tensor) -> Tensor:
        # E[D^4 u(x)[v, v, v, v]] of a standard normal v is three times the biharmonic operator.
        drawn = directions(case, factor)
        return vmap(lambda v: twice(lambda y: twice(u, y, v), x, v))(drawn).sum() / (3 * samples)

    return estimate


def directions(case: Case, factor: Tensor) -> Tensor:
    """The directions of the sum, one a row."""
    if case.samples is not None:
        return torch.randn(case.samples, case.dim)
    return factor.T if case.operator == "weighted-laplacian" else torch.eye(case.dim)


def twice(function: Function, x: Tensor, v: Tensor) -> Tensor:
    """The second derivative along v, forward over reverse."""
    return jvp(grad(function), (x,), (v,))[1] @ v


def contract(function: Function, x: Tensor, rows: Tensor) -> Tensor:
    """The sum of the second derivatives along the rows."""
    return vmap(lambda v: twice(function, x, v))(rows).sum()


def compute(part: str, net: nn.Module, operator: Function, points: Tensor) -> Tensor:
    """The values at the points, or the gradient of their mean square by the parameters."""
    if part == "forward":
        with torch.no_grad():
            return operator(points)
    return gradient(operator(points), net)


def gradient(values: Tensor, net: nn.Module) -> Tensor:
    """The gradient of the mean square of the values by the parameters, as one vector."""
    # The last bias adds a constant, on which no derivative of the network depends.
    parts = torch.autograd.grad(
        values.square().mean(), tuple(net.parameters()), materialize_grads=True, allow_unused=True
    )
    return torch.cat([part.flatten() for part in parts])


def check(case: Case, net: nn.Module, factor: Tensor, operator: Function) -> None:
    """Ends the program if the operator disagrees with nested reverse mode in double precision."""
    points = torch.randn(CHECKED_POINTS, case.dim)
    torch.manual_seed(DRAW_SEED)
    found = compute(case.part, net, operator, points).double()
    torch.manual_seed(DRAW_SEED)
    draw = vmap(lambda _: directions(case, factor), randomness="different")
    exact = copy.deepcopy(net).double()
    values = [
        reference(case, scalar(exact), x, rows)
        for x, rows in zip(points.double(), draw(points).double(), strict=True)
    ]
    wanted = torch.stack(values)
    wanted = wanted.detach() if case.part == "forward" else gradient(wanted, exact)
    error = float((found - wanted).norm() / wanted.norm())
    # Written so that an error that is not a number is one too many.
    if not error <= TOLERANCE:
        raise SystemExit(
            f"The {case.part} of {case.operator} by method {case.method} differs from nested "
            f"autodiff by {error:.2e}, relative; expected at most {TOLERANCE:.0e}."
        )


def reference(case: Case, u: Function, x: Tensor, rows: Tensor) -> Tensor:
    """The operator at one point by reverse mode alone, one direction after the other."""
    x = x.clone().requires_grad_()
    if not case.fourth_order:
        return sum_of(along(u, (v, v))(x) for v in rows) / (case.samples or 1)
    if case.samples is None:
        return sum_of(along(u, (v, v, w, w))(x) for v in rows for w in rows)
    return sum_of(along(u, (v, v, v, v))(x) for v in rows) / (3 * case.samples)


def sum_of(terms: Iterable[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    return torch.stack(list(terms)).sum()


def along(function: Function, rows: tuple[Tensor, ...]) -> Function:
    """The mixed derivative along the rows, by nested reverse mode."""
    if not rows:
        return function
    inner = along(function, rows[1:])
    return lambda x: torch.autograd.grad(inner(x), x, create_graph=True)[0] @ rows[0]


def measure(run: Callable[[], Tensor], seconds: float, repeats: int) -> list[float]:
    """Times of single runs: at most `repeats`, fewer if the budget ends, at least three."""
    for _ in range(WARM_UPS):
        run()
    times: list[float] = []
    while len(times) < FEWEST_REPEATS or (len(times) < repeats and sum(times) < seconds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def report(case: Case, times: list[float], build_seconds: float) -> dict[str, object]:
    """The measurement; the nested baseline has nothing to build."""
    first, median, third = statistics.quantiles(times, n=4, method="inclusive")
    return {
        "seconds": median,
        "seconds_q1": first,
        "seconds_q3": third,
        "repeats": len(times),
        "compile_seconds": 0.0 if case.method == "nested" else build_seconds,
        "peak_mb": peak_resident_mb(),
        "versions": {
            name: importlib.metadata.version(name) for name in ("torch", "jet-for-pytorch")
        },
        "threads": torch.get_num_threads(),
    }


def peak_resident_mb() -> float:
    """The most memory the process has held, its imports included, in 1e6 bytes (Linux)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
