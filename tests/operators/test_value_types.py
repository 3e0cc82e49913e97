"""The types of values: every operator and every probe, by the type of u's values and by that of the
coefficients. The table of `docs/api/operators.md` is made here:

    python -m tests.operators.test_value_types
"""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop.probes import NAMED

# The types of u's values are what is checked here, not those of every call in the library
pytestmark = pytest.mark.usefixtures("as_users_see_it")

PAGE = Path(__file__).parents[2] / "docs" / "api" / "operators.md"
X = np.linspace(0.5, 1.5, 3).astype(np.float32)

U = {
    "float32": lambda y: y,
    "bfloat16": lambda y: y.astype(jnp.bfloat16),
    "complex64": lambda y: jax.lax.complex(y, 2 * y),
    "int32": lambda y: y.astype(jnp.int32),
    "uint8": lambda y: y.astype(jnp.uint8),
    "bool": lambda y: y > 1,
}
COLUMNS = ("float32", "bfloat16", "complex64", "int32")
REAL = ("bfloat16", "int8", "bool")
EYE, ONES = np.eye(3), np.ones(3)
COLUMN = np.arange(3)[:, None]


def scalar(kind):
    c = jnp.ones((), kind)
    return {
        "array": lambda: c * do.Laplacian(),
        "function": lambda: (lambda x: c) * do.Laplacian(),
        "of the identity": lambda: c * do.Identity(),
    }


def field(kind):
    a, v, c = (jnp.asarray(value, kind) for value in (EYE, ONES, 1.0))
    indices = [{0: 2}, {1: 2}, {0: 1, 1: 1}]
    forms = {
        do.SecondOrder: {
            "matrix": a,
            "diagonal": v,
            "columns": do.operators.SparseColumns(COLUMN, a[:1].T, 3),
        },
        do.ParabolicTrace: {"matrix": a, "diagonal": v, "number": c},
        do.DivergenceForm: {"matrix": a, "diagonal": v, "number": c},
        do.Directional: {"vector": v},
    }
    made = {}
    for operator, fields in forms.items():
        for form, value in fields.items():
            name = f"{operator.__name__} {form}"
            made[name] = lambda operator=operator, value=value: operator(value)
            if operator is not do.DivergenceForm or form == "number":
                of_point = lambda operator=operator, value=value: operator(lambda x: value)
                made[f"{name} of the point"] = of_point
    product = lambda x: lambda w: jnp.asarray(EYE, kind) @ jnp.ones(3, kind)
    return made | {
        "SecondOrder product": lambda: do.SecondOrder(product),
        "SecondOrder LowRank": lambda: do.SecondOrder(do.operators.LowRank(a, v)),
        "Directional tree": lambda: do.Directional({"x": v}),
        "TensorOperator": lambda: do.TensorOperator(indices, v),
        "TensorOperator of the point": lambda: do.TensorOperator(indices, lambda x: v),
    }


def product(a, w):
    """Your own product, in the type that holds both."""
    with jax.numpy_dtype_promotion("standard"):
        kind = jnp.promote_types(a.dtype, w.dtype)
    return a.astype(kind) @ w.astype(kind)


def gradient(kind):
    a, v = jnp.asarray(EYE, kind), jnp.asarray(ONES, kind)
    return {
        "matrix": lambda: do.Gradient(a),
        "diagonal": lambda: do.Gradient(v),
        "of the point": lambda: do.Gradient(lambda x: a),
        "product": lambda: do.Gradient(lambda x: lambda w: product(a, w)),
    }


def flux(kind):
    a = jnp.asarray(EYE, kind)
    return {
        "matrix": lambda: do.DivergenceForm(lambda x: a),
        "product": lambda: do.DivergenceForm(lambda x: lambda w: product(a, w)),
    }


