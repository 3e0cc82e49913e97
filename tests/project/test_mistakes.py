"""Mistakes that users make: each is told in one sentence that says what to write, or is none."""

import re
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.__main__ import main

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY, X = jax.random.key(0), jnp.ones(2)
NET = eqx.nn.MLP(2, "scalar", 4, 1, activation=jnp.tanh, key=KEY)
BOX = do.pde.Box((0.0, 0.0), (1.0, 1.0))
EQUATION = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)
LOSS = do.losses.ResidualLoss(EQUATION, 4, probes="exact", points=BOX)
ADAM = optax.adam(1e-3)


def u(x):
    return x[0] * x[1]


def fit(loss=LOSS, optimiser=ADAM, steps=1, key=KEY, **options):
    return do.train.fit(NET, loss, optimiser, steps, key=key, **options)


def of_two(x, t):
    return x[0] * t


def of_other(q):
    return jnp.ones((2, 2)) @ q


def exact(operator, u=NET, *args):
    return operator.exact(u)(*(args or (X,)))


def of_three(x, a):
    return NET(x) * NET(a)


def of_many(x):
    return jnp.sin(x[:, 0])


T = jnp.float32(1.0)
MANY = r"points in argument %s: map over them alone, such as jax.vmap\(L.exact\(u\), \(%s\)\)"
TAKES = r"takes %s, and here it gets %s arguments? of points, .*: let it take"
CONDITION = "Condition expects an operator, such as .*; got an array of type"
TOGETHER = r"operators are given in one list or dict, .*: do.%s\(u\)\(x\); got %s beside them"
ALONE = r"the factor of one: expected %s \* do.Identity\(\), .* got %s alone"
OPTIMISER = r"fit expects an optimiser of optax, such as optax.adam\(1e-3\), .* got %s"
IN_ANSATZ = "PINN expects an ansatz that makes u of a network, such as the class .* got a %s"


