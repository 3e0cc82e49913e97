"""Mistakes that users make: each is told in one sentence that says what to write, or is none."""

import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.__main__ import main

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY, X = jax.random.key(0), jnp.ones(2)
NET = eqx.nn.MLP(2, "scalar", 4, 1, activation=jnp.tanh, key=KEY)
BOX = do.pde.Box((0.0, 0.0), (1.0, 1.0))
EQUATION = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)
LOSS = do.losses.ResidualLoss(EQUATION, 4, probes="exact", points=BOX)
ADAM = optax.adam(1e-3)


def u(x):
    return x[0] * x[1]


def fit(loss=LOSS, optimiser=ADAM, steps=1, key=KEY):
    return do.train.fit(NET, loss, optimiser, steps, key=key)


def of_many(x):
    return jnp.sin(x[:, 0])


ALONE = r"the factor of one: expected %s \* do.Identity\(\), .* got %s alone"
OPTIMISER = r"fit expects an optimiser of optax, such as optax.adam\(1e-3\), .* got %s"
ONE_POINT = r"a function is called at one point, .*: write x\[0\]"
IN_ANSATZ = "PINN expects an ansatz that makes u of a network, such as the class .* got a %s"

MISTAKES = {
    "a number added": (lambda: do.Laplacian() + 1.0, TypeError, ALONE % ("1.0", "1.0")),
    "an array added": (
        lambda: do.Laplacian() + jnp.asarray(2.0) ** 2,
        TypeError,
        ALONE % ("4.0", "4.0"),
    ),
    "a number less": (lambda: 1 - do.Laplacian(), TypeError, ALONE % (1, 1)),
    "a function added": (lambda: do.Laplacian() + u, TypeError, ALONE % ("c", "c")),
    "a number added to a product": (
        lambda: do.Value() ** 3 - 1.0,
        TypeError,
        ALONE % ("1.0", "1.0"),
    ),
    "optimiser by name": (lambda: fit(optimiser="adam"), TypeError, OPTIMISER % "'adam'"),
    "learning rate alone": (lambda: fit(optimiser=1e-3), TypeError, OPTIMISER % "0.001"),
    "class of a method": (
        lambda: fit(optimiser=do.methods.GaussNewton),
        TypeError,
        OPTIMISER % r"GaussNewton itself; call it: GaussNewton\(…\)",
    ),
    "function that makes an optimiser": (
        lambda: fit(optimiser=optax.adam),
        TypeError,
        OPTIMISER % r"adam itself; call it: adam\(…\)",
    ),
    "optimiser with a line search": (
        lambda: fit(optimiser=optax.lbfgs()),
        TypeError,
        r"another loss at each step, .* or diffop.methods.LBFGS\(\)",
    ),
    "steps that are a float": (
        lambda: fit(steps=1e4),
        TypeError,
        "fit expects steps to be an integer, such as 10_000, got 10000.0 of type float",
    ),
    "seed as a key": (lambda: fit(key=0), TypeError, r"fit needs .* jax.random.key\(0\); got 0"),
    "loss of one argument": (
        lambda: fit(lambda model: model(X)),
        TypeError,
        r"loss of a model and a key, such as lambda model, key: …, got one of \(model\)",
    ),
    "equation as a loss": (
        lambda: fit(EQUATION),
        TypeError,
        r"such as diffop.losses.ResidualLoss\(equation, …\), got a Equation",
    ),
    "PINN at many points": (
        lambda: do.nn.PINN(NET, EQUATION)(jnp.ones((5, 2))),
        ValueError,
        r"one point, got arrays of shape \(5, 2\); .* write jax.vmap\(pinn\)\(points\)",
    ),
    "PINN the other way around": (
        lambda: do.nn.PINN(EQUATION, NET),
        TypeError,
        "PINN expects a diffop.equations.Equation, .* got a MLP",
    ),
    "network in its ansatz as the ansatz": (
        lambda: do.nn.PINN(NET, EQUATION, ansatz=do.nn.ZeroOnUnitSphere(NET)),
        TypeError,
        IN_ANSATZ % "ZeroOnUnitSphere",
    ),
    "constraint as the ansatz": (
        lambda: do.nn.PINN(NET, EQUATION, ansatz=do.nn.HardConstraint(NET, u, u)),
        TypeError,
        IN_ANSATZ % "HardConstraint",
    ),
    "ansatz twice": (
        lambda: do.nn.PINN(do.nn.ZeroOnUnitSphere(NET), do.pde.ManyBody("poisson", 2, 2, key=KEY)),
        ValueError,
        "a network without its ansatz .* got a ZeroOnUnitSphere, which would be applied twice",
    ),
    "value of a network as a network": (
        lambda: do.nn.HardConstraint(NET(X), u, u),
        TypeError,
        r"HardConstraint expects a network, .* got an array of shape \(\)",
    ),
    "text as a value": (
        lambda: do.nn.HardConstraint(NET, "zero", u),
        TypeError,
        r"expected a function of the point, such as lambda x: x\[0\], or a number, got 'zero'",
    ),
    "ends that are numbers": (
        lambda: do.pde.Box(0.0, 1.0),
        TypeError,
        r"such as Box\(\(0.0,\), \(1.0,\)\) for an interval, got 0.0",
    ),
    "interval of time": (
        lambda: do.pde.SpaceTime(BOX, (0, 1)),
        TypeError,
        r"a duration that is a number, such as 1.0 for 0 ≤ t ≤ 1, got \(0, 1\); time begins at 0",
    ),
    "no space": (
        lambda: do.pde.SpaceTime((0, 1), 1.0),
        TypeError,
        r"SpaceTime expects a domain of space, such as diffop.pde.Box.* got \(0, 1\)",
    ),
    "condition at given points": (
        lambda: do.pde.Dirichlet(0.0, jnp.ones((3, 2))),
        TypeError,
        r"got an array of type float32 and shape \(3, 2\); at points that are given it is a diff",
    ),
    "part before the value": (
        lambda: do.pde.Dirichlet(BOX.boundary, 0.0),
        TypeError,
        "a condition expects numbers, arrays or functions of the point for its values, got Faces",
    ),
    "points and values among conditions": (
        lambda: do.pde.Conditions((jnp.ones((3, 2)), jnp.ones(3))),
        TypeError,
        r"for points that are given diffop.equations.Condition\(operator, points, values\), got \(",
    ),
    "u of many points": (
        lambda: do.Laplacian().exact(of_many)(X),
        IndexError,
        ONE_POINT,
    ),
    "source of many points": (
        lambda: do.losses.ResidualLoss(
            do.equations.Equation.linear(do.Laplacian(), of_many), 4, probes="exact", points=BOX
        )(NET, KEY),
        IndexError,
        ONE_POINT,
    ),
    "boundary value of many points": (
        lambda: do.pde.Dirichlet(of_many, BOX.boundary).draw(KEY, 3),
        IndexError,
        ONE_POINT,
    ),
    "exact of a network": (
        lambda: do.exact(NET),
        TypeError,
        r"expected an operator, such as do.Laplacian\(\), .* after them: do.exact\(ops\)\(u\)\(x\)",
    ),
    "setting by its initials": (
        lambda: do.train.Settings("poisson-cube", lr=1e-3),
        TypeError,
        r"nothing called lr \(nearest: learning_rate\); `diffop solve --help` lists all",
    ),
    "setting in American": (
        lambda: do.train.Settings("poisson-cube", optimizer="adam"),
        TypeError,
        r"nothing called optimizer \(nearest: optimiser\)",
    ),
    "problem by a dotted path": (
        lambda: do.train.Settings("mine.Transport"),
        ValueError,
        "a class of your own is module:Class, such as mine:Transport",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_mend(name):
    call, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message) as told:
        call()
    assert "\n" not in str(told.value)


OPTIONS = {
    ("--optimizer", "adam"): "unrecognized arguments: --optimizer adam (nearest: optimiser)",
    ("--lr", "1e-3"): "unrecognized arguments: --lr 1e-3 (nearest: learning-rate)",
    ("--out", "file/x"): "file is a file; name a directory that is under no file.",
}


@pytest.mark.parametrize("words", OPTIONS)
def test_mistakes_on_the_command_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
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


def test_a_misspelt_name_is_told_the_nearest():
    """As Python tells it."""
    command = [sys.executable, "-c", "import diffop as do; do.Lapalcian"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "has no attribute 'Lapalcian'. Did you mean: 'Laplacian'?" in said