PLAIN = {
    "Identity": do.Identity,
    "Partial": lambda: do.Partial(0),
    "Mixed": lambda: do.Mixed({0: 1, 1: 1}),
    "Laplacian": do.Laplacian,
    "PolyLaplacian": lambda: do.PolyLaplacian(2),
    "Biharmonic": do.Biharmonic,
    "DiagonalK": lambda: do.DiagonalK(3),
    "Hessian": do.Hessian,
    "Divergence": do.Divergence,
    "Curl": do.Curl,
    "Component": lambda: do.Component(0),
}
ROWS = {
    "`Identity`, `Partial`, `Mixed`, `Laplacian`, `PolyLaplacian`, `Biharmonic`, `DiagonalK`, "
    "`Hessian`, `Divergence`, `Curl`, `Component`": lambda kind: PLAIN,
    "times a scalar": scalar,
    "`Directional`, `SecondOrder`, `ParabolicTrace`, `TensorOperator`, `DivergenceForm`": field,
    "`DivergenceForm` of a matrix function": flux,
    "`Gradient`": lambda kind: {"plain": do.Gradient},
    "`Gradient` with $σ$": gradient,
}
CONSTANT = ("`Identity`", "`Gradient`")


def values_of(operator):
    """u with values of every type, one by one for reverse mode and for a divergence."""
    if isinstance(operator, do.Divergence | do.Curl | do.Component):
        return {kind: lambda x, turn=turn: turn(x**4) for kind, turn in U.items()}
    y = lambda x: jnp.sum(jax.tree.leaves(x)[0] ** 4)
    if isinstance(operator, do.Gradient | do.DivergenceForm):
        return {kind: lambda x, turn=turn: turn(y(x)) for kind, turn in U.items()}
    return {"all": lambda x: {kind: turn(y(x)) for kind, turn in U.items()}}


def found(build, of=lambda operator: operator.exact):
    """The types of results by those of u, or the sentence that refuses them."""
    try:
        operator = build()
        x = {"x": X} if isinstance(getattr(operator, "b", None), dict) else X
        u = values_of(operator)
        out = jax.eval_shape(lambda x: {kind: of(operator)(u[kind])(x) for kind in u}, x)
    except TypeError as error:
        return dict.fromkeys(U, str(error).split("\n")[0])
    out = out.get("all", out)
    return {kind: out[kind].dtype.name for kind in U}


@functools.cache
def cells(row, coefficient):
    """What the first of the row's operators has; all the others have to have the same."""
    return found(next(iter(ROWS[row](coefficient).values())))


def told(cell):
    """A sentence without the name of its operator."""
    return cell if " " not in cell else "refused: “… " + cell[cell.index("must be real") :] + "”"