test_a_mistake_is_told_with_its_mend = refusals(
    {
        "sigma of ParabolicTrace " + TAKES % (r"\(z\)", 2): lambda: exact(
            do.ParabolicTrace(lambda z: z), of_two, X, T
        ),
        "an end of Limits " + TAKES % (r"\(x\)", 2): lambda: exact(
            do.Integral(do.quadrature.Limits(lambda x: x[0], 2.0), dims=(0,)), of_two, X, T
        ),
        "rate of PoissonJumps " + TAKES % (r"\(x\)", 2): lambda: do.JumpGenerator(
            do.quadrature.PoissonJumps(lambda x: 1.0, lambda key, x, t: x)
        ).estimate(KEY, 2)(of_two)(X, T),
        "b of Directional " + TAKES % (r"\(z\)", 2): lambda: exact(
            do.Directional(lambda z: z), of_two, X, T
        ),
        r"has only 1 .*; the derivative with respect to argument j of u\(x, y, …\) is Partial": [
            lambda: exact(do.Partial(1), lambda x, y: x * y, T, T),
            lambda: exact(do.Mixed({0: 1, 1: 1}), lambda x, y: x * y, T, T),
        ],
        r"in the plane write Curl\(dims=\(0, 1\)\)": lambda: exact(do.Curl(), lambda x: x),
        r"say which one, Partial\(i, argnum=0\), or map over points, jax.vmap": lambda: exact(
            do.Partial(), u
        ),
        "probes must be one of .* got 'hutchinson'. Hutchinson's signs are rademacher": lambda: (
            do.Laplacian().estimate(KEY, 4, "hutchinson")
        ),
        "If time is periodic, let it be a coordinate of the box": lambda: do.pde.Periodic(
            on=do.pde.SpaceTime(BOX, 1.0).initial
        ),
        MANY % (0, "0, None"): lambda: exact(do.Laplacian(argnum=1), of_three, jnp.ones((4, 2)), X),
        MANY % (1, "None, 0"): lambda: exact(do.Laplacian(), of_three, X, jnp.ones((4, 2))),
        r"metric of LaplaceBeltrami must have shape .* \(2, 2\) .*; got \(3,\)": lambda: exact(
            do.LaplaceBeltrami(lambda q: jnp.ones(3))
        ),
        r"a coefficient c, as in c \* L, " + TAKES % (r"\(x\)", 2): [
            lambda: exact(u * do.Partial(0), of_two, X, T),
            lambda: (u * do.Partial(0)).estimate(KEY, 2)(of_two)(X, T),
        ],
        r"a coefficient c, as in c \* L, " + TAKES % (r"\(x, t\)", 1): lambda: (
            do.losses.ResidualLoss(
                do.equations.Equation.linear(of_two * do.Partial(0), 0.0),
                4,
                probes="exact",
                points=BOX,
            )(NET, KEY)
        ),
        "the kernel of Integral "
        + TAKES % (r"\(x\)", 2)
        + " the arguments of u, and then y": lambda: exact(do.Integral(BOX, u)),
        r"draw of PoissonJumps takes \(x\), .* gets key and 1 .*: let it take a key": lambda: (
            do.JumpGenerator(do.quadrature.PoissonJumps(1.0, u)).estimate(KEY, 2)(u)(X)
        ),
        r"u takes \(x, key\), and here it gets 2 .*: diffop.nn.JoinedInput\(net\)": lambda: exact(
            do.Laplacian(), NET, X, T
        ),
        r"u takes \(x, t\), and here it gets 1 .* for each, such as L.exact\(u\)\(x, t\)": lambda: (
            exact(do.Laplacian(), of_two)
        ),
        r"one point, got arrays of shape \(5, 2\); .* write jax.vmap\(pinn\)\(points\)": lambda: (
            do.nn.PINN(NET, EQUATION)(jnp.ones((5, 2)))
        ),
        "a network without its ansatz .* ZeroOnUnitSphere, which would be applied twice": lambda: (
            do.nn.PINN(do.nn.ZeroOnUnitSphere(NET), do.pde.ManyBody("poisson", 2, 2, key=KEY))
        ),
        r"Limits expects finite ends, got \(1.0, inf\). .* Within\(WholeSpace": lambda: (
            do.quadrature.Limits(0.0, (1.0, np.inf))
        ),
        "the residual takes .* write lambda values, x: …": lambda: do.losses.ResidualLoss(
            do.equations.Equation(do.Laplacian(), lambda v: v), 4, probes="exact", points=BOX
        )(NET, KEY),
        "a class of your own is module:Class, such as mine:Transport": lambda: do.train.Settings(
            "mine.Transport"
        ),
        "checkpoint-every must be a number of steps, or 0 .*, got '5'": lambda: do.train.check(
            do.train.Settings("kovasznay"), "never-made", checkpoint_every="5"
        ),
    },
    {
        "numbers; got one of type key<fry> among its values: return it from another": lambda: (
            do.Laplacian().exact(lambda x: (jnp.sum(x**2), KEY))(jnp.ones(3))
        ),
        CONDITION + r" float32 and shape \(9, 2\) in the place": lambda: do.equations.Condition(
            jnp.ones((9, 2)),
            do.Identity(),
            jnp.ones(9),  # pyright: ignore
        ),
        TOGETHER % (r"exact\(\[A, B\]\)", "an operator"): lambda: do.exact(
            do.Laplacian(), do.Partial(0)
        ),
        TOGETHER % (r"exact\(\[A, B\]\)", "an MLP"): lambda: do.exact([do.Laplacian()], NET),
        TOGETHER % (r"estimate\(\[A, B\], key, n\)", "an operator"): lambda: do.estimate(
            do.Laplacian(),
            do.Partial(0),
            KEY,
            2,  # pyright: ignore
        ),
        "expects a radius, within which u has two derivatives .*, such as radius=1.0": lambda: (
            do.FractionalLaplacian(1.0)
        ),
        ALONE % ("1.0", "1.0"): [lambda: do.Laplacian() + 1.0, lambda: do.Value() ** 3 - 1.0],
        ALONE % ("4.0", "4.0"): lambda: do.Laplacian() + jnp.asarray(2.0) ** 2,
        ALONE % (1, 1): lambda: 1 - do.Laplacian(),
        ALONE % ("c", "c"): lambda: do.Laplacian() + u,
        OPTIMISER % "'adam'": lambda: fit(optimiser="adam"),
        OPTIMISER % "0.001": lambda: fit(optimiser=1e-3),
        OPTIMISER % r"GaussNewton itself; call it: GaussNewton\(…\)": lambda: fit(
            optimiser=do.methods.GaussNewton
        ),
        OPTIMISER % r"adam itself; call it: adam\(…\)": lambda: fit(optimiser=optax.adam),
        r"fresh points at each step, .* or diffop.methods.LBFGS\(\)": lambda: fit(
            optimiser=optax.lbfgs()
        ),
        r"one real number, got an array of shape \(2,\) and type float32; take its mean": lambda: (
            fit(lambda model, key: jax.vmap(model)(jnp.ones((2, 2))))
        ),
        r"fit expects checkpoints such as diffop.train.Checkpoints\('out'\), got 'out'": lambda: (
            do.train.fit(NET, LOSS, ADAM, 1, key=KEY, checkpoints="out")  # pyright: ignore
        ),
        r"PINN expects a network, .* got an array of shape \(5, 2\)": lambda: do.nn.PINN(
            jnp.ones((5, 2)), EQUATION
        ),  # pyright: ignore
        "fit expects steps_per_dispatch to be an integer, such as 10_000, got 10.0": lambda: fit(
            steps_per_dispatch=10.0
        ),
        r"a mesh of jax.make_mesh\(\(4, 2\), .* got 'data=2' of type str": lambda: fit(
            mesh="data=2"
        ),
        "log expects names of trackers, such as .* got 'tensorboard'": lambda: do.train.check(
            do.train.Settings("kovasznay"), "never-made", log="tensorboard"
        ),
        "march makes a .*Checkpoints for each window itself; say where by directory=": lambda: (
            do.train.march(NET, lambda *_: LOSS, ADAM, 1, 1, key=KEY, checkpoints=None)
        ),
        "a function of a window's number and of the model before it.*got 3": lambda: do.train.march(
            NET,
            3,
            ADAM,
            1,
            1,
            key=KEY,  # pyright: ignore
        ),
        "march needs a JAX random key .* got 3 of type int": lambda: do.train.march(
            NET,
            lambda *_: LOSS,
            ADAM,
            1,
            1,
            key=3,  # pyright: ignore
        ),
        r"observe to be a function \(step, model, losses\), got 3": lambda: fit(observe=3),
        r"listeners in a list, such as .*, got \[3\]": lambda: fit(listeners=[3]),
        "listeners in a list, such as .*, got 3": lambda: fit(listeners=3),
        "one real number, got None of type NoneType; return a scalar": lambda: fit(
            lambda model, key: None
        ),
        "one real number, got an array of shape .* and type complex64": lambda: fit(
            lambda model, key: jax.lax.complex(model(X), model(X))
        ),
        "Balanced expects the names of terms in a tuple, got 'residual'": lambda: (
            do.methods.Balanced(ADAM, terms="residual")  # pyright: ignore
        ),
        "a solver, such as diffop.methods.Cholesky.*, got 'qr'": lambda: do.methods.GaussNewton(
            solver="qr"  # pyright: ignore
        ),
        "windows of march must be an integer; got 2.0": lambda: do.train.march(
            NET, lambda *_: LOSS, ADAM, 1, 2.0, key=KEY
        ),
        "gpinn_terms of ResidualLoss must be an integer; got 2.5": lambda: do.losses.ResidualLoss(
            do.pde.Kovasznay(), 4, probes="exact", gpinn=1.0, gpinn_terms=2.5
        ),
        "fit expects steps to be an integer, such as 10_000, got 10000.0 of type float": lambda: (
            fit(steps=1e4)
        ),
        r"fit needs .* jax.random.key\(0\); got 0": lambda: fit(key=0),
        r"loss of a model and a key, such as lambda model, key: …, got one of \(model\)": lambda: (
            fit(lambda model: model(X))
        ),
        r"such as diffop.losses.ResidualLoss\(.*\), got an Equation": lambda: fit(EQUATION),
        "PINN expects a diffop.equations.Equation,.* an MLP": lambda: do.nn.PINN(EQUATION, NET),
        IN_ANSATZ % "ZeroOnUnitSphere": lambda: do.nn.PINN(
            NET, EQUATION, ansatz=do.nn.ZeroOnUnitSphere(NET)
        ),
        IN_ANSATZ % "HardConstraint": lambda: do.nn.PINN(
            NET, EQUATION, ansatz=do.nn.HardConstraint(NET, u, u)
        ),
        r"HardConstraint expects a network, .* got an array of shape \(\)": lambda: (
            do.nn.HardConstraint(NET(X), u, u)
        ),
        r"a function of the point, such as lambda x: x\[0\], or a number, got 'zero'": lambda: (
            do.nn.HardConstraint(NET, "zero", u)
        ),
        r"such as Box\(\(0.0,\), \(1.0,\)\) for an interval, got 0.0": lambda: do.pde.Box(0.0, 1.0),
        r"a number, such as 1.0 for 0 ≤ t ≤ 1, got \(0, 1\); time begins": lambda: do.pde.SpaceTime(
            BOX, (0, 1)
        ),
        r"SpaceTime expects a domain of space, such as diffop.pde.Box.* got \(0, 1\)": lambda: (
            do.pde.SpaceTime((0, 1), 1.0)
        ),
        r"argnum must be an integer; got \(0, 1\). Add the operators of several": lambda: (
            do.Laplacian(argnum=(0, 1))
        ),
        "random stream needs a JAX random key such as .*; got 100 of type int": [
            lambda: do.pde.SpaceTime(BOX, 1.0).sample(100, KEY),
            lambda: do.streams.stream(100, "points"),
        ],
        "random point needs a JAX random key such as .*; got 0 of type int": lambda: BOX.sample(
            0, 10
        ),
        "Sphere is the boundary of a ball, such as .*; got 3 of type int": lambda: do.pde.Sphere(3),
        r"array of type float32 and shape \(3, 2\); at points that are given it is": lambda: (
            do.pde.Dirichlet(0.0, jnp.ones((3, 2)))
        ),
        "numbers, arrays or functions of the point for its values, got Faces": lambda: (
            do.pde.Dirichlet(BOX.boundary, 0.0)
        ),
        r"points that are given diffop.equations.Condition\(operator, points, values\)": lambda: (
            do.pde.Conditions((jnp.ones((3, 2)), jnp.ones(3)))
        ),
        "write jnp.sin for np.sin, with `import jax.numpy as jnp`": [
            lambda: do.Laplacian().exact(lambda x: np.sum(np.sin(x)))(X),
            lambda: do.pde.Conditions(do.pde.Dirichlet(lambda x: np.sin(x[0]), on=BOX.boundary))(
                KEY, 4
            ),
            lambda: do.losses.ResidualLoss(
                do.equations.Equation.linear(do.Laplacian(), lambda x: np.sin(x[0])),
                4,
                probes="exact",
                points=BOX,
            )(NET, KEY),
        ],
        "fit expects the model before the loss, got an MLP for the loss": lambda: do.train.fit(
            LOSS, NET, ADAM, 1, key=KEY
        ),
        "whether a point belongs to the region, .* got one of type float32": lambda: do.Integral(
            do.quadrature.Within(do.quadrature.Limits(0.0, 1.0), lambda y: 1 - y[0])
        ).exact(lambda x: 1.0)(X),
        "quantities that are real numbers, got one of type int32": lambda: do.train.standard_errors(
            lambda model: jnp.int32(1), NET, LOSS, key=KEY
        ),
        r"operator, such as .* got an MLP. .* do.exact\(ops\)\(u\)\(x\)": lambda: do.exact(NET),
        r"nothing called lr \(nearest: learning_rate\); `diffop solve --help` lists all": lambda: (
            do.train.Settings("poisson-cube", lr=1e-3)
        ),
        r"nothing called optimizer \(nearest: optimiser\)": lambda: do.train.Settings(
            "poisson-cube", optimizer="adam"
        ),
        r"nothing called epochs \(nearest: steps\), layers \(nearest: depth\)": lambda: (
            do.train.Settings("poisson-cube", epochs=100, layers=3)
        ),
    },
    {
        r"a function is called at one point, .*: write x\[0\]": [
            lambda: do.Laplacian().exact(of_many)(X),
            lambda: do.losses.ResidualLoss(
                do.equations.Equation.linear(do.Laplacian(), of_many), 4, probes="exact", points=BOX
            )(NET, KEY),
            lambda: do.pde.Dirichlet(of_many, BOX.boundary).draw(KEY, 3),
            lambda: do.nn.HardConstraint(NET, 0.0, of_many)(X),
            lambda: do.nn.InitialCondition(NET, of_many)(X),
            lambda: do.nn.ZeroOnUnitSphere(of_many)(X),
        ]
    },
)


