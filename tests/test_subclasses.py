"""What your own class lacks is told all at once."""

import equinox as eqx
import jax
import pytest

import diffop as do


def empty(base):
    return type("Own", (base,), {"__module__": __name__})


LACKS = {
    do.operators.DifferentialOperator: "terms(…)",
    do.probes.AbstractDenseProbe: "draw(…), reaches(…), name",
    do.probes.AbstractTermProbe: "select(…), name",
    do.baselines.AbstractBaseline: "at(…), check(…), name, random",
    do.equations.AbstractEquation: "operators(…), residual(…)",
    do.pde.AbstractSolvedProblem: (
        "null_shape(…), operators(…), residual(…), solution(…), dim, name"
    ),
    do.pde.AbstractDomain: "boundary(…), sample(…)",
    do.methods.AbstractMethod: "init(…), step(…), divisible, helps",
    do.methods.AbstractSolver: "solve(…)",
}


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize("base", LACKS, ids=lambda base: base.__name__)
def test_what_is_missing(base):
    with pytest.raises(TypeError) as told:
        empty(base)()
    assert str(told.value).startswith(
        f"Own lacks {LACKS[base]}, which every {base.__name__} has; define them, methods by def"
    )


@pytest.mark.usefixtures("as_users_see_it")
@pytest.mark.parametrize(
    ("returned", "shown"), [(None, "None"), (do.Laplacian(), "Δ"), (("Δ",), r"\('Δ',\)")]
)
def test_operators_return_terms(returned, shown):
    class Own(do.operators.DifferentialOperator):
        def terms(self):
            return returned

    with pytest.raises(TypeError, match=rf"^Own\.terms must return a tuple of .*; got {shown}\."):
        Own().exact(jax.numpy.sum)(jax.numpy.ones(2))
    with pytest.raises(TypeError, match=r"^Own\.terms must return"):
        do.Laplacian() + Own()


def test_what_is_complete_is_a_pytree():
    """Made by flattening, too, where no class is called."""

    class Half(do.operators.DifferentialOperator):
        factor: jax.Array

        def terms(self):
            return (self.factor * do.Laplacian()).terms()

    made = jax.jit(lambda half: half)(Half(jax.numpy.array(0.5)))
    assert isinstance(made, Half) and eqx.tree_at(lambda h: h.factor, made, 2.0).factor == 2.0