def table():
    lines = [
        "| operator | coefficients | $u$ in float32 | bfloat16 | complex64 | int32, uint8, bool |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        kinds = ("",) if row.startswith(CONSTANT) and "σ" not in row else ("real", "complex")
        for kind in kinds:
            every = cells(row, "complex64" if kind == "complex" else "float32")
            assert every["int32"] == every["uint8"] == every["bool"]
            found = [told(every[column]) for column in COLUMNS]
            if len(set(found)) == 1 and " " in found[0]:
                found = [found[0], "", "", ""]
            text = {"": "none", "real": "real, integer, boolean", "complex": "complex"}[kind]
            lines.append(f"| {row} | {text} | " + " | ".join(found) + " |")
    return "\n".join(lines)


def written(page, table):
    before, rest = page.split("<!-- types -->\n")
    return f"{before}<!-- types -->\n{table}\n<!-- end -->" + rest.split("<!-- end -->", 1)[1]


def test_the_page_has_the_table():
    page = PAGE.read_text()
    assert page == written(page, table())


@pytest.mark.parametrize("row", ROWS)
def test_every_operator_of_a_row_has_its_types(row):
    """For real coefficients of every type what the table says, for complex ones as well."""
    for coefficient in (*REAL, "complex64"):
        expected = cells(row, "complex64" if coefficient == "complex64" else "float32")
        for name, build in ROWS[row](coefficient).items():
            got = found(build)
            for kind in U:
                assert told(got[kind]) == told(expected[kind]), (name, coefficient, kind)


@functools.cache
def estimated():
    """Operators with the types of their exact values."""
    matrix = lambda x: jnp.ones((3, 3), jnp.int8)
    operators = [do.SecondOrder(matrix), do.SecondOrder(jnp.asarray([1, 2, 3])), do.DiagonalK(3)]
    operators += [do.ParabolicTrace(lambda x: jnp.asarray(2)), 1j * do.Laplacian()]
    operators += [do.Laplacian() + 1j * do.Identity(), 1j * do.Laplacian() + do.Identity()]
    return [(operator, found(lambda operator=operator: operator)) for operator in operators]


@pytest.mark.parametrize("probe", [name for name in NAMED if name != "auto"])
def test_estimates_have_the_types_of_exact_values(probe):
    """For every probe that is unbiased, with real standard errors."""
    made = 0
    for operator, exact in estimated():
        try:
            E = operator.estimate(jr.key(0), 2, probe)
        except ValueError:
            continue  # biased: tested elsewhere
        made += 1
        assert found(lambda E=E: E) == exact
        if probe != "systematic":
            (u,) = values_of(operator).values()
            mean, error, _ = jax.eval_shape(E.stats(u), X)
            for kind in U:
                real = {"complex64": "float32"}.get(exact[kind], exact[kind])
                assert (mean[kind].dtype, error[kind].dtype) == (exact[kind], real)
    assert made > 0


# By value: what used to be cut, wrapped or dropped

X3 = jnp.asarray(X)
norm = lambda x: jnp.sum(x**2)
three = lambda x: jnp.asarray(3, jnp.int32)
key = jr.key(0)


def test_integers_of_u_count_as_floating():
    L = do.Laplacian() + 0.5 * do.Identity()
    tenths = 0.3, jnp.asarray(0.3), lambda x: 0.3

    @jax.jit
    def every(x):
        stats, together = (
            L.estimate(key, 2).stats(three)(x),
            do.estimate([L], key, 2).stats(three)(x),
        )
        to_accuracy = L.estimate_to(key, batch=2, max_n=4)(three)(x).value
        nothing = stats.standard_error, together.standard_error, do.variance(L)(three)(x).variance
        return [
            [(c * do.Identity()).exact(three)(x) for c in tenths],
            do.Identity().exact(lambda x: 3)(x),
            (do.Gradient().exact(three)(x), nothing),
            (stats.value, to_accuracy, do.exact([L])(three)(x)),
        ]

    for found, expected in zip(every(X3), (0.9, 3, 0, 1.5), strict=True):
        for each in jax.tree.leaves(found):
            np.testing.assert_allclose(each, np.full(each.shape, expected), rtol=1e-6)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32"])
def test_integer_coefficients_do_not_wrap(kind):
    c = jnp.asarray(100, kind)
    twice = c * do.Laplacian() + c * do.Laplacian() + c * do.Laplacian()
    assert twice.exact(norm)(X3) == 1800
    assert (c * do.Identity()).exact(lambda x: 0.25)(X3) == 25
    entries = lambda x: jnp.full(3, c)
    for operator in (
        do.SecondOrder(entries),
        do.TensorOperator([{i: 2} for i in range(3)], entries),
    ):
        assert operator.exact(norm)(X3) == 600
        assert operator.estimate(key, 2)(norm)(X3) == 600


def test_complex_scalars_are_kept():
    L = do.Laplacian()
    i = jnp.asarray(1j)
    for operator in (1j * L, i * L, (lambda x: i) * L):
        assert operator.exact(norm)(X3) == 6j
        assert operator.estimate(key, 2)(norm)(X3) == 6j
    value = float(norm(X3))
    for operator, expected in (
        (L + 1j * do.Identity(), 6 + 1j * value),
        (1j * L + do.Identity(), 6j + value),
    ):
        got = [
            operator.exact(norm)(X3),
            operator.estimate(key, 2).stats(norm)(X3).value,
            operator.estimate_to(key, batch=2, max_n=4)(norm)(X3).value,
            do.estimate([operator], key, 2)(norm)(X3)[0],
            operator.estimate(key, 2).controlled(norm)(norm)(X3),
        ]
        np.testing.assert_allclose(got, [expected] * len(got), rtol=1e-6)


def test_complex_fields_of_complex_points():
    """u(z) = Σ z³ is analytic: its derivative along i z is 3 i Σ z³."""
    z = jax.lax.complex(X3, X3**2)
    u = lambda z: jnp.sum(z**3)
    i = jnp.asarray(1j)
    np.testing.assert_allclose(do.Directional(lambda z: i * z).exact(u)(z), 3j * u(z), rtol=1e-5)
    np.testing.assert_allclose(
        do.SecondOrder(lambda z: i * z).exact(u)(z), 6j * jnp.sum(z**2), rtol=1e-5
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), table()))