OPTIONS = {
    ("--optimizer", "adam"): "unrecognized arguments: --optimizer adam (nearest: optimiser)",
    ("--lr", "1e-3"): "unrecognized arguments: --lr 1e-3 (nearest: learning-rate)",
    ("--epochs", "9"): "unrecognized arguments: --epochs 9 (nearest: steps)",
    ("--out", "file/x"): "file is a file; name a directory that is under no file.",
    ("--out", "broken"): "broken is a link to nowhere, which does not exist; name a directory.",
}


@pytest.mark.parametrize("words", OPTIONS)
def test_mistakes_on_the_command_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "broken").symlink_to("nowhere")
    try:
        code = main(["solve", "poisson-cube", "--out", "run", *words])
    except SystemExit as error:
        code = error.code
    assert code != 0
    assert OPTIONS[words] in capsys.readouterr().err


def test_going_on_in_another_precision(tmp_path):
    def whole(steps):
        loss = lambda model, key: jnp.sum((model - 1) ** 2)
        kept = do.train.Checkpoints(tmp_path, every=1)
        start = jnp.zeros(2, float)
        return do.train.fit(start, loss, ADAM, steps, key=KEY, checkpoints=kept)

    with jax.enable_x64(False):
        whole(1)
    with (
        jax.enable_x64(True),
        pytest.raises(
            do.train.CheckpointMismatchError,
            match=r"float32\[2\] in the checkpoint, .* jax.config.update\('jax_enable_x64', False",
        ),
    ):
        whole(2)


