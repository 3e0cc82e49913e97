"""Bad input: one clear error at the call, told by its essential words."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .refused import refusals

pytestmark = pytest.mark.usefixtures("as_users_see_it")

X = jnp.arange(1.0, 4.0)
KEY = jr.key(0)


def u(x):
    return jnp.sum(x**4)


def space_time(x, t):
    return jnp.sum(x**2) * t


def at(operator, x=X):
    return operator.exact(u)(x)


def estimate(operator, n=2, **kwargs):
    return operator.estimate(KEY, n, **kwargs)


def linear(x):
    return jnp.ones((4, 3)) @ x


BESIDE = r"to a function u alone, and .* L\.exact\(u\)\(x\); got 1 more argument\(s\) beside u"
MANY = r"fails with arguments of shape %s; these are many points: .* jax\.vmap\(L\.exact\(u\)\)"


class Pair(NamedTuple):
    a: object
    b: object


test_bad_input = refusals(
    {
        r"got an array of shape \(2, 2\)\..*FunctionOf\(lambda value: M @ value, A\)": lambda: (
            jnp.eye(2) * do.Partial(0)
        ),
        r"got shape \(3,\)\..*FunctionOf\(lambda value, x: c\(x\) \* value, A\)": lambda: (
            (lambda x: x) * do.Identity()
        ).exact(u)(X),
        r"b of Directional must be a vector, or like u's argument, .*; got": [
            lambda: do.Directional({"b": 2.0, "a": jnp.ones(2)}).exact(lambda p: p["a"])(
                {"a": jnp.array(3.0), "b": jnp.ones(2)}
            ),
            lambda: do.Directional(jnp.ones((2, 1))).exact(jnp.sum)(jnp.ones(2)),
            lambda: do.Directional(lambda p: Pair(jnp.ones(2), 2.0)).exact(lambda p: p.a)(
                Pair(jnp.array(3.0), jnp.ones(2))
            ),
        ],
        "differentiates argument 0, which must have coordinates; got None": [
            lambda: at(do.Laplacian(), None),
            lambda: at(do.Gradient(), None),
        ],
        "must have coordinates; got an array of shape .0,.. Pass an array with at least one": [
            lambda: at(do.Biharmonic(), jnp.ones(0)),
            lambda: at(do.Laplacian(), jnp.ones(0)),
            lambda: at(do.DiagonalK(1), jnp.ones(0)),
            lambda: at(do.Gradient(), jnp.ones(0)),
            lambda: at(do.Hessian(), jnp.ones(0)),
            lambda: at(do.Divergence(), jnp.ones(0)),
            lambda: estimate(do.Biharmonic())(u)(jnp.ones(0)),
        ],
        r"a of DivergenceForm must have shape \(3,\) at this point; got \(4,\)": lambda: at(
            do.DivergenceForm(jnp.ones(4))
        ),
        "entries of a of DivergenceForm, and here that is known by its products alone": lambda: (
            estimate(do.DivergenceForm(do.operators.MatVec(lambda v: v)), probes="shifted")(u)(X)
        ),
        "scalar.*\\(3,\\)": [
            lambda: jnp.ones(3) * do.Laplacian(),
            lambda: do.Laplacian() * jnp.ones(3),
            lambda: np.ones(3) * do.Laplacian(),
            lambda: do.Laplacian() / jnp.ones(3),
            lambda: at((lambda x: x) * do.Laplacian()),
        ],
        "negative|-1": lambda: do.Mixed({0: -1}),
        "negative|-2": lambda: do.Mixed((1, -2)),
        "Identity|at least one": [lambda: do.Mixed({}), lambda: do.Mixed((0, 0))],
        "-1": [
            lambda: do.Mixed({-1: 2}),
            lambda: do.Partial(-1),
            lambda: do.Laplacian(dims=(-1,)),
            lambda: do.Laplacian() ** -1,
        ],
        "coordinate 3.*only 3": lambda: at(do.Mixed({0: 1, 3: 1})),
        "7.*3|3.*7": lambda: at(do.Partial(7)),
        "3": lambda: at(do.Mixed((1, 0, 0, 1))),
        r"a multi-index has an order for each coordinate, got one of 2 for argument 0, which has "
        r"3; give it 3, or name the coordinates that occur: Mixed\(\{0: 2, 1: 1\}\)\.": lambda: at(
            do.Mixed((2, 1))
        ),
        "an order for each coordinate, got one of 2 for argument 0, which has 3": lambda: at(
            do.Partial(0) @ do.Mixed((1, 2))
        ),
        "order.*0|0.*order": lambda: do.Partial(0, order=0),
        "order.*-2|-2.*order": lambda: do.Partial(0, order=-2),
        "0": [lambda: do.DiagonalK(0), lambda: do.PolyLaplacian(0)],
        "2.*1|1.*2": lambda: do.TensorOperator([{0: 1}, {1: 1}], [1.0]),
        "5.*3|3.*5": lambda: at(do.TensorOperator([{5: 1}, {1: 1}], [1.0, 2.0])),
        "integer": lambda: do.TensorOperator.from_coordinates(np.ones((2, 2)), jnp.ones(2)),
        "2.*3|3.*2": lambda: do.TensorOperator.from_coordinates(np.ones((2, 2), int), jnp.ones(3)),
        "argument 2.*argnum": lambda: do.Partial(argnum=2).exact(space_time)(X, jnp.array(1.0)),
        r"got argument 1, which has 3 coordinates: say .* Partial\(i, argnum=1\)": lambda: (
            do.Partial(argnum=1).exact(lambda t, x: t * jnp.sum(x))(1.0, X)
        ),
        r"3 coordinates: .* argnum=0\)": lambda: at(do.Partial()),
        "argument 0, which has 3 coordinates": [
            lambda: at(do.Partial() @ do.Partial(1)),
            lambda: at(do.Partial(0) + do.Partial()),
        ],
        "argnum.*-1": lambda: do.Laplacian(argnum=-1),
        "dims.*7|7.*dims|coordinate 7": lambda: at(do.Laplacian(dims=(0, 7))),
        r"different.*\(0, 0\)": lambda: do.Laplacian(dims=(0, 0)),
        "empty|at least one": lambda: do.Laplacian(dims=()),
        r"\(3,\).*\(4,\)|\(4,\).*\(3,\)": [
            lambda: at(do.Directional(jnp.ones(4))),
            lambda: at(do.Directional(lambda x: jnp.ones(4))),
        ],
        r"square.*\(3, 2\)": lambda: do.SecondOrder(jnp.ones((3, 2))),
        r"\(3, 3, 3\)": [
            lambda: do.SecondOrder(jnp.ones((3, 3, 3))),
            lambda: do.ParabolicTrace(jnp.ones((3, 3, 3))),
        ],
        r"\(4, 4\)": lambda: at(do.SecondOrder(jnp.eye(4))),
        r"\(4,\)": lambda: at(do.SecondOrder(jnp.ones(4))),
        r"\(2, 2\)": lambda: at(do.SecondOrder(lambda x: jnp.eye(2))),
        r"\(3, 3\)": lambda: at(do.SecondOrder(jnp.eye(3), dims=(0, 1))),
        r"\(4, 2\)": [
            lambda: at(do.ParabolicTrace(jnp.ones((4, 2)))),
            lambda: at(do.Gradient(jnp.ones((4, 2)))),
        ],
        "n.*0": [
            lambda: estimate(do.Laplacian(), 0),
            lambda: do.estimate([do.Laplacian()], KEY, 0),
        ],
        "n.*-3": lambda: estimate(do.Laplacian(), -3),
        "rademacher.*uniform": lambda: estimate(do.Laplacian(), probes="uniform"),
        "rademacher.*gaussian": [
            lambda: estimate(do.Biharmonic(), probes="rademacher"),
            lambda: estimate(do.PolyLaplacian(3), probes="rademacher"),
            lambda: estimate(do.Laplacian() + do.Biharmonic(), probes="rademacher"),
        ],
        "gaussian.*sparse": lambda: estimate(do.DiagonalK(3), probes="gaussian"),
        "spherical.*sparse": lambda: estimate(do.DiagonalK(4), probes="spherical"),
        "rademacher.*sparse": lambda: estimate(
            do.TensorOperator([{0: 3}, {1: 3}, {2: 3}], [1.0, 2.0, -1.0]), 1, probes="rademacher"
        ),
        r"shifted \(nearest: rademacher\), or one of diffop.probes .*; got 'radmacher'": lambda: (
            estimate(do.Laplacian(), probes="radmacher")
        ),
        "shifted, or one of diffop.probes .*; got 'xyz'": lambda: estimate(
            do.Laplacian(), probes="xyz"
        ),
        "(?i)output|shape": [
            lambda: do.Divergence() + do.Laplacian(),
            lambda: do.Gradient() + do.Laplacian(),
            lambda: do.Identity() - do.Divergence(),
        ],
        "3 coordinates.*got 1": lambda: at(do.Divergence()),
        "3 coordinates.*got 2": lambda: do.Divergence().exact(lambda x: x[:2])(X),
        MANY % r"\(5, 3\)": [
            lambda: do.Laplacian().exact(linear)(jnp.ones((5, 3))),
            lambda: do.exact([do.Laplacian()])(linear)(jnp.ones((5, 3))),
            lambda: estimate(do.Laplacian()).stats(linear)(jnp.ones((5, 3))),
        ],
        MANY % r"\(5, 3\), \(5,\)": lambda: do.Laplacian().exact(lambda x, t: linear(x) * t)(
            jnp.ones((5, 3)), jnp.ones(5)
        ),
        r"u at a point has shape \(1,\), and that of the control shape \(\); no shape": lambda: (
            estimate(do.Laplacian()).controlled(u)(lambda x: u(x)[None])(X)
        ),
        r"control at a point has shape \(1,\), and its estimate shape \(\); no shape": lambda: (
            estimate(do.Laplacian()).controlled(u, lambda x: jnp.ones(1))(u)(X)
        ),
    },
    {
        "float.*int32|int32.*float": [
            lambda: at(do.Laplacian(), jnp.arange(3)),
            lambda: do.Laplacian().exact(lambda p: p[0] * p[1])((jnp.array(1.0), jnp.array(2))),
        ],
        "float.*bool|bool.*float": lambda: at(do.Laplacian(), jnp.array([True, False])),
        "float": [
            lambda: do.Partial().exact(lambda x: x * x)(3),
            lambda: estimate(do.Laplacian())(u)(jnp.arange(3)),
        ],
        "'x'": lambda: do.Partial().exact(lambda x: 1.0)("x"),
        "must be an array, or a pytree of arrays; got 'abc' of type str": [
            lambda: at(do.Laplacian() + do.Partial(0), "abc"),
            lambda: at(do.Gradient(), "abc"),
            lambda: estimate(do.Biharmonic())(u)("abc"),
        ],
        "an array, .* of type type": lambda: at(do.Divergence(), object),
        "must return .*; got None: is": [
            lambda: do.Laplacian().exact(lambda x: None)(X),
            lambda: do.Gradient().exact(lambda x: None)(X),
            lambda: do.exact({"a": do.Laplacian(), "b": do.Identity()})(lambda x: None)(X),
        ],
        "C of SecondOrder must be .*got Laplacian": lambda: do.SecondOrder(do.Laplacian()),
        "b of Directional must be .*got Laplacian": lambda: do.Directional(do.Laplacian()),
        r"c \* A.*A @ \(c \* Identity\(\)\)": lambda: do.Laplacian() * (lambda x: x[0]),
        r"operators are added to operators, .* got c alone": [
            lambda: do.Laplacian() + (lambda x: x),
            lambda: do.Laplacian() + X,
            lambda: X - do.Laplacian(),
        ],
        r"an operator is divided by numbers; got I\. .* FunctionOf\(jnp\.divide, A, B\)": lambda: (
            do.Laplacian() / do.Identity()
        ),
        r"an operator is divided by numbers; got Δ\. .* FunctionOf\(jnp\.divide, A, B\)": lambda: (
            do.Value() / do.Laplacian()
        ),
        r"got c\. .*\(lambda x: 1 / c\(x\)\) \* A": lambda: do.Laplacian() / u,
        r"the divisor must be a number; got u\. .* FunctionOf\(lambda a: 2 / a, A\)": lambda: (
            2 / do.Value()
        ),
        r"got Δ\. .* FunctionOf\(lambda a: c / a, A\) is u ↦ c / A u": lambda: u / do.Laplacian(),
        r"got Δ\. .* FunctionOf\(lambda a: 2\.0 / a, A\)": lambda: jnp.array(2.0) / do.Laplacian(),
        r"an integer exponent; got 0\.5\. .* FunctionOf\(lambda a: a\*\*0\.5, A\)": lambda: (
            do.Laplacian() ** 0.5
        ),
        r"an integer exponent; got 1\.5\. Oth": lambda: do.Value() ** 1.5,
        r"of values, here of shape \(\); got φ, which fails .* A\.exact\(u\)\(x\)\.": lambda: (
            do.Laplacian() @ (lambda x: x[0] ** 2)
        ).exact(u)(X),
        r"This is a class; make an operator of it: Laplacian\(…\)\.": lambda: do.exact(
            do.Laplacian
        ),
        "1.5": [lambda: do.Mixed({0: 1.5}), lambda: do.PolyLaplacian(1.5)],
        r"the list \[1, 2\], which may be either. For orders write Mixed\(tuple\(\[1, 2\]\)\), for "
        r"coordinates Mixed\(\{1: 1, 2: 1\}\)\.": lambda: do.Mixed([1, 2]),
        r"the list \[\[0, 1\]\], which may be either": lambda: do.Mixed([[0, 1]]),
        "must be one number for each index": lambda: do.TensorOperator(
            [{0: 1}, {1: 1}], [1, 10**400]
        ),
        "0.5": lambda: do.Laplacian(dims=(0.5,)),
        "str": lambda: do.SecondOrder("C"),
        "n.*1.5": lambda: estimate(do.Laplacian(), 1.5),
        r"jax\.random\.key": [
            lambda: do.Laplacian().estimate(0, 4),
            lambda: do.estimate([do.Laplacian()], 0, 4),
            lambda: do.Laplacian().estimate(jnp.ones(2), 4),
        ],
        "(?i)key": lambda: do.Laplacian().estimate(jr.split(KEY, 3), 4),
        "(?i)compose": [
            lambda: estimate(do.Laplacian()) ** 2,
            lambda: estimate(do.Laplacian()) @ do.Laplacian(),
        ],
        "operators are added to operators, .* got 1 alone": lambda: do.Laplacian() + 1,
        r"several entries as a tuple, such as Component\(\(0, 1, 2\)\); got ": [
            lambda: do.Component(slice(0, 3)),
            lambda: do.Component(range(3)),
        ],
        "expects a value for each of its points, got .* jnp.full": [
            lambda: do.equations.Condition(do.Identity(), jnp.ones((5, 1)), 0.0),
            lambda: do.equations.Condition(do.Identity(), jnp.ones((5, 1)), jnp.array(0.0)),
        ],
        r"expects a value for each of its points, got .* jax.vmap\(function\)\(points\)": lambda: (
            do.equations.Condition(do.Identity(), jnp.ones((5, 1)), jnp.sum)
        ),
        "unsupported operand": [lambda: do.Laplacian() @ 2, lambda: "1" / do.Laplacian()],
        "function.*float": lambda: do.Laplacian().exact(3.0),
        "(?i)function": lambda: do.Laplacian().exact(do.Laplacian()),
        "(?i)operator.*float|float.*operator": lambda: do.exact({"u": 3.0}),
        "(?i)operator": lambda: do.exact(u),
        r"L\.exact\(u\)\(x\), .*, L\.estimate\(key, n\)\(u\)\(x\); got .* L = Δ itself": lambda: (
            do.Laplacian()(u)
        ),
        BESIDE: [
            lambda: do.Laplacian().exact(u, X),
            lambda: do.exact([do.Laplacian()])(u, X),
            lambda: estimate(do.Laplacian())(u, X),
            lambda: do.Laplacian().estimate_to(KEY)(u, X),
            lambda: do.Laplacian().deflate(KEY, 4)(u, X),
            lambda: do.baselines.estimate("sdgd", do.Laplacian(), KEY, 2)(u, X),
        ],
        "^dot_general|^matmul|incompatible": lambda: do.Laplacian().exact(
            lambda x: x @ jnp.ones(4)
        )(jnp.ones((5, 3))),
        r"are given by their names, got <function u .*Laplacian\(\)\.exact\(u\)\(x\)\.$": lambda: (
            do.Laplacian(u)
        ),
        "(?i)trace": lambda: jax.jit(lambda c: c * do.Laplacian() == do.Laplacian())(
            jnp.array(1.0)
        ),
    },
)


def test_a_form_of_divergence_is_equal_to_that_of_second_order():
    """Whose coefficient errors call by another name."""
    matrix = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    difference = do.DivergenceForm(matrix) - do.SecondOrder(matrix)
    assert do.DivergenceForm(matrix) == do.SecondOrder(matrix)
    assert len((do.DivergenceForm(matrix) + do.SecondOrder(matrix)).terms()) == 1
    assert float(difference.exact(lambda x: jnp.sum(x**2))(jnp.ones(2))) == 0


def test_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        do.Laplacian() / 0


def test_wrong_shapes_are_noticed_under_transformations():
    """The checks look at shapes only, so they work on traced values too."""
    with pytest.raises((TypeError, ValueError), match=r"\(4,\)"):
        jax.jit(jax.vmap(do.Directional(jnp.ones(4)).exact(u)))(jnp.ones((5, 3)))


test_jets = refusals(
    {
        "1.*0|0.*1": lambda: do.taylor.jet(jnp.sin, (1.0,), ()),
        "(?i)order|length": lambda: do.taylor.jet(
            lambda x, y: x * y, (1.0, 1.0), ([1.0], [1.0, 2.0])
        ),
        r"\(4,\)": lambda: do.taylor.jet(jnp.sin, (X,), ([jnp.ones(4)],)),
        r"\[0\].*pytree": lambda: do.taylor.jet(lambda p: p["a"], ({"a": X},), ([{"b": X}],)),
        r"K >= 1.*\[0\]": lambda: do.taylor.jet(jnp.sin, (X,), ([],)),
    },
    {"float|int32": lambda: do.taylor.jet(jnp.sin, (jnp.arange(3),), ([X],))},
)
