"""Bad input: one clear error at the call, told by its essential words."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

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

CASES = {
    # points
    "integer_point": (lambda: at(do.Laplacian(), jnp.arange(3)), "float.*int32|int32.*float"),
    "boolean_point": (
        lambda: at(do.Laplacian(), jnp.array([True, False])),
        "float.*bool|bool.*float",
    ),
    "integer_among_several": (
        lambda: do.Laplacian().exact(lambda p: p[0] * p[1])((jnp.array(1.0), jnp.array(2))),
        "float.*int32|int32.*float",
    ),
    "python_int_point": (lambda: do.Partial().exact(lambda x: x * x)(3), "float"),
    "integer_point_of_an_estimate": (
        lambda: estimate(do.Laplacian())(u)(jnp.arange(3)),
        "float",
    ),
    "text_as_point": (lambda: do.Partial().exact(lambda x: 1.0)("x"), "'x'"),
    "text_as_point_of_a_sum": (
        lambda: at(do.Laplacian() + do.Partial(0), "abc"),
        "must be an array, or a pytree of arrays; got 'abc' of type str",
    ),
    "text_as_point_of_a_gradient": (
        lambda: at(do.Gradient(), "abc"),
        "∇ differentiates argument 0, which must be an array, .*; got 'abc' of type str",
    ),
    "text_as_point_of_an_estimate": (
        lambda: estimate(do.Biharmonic())(u)("abc"),
        "must be an array, or a pytree of arrays; got 'abc' of type str",
    ),
    "object_as_point": (lambda: at(do.Divergence(), object), "an array, .* of type type"),
    "nothing_as_point": (
        lambda: at(do.Laplacian(), None),
        "Δ differentiates argument 0, which must have coordinates; got None",
    ),
    "nothing_as_point_of_a_gradient": (lambda: at(do.Gradient(), None), "coordinates; got None"),
    **{
        f"no_coordinates_{name}": (
            lambda operator=operator: at(operator, jnp.ones(0)),
            "must have coordinates; got an array of shape .0,.. Pass an array with at least one",
        )
        for name, operator in {
            "biharmonic": do.Biharmonic(),
            "laplacian": do.Laplacian(),
            "order_one": do.DiagonalK(1),
            "gradient": do.Gradient(),
            "hessian": do.Hessian(),
            "divergence": do.Divergence(),
        }.items()
    },
    "no_coordinates_of_an_estimate": (
        lambda: estimate(do.Biharmonic())(u)(jnp.ones(0)),
        "must have coordinates; got an array of shape",
    ),
    # functions
    "no_return": (lambda: do.Laplacian().exact(lambda x: None)(X), "must return .*; got None: is"),
    "no_return_and_gradient": (lambda: do.Gradient().exact(lambda x: None)(X), "got None: is its"),
    "no_return_to_several": (
        lambda: do.exact({"a": do.Laplacian(), "b": do.Identity()})(lambda x: None)(X),
        "got None: is its",
    ),
    # coefficients
    "diffusion_of_another_length": (
        lambda: at(do.DivergenceForm(jnp.ones(4))),
        r"a of DivergenceForm must have shape \(3,\) at this point; got \(4,\)",
    ),
    "diffusion_of_another_shape": (
        lambda: estimate(do.DivergenceForm(do.operators.MatVec(lambda v: v)), probes="shifted")(u)(
            X
        ),
        "entries of a of DivergenceForm, and here that is known by its products alone",
    ),
    "operator_as_matrix": (
        lambda: do.SecondOrder(do.Laplacian()),
        "C of SecondOrder must be .*got Laplacian",
    ),
    "operator_as_direction": (
        lambda: do.Directional(do.Laplacian()),
        "b of Directional must be .*got Laplacian",
    ),
    "vector_coefficient": (lambda: jnp.ones(3) * do.Laplacian(), "scalar.*\\(3,\\)"),
    "vector_coefficient_right": (lambda: do.Laplacian() * jnp.ones(3), "scalar.*\\(3,\\)"),
    "numpy_vector_coefficient": (lambda: np.ones(3) * do.Laplacian(), "scalar.*\\(3,\\)"),
    "divided_by_vector": (lambda: do.Laplacian() / jnp.ones(3), "scalar.*\\(3,\\)"),
    "coefficient_function_with_vector_values": (
        lambda: at((lambda x: x) * do.Laplacian()),
        "scalar.*\\(3,\\)",
    ),
    "callable_on_the_right": (
        lambda: do.Laplacian() * (lambda x: x[0]),
        r"c \* A.*A @ \(c \* Identity\(\)\)",
    ),
    "array_added": (
        lambda: do.Laplacian() + X,
        r"operators are added to operators, .* got c alone",
    ),
    "array_subtracted": (
        lambda: X - do.Laplacian(),
        "operators are added to operators, .* got c al",
    ),
    "quotient_of_operators": (
        lambda: do.Laplacian() / do.Identity(),
        r"an operator is divided by numbers; got I\. .* FunctionOf\(jnp\.divide, A, B\)",
    ),
    "quotient_of_values": (
        lambda: do.Value() / do.Laplacian(),
        r"an operator is divided by numbers; got Δ\. .* FunctionOf\(jnp\.divide, A, B\)",
    ),
    "divided_by_a_function": (
        lambda: do.Laplacian() / u,
        r"got c\. .*\(lambda x: 1 / c\(x\)\) \* A",
    ),
    "fractional_power": (
        lambda: do.Laplacian() ** 0.5,
        r"an integer exponent; got 0\.5\. .* FunctionOf\(lambda a: a\*\*0\.5, A\)",
    ),
    "fractional_power_of_a_value": (
        lambda: do.Value() ** 1.5,
        r"an integer exponent; got 1\.5\. Oth",
    ),
    "applied_by_a_product": (
        lambda: (do.Laplacian() @ (lambda x: x[0] ** 2)).exact(u)(X),
        r"a function of values, here of shape \(\); got φ, which fails .* A\.exact\(u\)\(x\)\.",
    ),
    "a_class_of_operators": (
        lambda: do.exact(do.Laplacian),
        r"This is a class; make an operator of it: Laplacian\(…\)\.",
    ),
    # multi-indices
    "negative_order": (lambda: do.Mixed({0: -1}), "negative|-1"),
    "negative_order_in_full_index": (lambda: do.Mixed((1, -2)), "negative|-2"),
    "fractional_order": (lambda: do.Mixed({0: 1.5}), "1.5"),
    "empty_alpha": (lambda: do.Mixed({}), "Identity|at least one"),
    "zero_alpha": (lambda: do.Mixed((0, 0)), "Identity|at least one"),
    "negative_coordinate": (lambda: do.Mixed({-1: 2}), "-1"),
    "coordinate_beyond_d": (lambda: at(do.Mixed({0: 1, 3: 1})), "coordinate 3.*only 3"),
    "partial_beyond_d": (lambda: at(do.Partial(7)), "7.*3|3.*7"),
    "list_of_orders_or_of_coordinates": (
        lambda: do.Mixed([1, 2]),
        r"the list \[1, 2\], which may be either. For orders write Mixed\(tuple\(\[1, 2\]\)\), for "
        r"coordinates Mixed\(\{1: 1, 2: 1\}\)\.",
    ),
    "list_of_lists": (lambda: do.Mixed([[0, 1]]), r"the list \[\[0, 1\]\], which may be either"),
    "long_full_index": (lambda: at(do.Mixed((1, 0, 0, 1))), "3"),
    "short_full_index": (
        lambda: at(do.Mixed((2, 1))),
        r"a multi-index has an order for each coordinate, got one of 2 for argument 0, which has "
        r"3; give it 3, or name the coordinates that occur: Mixed\(\{0: 2, 1: 1\}\)\.",
    ),
    "short_full_index_in_a_product": (
        lambda: at(do.Partial(0) @ do.Mixed((1, 2))),
        "a multi-index has an order for each coordinate, got one of 2 for argument 0, which has 3",
    ),
    "negative_partial": (lambda: do.Partial(-1), "-1"),
    "partial_of_order_zero": (lambda: do.Partial(0, order=0), "order.*0|0.*order"),
    "partial_of_negative_order": (lambda: do.Partial(0, order=-2), "order.*-2|-2.*order"),
    "diagonal_of_order_zero": (lambda: do.DiagonalK(0), "0"),
    "polylaplacian_of_order_zero": (lambda: do.PolyLaplacian(0), "0"),
    "polylaplacian_of_fractional_order": (lambda: do.PolyLaplacian(1.5), "1.5"),
    "tensor_of_other_length": (lambda: do.TensorOperator([{0: 1}, {1: 1}], [1.0]), "2.*1|1.*2"),
    "tensor_of_too_large_a_number": (
        lambda: do.TensorOperator([{0: 1}, {1: 1}], [1, 10**400]),
        "must be one number for each index",
    ),
    "tensor_beyond_d": (lambda: at(do.TensorOperator([{5: 1}, {1: 1}], [1.0, 2.0])), "5.*3|3.*5"),
    "tensor_coordinates_not_integers": (
        lambda: do.TensorOperator.from_coordinates(np.ones((2, 2)), jnp.ones(2)),
        "integer",
    ),
    "tensor_coordinates_of_other_length": (
        lambda: do.TensorOperator.from_coordinates(np.ones((2, 2), int), jnp.ones(3)),
        "2.*3|3.*2",
    ),
    # which coordinates
    "argnum_out_of_range": (
        lambda: do.Partial(argnum=2).exact(space_time)(X, jnp.array(1.0)),
        "argument 2.*argnum",
    ),
    "no_coordinate_of_a_vector": (
        lambda: do.Partial(argnum=1).exact(lambda t, x: t * jnp.sum(x))(1.0, X),
        r"scalar argument; got argument 1, which has 3 coordinates: say .* Partial\(i, argnum=1\)",
    ),
    "no_coordinate_of_the_first": (lambda: at(do.Partial()), r"3 coordinates: .* argnum=0\)"),
    "no_coordinate_in_a_product": (
        lambda: at(do.Partial() @ do.Partial(1)),
        "argument 0, which has 3 coordinates",
    ),
    "no_coordinate_in_a_sum": (
        lambda: at(do.Partial(0) + do.Partial()),
        "argument 0, which has 3 coordinates",
    ),
    "negative_argnum": (lambda: do.Laplacian(argnum=-1), "argnum.*-1"),
    "dims_out_of_range": (lambda: at(do.Laplacian(dims=(0, 7))), "dims.*7|7.*dims|coordinate 7"),
    "negative_dims": (lambda: do.Laplacian(dims=(-1,)), "-1"),
    "repeated_dims": (lambda: do.Laplacian(dims=(0, 0)), r"different.*\(0, 0\)"),
    "empty_dims": (lambda: do.Laplacian(dims=()), "empty|at least one"),
    "fractional_dims": (lambda: do.Laplacian(dims=(0.5,)), "0.5"),
    # shapes of coefficients
    "b_too_long": (lambda: at(do.Directional(jnp.ones(4))), r"\(3,\).*\(4,\)|\(4,\).*\(3,\)"),
    "b_of_point_too_long": (
        lambda: at(do.Directional(lambda x: jnp.ones(4))),
        r"\(3,\).*\(4,\)|\(4,\).*\(3,\)",
    ),
    "C_not_square": (lambda: do.SecondOrder(jnp.ones((3, 2))), r"square.*\(3, 2\)"),
    "C_of_rank_three": (lambda: do.SecondOrder(jnp.ones((3, 3, 3))), r"\(3, 3, 3\)"),
    "C_of_other_size": (lambda: at(do.SecondOrder(jnp.eye(4))), r"\(4, 4\)"),
    "diagonal_of_other_size": (lambda: at(do.SecondOrder(jnp.ones(4))), r"\(4,\)"),
    "C_of_point_of_other_size": (lambda: at(do.SecondOrder(lambda x: jnp.eye(2))), r"\(2, 2\)"),
    "C_of_other_size_than_dims": (
        lambda: at(do.SecondOrder(jnp.eye(3), dims=(0, 1))),
        r"\(3, 3\)",
    ),
    "sigma_of_other_size": (lambda: at(do.ParabolicTrace(jnp.ones((4, 2)))), r"\(4, 2\)"),
    "sigma_of_rank_three": (lambda: do.ParabolicTrace(jnp.ones((3, 3, 3))), r"\(3, 3, 3\)"),
    "gradient_sigma_of_other_size": (lambda: at(do.Gradient(jnp.ones((4, 2)))), r"\(4, 2\)"),
    "text_as_C": (lambda: do.SecondOrder("C"), "str"),
    # draws
    "n_zero": (lambda: estimate(do.Laplacian(), 0), "n.*0"),
    "n_negative": (lambda: estimate(do.Laplacian(), -3), "n.*-3"),
    "n_fractional": (lambda: estimate(do.Laplacian(), 1.5), "n.*1.5"),
    "n_zero_of_several": (lambda: do.estimate([do.Laplacian()], KEY, 0), "n.*0"),
    "integer_as_key": (lambda: do.Laplacian().estimate(0, 4), r"jax\.random\.key"),
    "integer_as_key_of_several": (lambda: do.estimate([do.Laplacian()], 0, 4), r"jax\.random\.key"),
    "float_array_as_key": (lambda: do.Laplacian().estimate(jnp.ones(2), 4), r"jax\.random\.key"),
    "batch_of_keys": (lambda: do.Laplacian().estimate(jr.split(KEY, 3), 4), "(?i)key"),
    "unknown_probes": (lambda: estimate(do.Laplacian(), probes="uniform"), "rademacher.*uniform"),
    # probes that are biased
    "rademacher_biharmonic": (
        lambda: estimate(do.Biharmonic(), probes="rademacher"),
        "rademacher.*gaussian",
    ),
    "rademacher_polylaplacian": (
        lambda: estimate(do.PolyLaplacian(3), probes="rademacher"),
        "rademacher.*gaussian",
    ),
    "gaussian_diagonal": (lambda: estimate(do.DiagonalK(3), probes="gaussian"), "gaussian.*sparse"),
    "sphere_diagonal4": (lambda: estimate(do.DiagonalK(4), probes="sphere"), "sphere.*sparse"),
    "rademacher_tensor": (
        lambda: estimate(
            do.TensorOperator([{0: 3}, {1: 3}, {2: 3}], [1.0, 2.0, -1.0]), 1, probes="rademacher"
        ),
        "rademacher.*sparse",
    ),
    "misspelt_probes": (
        lambda: estimate(do.Laplacian(), probes="radmacher"),
        r"shifted \(nearest: rademacher\), or one of diffop.probes .*; got 'radmacher'",
    ),
    "probes_like_no_others": (
        lambda: estimate(do.Laplacian(), probes="xyz"),
        "shifted, or one of diffop.probes .*; got 'xyz'",
    ),
    "rademacher_in_a_sum": (
        lambda: estimate(do.Laplacian() + do.Biharmonic(), probes="rademacher"),
        "rademacher.*gaussian",
    ),
    # combinations
    "divergence_plus_laplacian": (lambda: do.Divergence() + do.Laplacian(), "(?i)output|shape"),
    "gradient_plus_laplacian": (lambda: do.Gradient() + do.Laplacian(), "(?i)output|shape"),
    "identity_minus_divergence": (lambda: do.Identity() - do.Divergence(), "(?i)output|shape"),
    "estimate_squared": (lambda: estimate(do.Laplacian()) ** 2, "(?i)compose"),
    "estimate_composed": (lambda: estimate(do.Laplacian()) @ do.Laplacian(), "(?i)compose"),
    "number_added": (lambda: do.Laplacian() + 1, "Identity|unsupported operand"),
    "callable_added": (lambda: do.Laplacian() + (lambda x: x), "unsupported operand|\\*"),
    "composed_with_number": (lambda: do.Laplacian() @ 2, "unsupported operand|\\*"),
    "negative_power": (lambda: do.Laplacian() ** -1, "-1"),
    "number_divided_by_operator": (lambda: 1 / do.Laplacian(), "unsupported operand"),
    "divergence_of_a_scalar": (lambda: at(do.Divergence()), "3 coordinates.*got 1"),
    "divergence_of_another_length": (
        lambda: do.Divergence().exact(lambda x: x[:2])(X),
        "3 coordinates.*got 2",
    ),
    "exact_of_a_number": (lambda: do.Laplacian().exact(3.0), "function.*float"),
    "exact_of_an_operator": (lambda: do.Laplacian().exact(do.Laplacian()), "(?i)function"),
    "do_exact_of_no_operator": (
        lambda: do.exact({"u": 3.0}),
        "(?i)operator.*float|float.*operator",
    ),
    "do_exact_of_a_function": (lambda: do.exact(u), "(?i)operator"),
    # how operators are applied
    "no_exact": (
        lambda: do.Laplacian()(u),
        r"L\.exact\(u\)\(x\), or estimated, L\.estimate\(key, n\)\(u\)\(x\); got .* L = Δ itself",
    ),
    "point_beside_u": (lambda: do.Laplacian().exact(u, X), BESIDE),
    "point_beside_u_of_several": (lambda: do.exact([do.Laplacian()])(u, X), BESIDE),
    "point_beside_u_of_an_estimate": (lambda: estimate(do.Laplacian())(u, X), BESIDE),
    "point_beside_u_of_rounds": (lambda: do.Laplacian().estimate_to(KEY)(u, X), BESIDE),
    "point_beside_u_deflated": (lambda: do.Laplacian().deflate(KEY, 4)(u, X), BESIDE),
    "point_beside_u_of_a_baseline": (
        lambda: do.baselines.estimate("sdgd", do.Laplacian(), KEY, 2)(u, X),
        BESIDE,
    ),
    "many_points": (lambda: do.Laplacian().exact(linear)(jnp.ones((5, 3))), MANY % r"\(5, 3\)"),
    "many_points_and_times": (
        lambda: do.Laplacian().exact(lambda x, t: linear(x) * t)(jnp.ones((5, 3)), jnp.ones(5)),
        MANY % r"\(5, 3\), \(5,\)",
    ),
    "many_points_of_several": (
        lambda: do.exact([do.Laplacian()])(linear)(jnp.ones((5, 3))),
        MANY % r"\(5, 3\)",
    ),
    "many_points_of_statistics": (
        lambda: estimate(do.Laplacian()).stats(linear)(jnp.ones((5, 3))),
        MANY % r"\(5, 3\)",
    ),
    "a_function_that_fails_at_each_of_many": (
        lambda: do.Laplacian().exact(lambda x: x @ jnp.ones(4))(jnp.ones((5, 3))),
        "^dot_general|^matmul|incompatible",
    ),
    # control variates
    "control_of_another_shape": (
        lambda: estimate(do.Laplacian()).controlled(u)(lambda x: u(x)[None])(X),
        r"estimate of u at a point has shape \(1,\), and that of the control shape \(\); no shape",
    ),
    "value_of_another_shape": (
        lambda: estimate(do.Laplacian()).controlled(u, lambda x: jnp.ones(1))(u)(X),
        r"value of the control at a point has shape \(1,\), and its estimate shape \(\); no shape",
    ),
    # arguments that have names only
    "function_in_place_of_a_name": (
        lambda: do.Laplacian(u),
        r"Laplacian are given by their names, got <function u .*Laplacian\(\)\.exact\(u\)\(x\)\.$",
    ),
    # equality
    "traced_equality": (
        lambda: jax.jit(lambda c: c * do.Laplacian() == do.Laplacian())(jnp.array(1.0)),
        "(?i)trace",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name):
    attempt, words = CASES[name]
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}") as info:
        attempt()
    assert len(str(info.value)) <= 500


def test_a_form_of_divergence_is_equal_to_that_of_second_order():
    """Whose coefficient errors call by another name."""
    matrix = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    difference = do.DivergenceForm(matrix) - do.SecondOrder(matrix)
    assert do.DivergenceForm(matrix) == do.SecondOrder(matrix)
    assert len((do.DivergenceForm(matrix) + do.SecondOrder(matrix)).terms()) == 1
    assert float(difference.exact(lambda x: jnp.sum(x**2))(jnp.ones(2))) == 0


def test_a_callable_on_the_right_is_a_type_error():
    with pytest.raises(TypeError):
        do.Laplacian() * (lambda x: x[0])


def test_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        do.Laplacian() / 0


def test_a_biased_probe_is_a_value_error():
    with pytest.raises(ValueError, match="biased"):
        estimate(do.Biharmonic(), probes="rademacher")


def test_wrong_shapes_are_noticed_under_transformations():
    """The checks look at shapes only, so they work on traced values too."""
    with pytest.raises((TypeError, ValueError), match=r"\(4,\)"):
        jax.jit(jax.vmap(do.Directional(jnp.ones(4)).exact(u)))(jnp.ones((5, 3)))


JET = {
    "lengths": (lambda: do.taylor.jet(jnp.sin, (1.0,), ()), "1.*0|0.*1"),
    "orders": (
        lambda: do.taylor.jet(lambda x, y: x * y, (1.0, 1.0), ([1.0], [1.0, 2.0])),
        "(?i)order|length",
    ),
    "shapes": (lambda: do.taylor.jet(jnp.sin, (X,), ([jnp.ones(4)],)), r"\(4,\)"),
    "integers": (lambda: do.taylor.jet(jnp.sin, (jnp.arange(3),), ([X],)), "float|int32"),
    "structure": (
        lambda: do.taylor.jet(lambda p: p["a"], ({"a": X},), ([{"b": X}],)),
        r"\[0\].*pytree",
    ),
    "no_orders": (lambda: do.taylor.jet(jnp.sin, (X,), ([],)), r"K >= 1.*\[0\]"),
}


@pytest.mark.parametrize("name", JET)
def test_bad_jets(name):
    attempt, words = JET[name]
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        attempt()