def test_numbers_are_functions_that_are_the_same_everywhere():
    constrained = do.nn.HardConstraint(NET, 0.5, lambda x: x[0])
    assert constrained(jnp.array([0.0, 0.3])) == 0.5
    begun = do.nn.InitialCondition(NET, 2)
    assert begun(jnp.array([0.3, 0.0])) == 2.0
    assert begun(X).dtype == X.dtype
    loss = do.losses.ResidualLoss(
        do.equations.Equation.linear(do.Laplacian(), 3), 4, probes="exact", points=BOX
    )
    np.testing.assert_allclose(loss(lambda x: x @ x, KEY), 1.0, rtol=1e-6)  # (4 − 3)²


def test_complex_numbers_stay_complex_at_real_points():
    with jax.numpy_dtype_promotion("standard"):
        u = do.nn.HardConstraint(lambda x: 1j * x[0], jnp.array(2j), 1)
        assert u(X) == 3j
    linear = do.equations.Equation.linear(do.Identity(), jnp.array(3 + 1j))
    assert linear.residual(jnp.array(5 + 0j), X) == 2 - 1j
    inlet = do.pde.Dirichlet(jnp.array(2j), on=BOX.face(0, "lower"))
    np.testing.assert_array_equal(inlet.draw(KEY, 3)[0].values, [2j] * 3)


def test_places_may_follow_the_value():
    by_place = do.pde.Robin(2.0, 1.0, 0.0, BOX.face(0, "lower"))
    assert by_place == do.pde.Robin(2.0, 1.0, 0.0, on=BOX.face(0, "lower"))


def test_conditions_take_points_that_are_given():
    fixed = do.equations.Condition(do.Identity(), jnp.ones((3, 2)), jnp.ones(3))
    drawn, given = do.pde.Conditions(do.pde.Dirichlet(0.0, BOX.boundary), fixed)(KEY, 5)
    assert given is fixed and drawn.points.shape == (5, 2)


def test_a_name_of_a_room_is_told_its_room():
    with pytest.raises(AttributeError, match="no attribute 'Box'; it is diffop.pde.Box$"):
        do.Box  # noqa: B018  # pyright: ignore


@pytest.mark.parametrize("operator", [do.Laplacian(), do.Value() ** 2])
def test_an_operator_divided_by_zero(operator):
    with pytest.raises(ZeroDivisionError, match="divided by a number that is not 0; got 0"):
        operator / 0.0  # noqa: B018


def test_a_network_of_another_size_is_told_at_which_points():
    with pytest.raises(TypeError, match="contracting dimensions") as info:
        do.Laplacian().exact(NET)(jnp.ones(3))
    assert "u fails with arguments of shape (3,)." in info.value.__notes__


class OfOneArgument(do.quadrature.AbstractRegion):
    def image(self, unit, x):  # pyright: ignore
        return unit, 1.0

    def draw(self, key, size, x):  # pyright: ignore
        return jax.random.uniform(key, (size,)), 1.0


NOTES = {
    r"u fails with arguments of shape \(\), which is one number: .* shape \(count, d\)\.": lambda: (
        do.equations.Condition(do.Identity(), jnp.ones(9), jnp.ones(9)).misfit(NET)
    ),
    r"u fails with arguments of shape \(3,\)\.": lambda: do.losses.ResidualLoss(
        EQUATION, None, probes="exact", points=jnp.ones((5, 3))
    )(NET, KEY),
    r"function of one point, net and not jax.vmap\(net\); it fails at a .* \(2,\)": lambda: (
        do.losses.score_matching(jax.vmap(NET), jnp.ones((5, 2)))
    ),
    r"the mapping of LaplaceBeltrami.embedded fails at a point of shape \(3,\)": lambda: exact(
        do.LaplaceBeltrami.embedded(of_other), u, jnp.ones(3)
    ),
    r"such as its coefficients, take the arguments of u, here 2 of shape \(2,\), \(\)": lambda: (
        exact(do.Integral(OfOneArgument()), of_two, X, T)
    ),
    r"a list is a pytree of numbers: for one array write jnp.array\(": lambda: do.Laplacian().exact(
        lambda x: jnp.ones(2) @ x
    )([0.1, 0.2]),
}


@pytest.mark.parametrize("words", NOTES)
def test_an_error_of_the_users_function_has_a_note(words):
    with pytest.raises((TypeError, ValueError)) as info:
        NOTES[words]()
    assert any(re.search(words, note) for note in info.value.__notes__), info.value.__notes__


def test_lists_are_points_and_values_of_conditions():
    condition = do.equations.Condition(do.Identity(), [[1.0, 2.0], [3.0, 4.0]], [2.0, 11.0])
    assert condition.misfit(u) == 0.5


def test_a_misspelt_name_is_told_the_nearest(capsys):
    """As Python tells it."""
    with pytest.raises(AttributeError) as info:
        do.Lapalcian  # noqa: B018  # pyright: ignore
    sys.__excepthook__(info.type, info.value, info.tb)
    said = capsys.readouterr().err
    assert "has no attribute 'Lapalcian'. Did you mean: 'Laplacian'?" in said
