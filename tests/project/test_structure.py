"""The rooms of the library, and what every public name owes its reader."""

import ast
import collections
import dataclasses
import functools
import inspect
import itertools
import pathlib
import re
import subprocess
import sys
import types
import typing

import equinox as eqx
import pytest

import diffop as do

SOURCE = pathlib.Path(do.__file__).parent
DOCS = pathlib.Path(__file__).parents[2] / "docs"

# Which rooms each room may import. Nobody imports upwards.
ARROWS = {
    "kernels": set(),
    "coefficients": {"kernels"},
    "algebra": set(),
    "taylor": {"kernels", "coefficients", "algebra"},
    "schemes": {"algebra"},
    "jets": {"algebra", "taylor", "schemes"},
    "probes": {"jets"},
    "quadrature": set(),
    "terms": {"algebra", "taylor", "schemes", "jets", "probes"},
    "estimators": {"kernels", "schemes", "jets", "probes", "terms"},
    "operators": {"quadrature", "schemes", "jets", "probes", "terms", "estimators"},
    "compat": {"taylor", "operators"},
    "equations": {"terms", "estimators", "operators"},
    "baselines": {"schemes", "jets", "probes", "terms", "estimators"},
    "parallel": set(),
    "storage": {"parallel"},
    "losses": {"terms", "estimators", "operators", "equations", "parallel"},
    "least_squares": {"kernels", "taylor", "equations", "losses"},
    "methods": {"equations", "losses", "least_squares"},
    "nn": {"terms", "estimators", "equations", "losses"},
    "pde": {
        *("kernels", "quadrature", "terms", "operators", "equations", "baselines", "losses"),
        *("methods", "nn"),
    },
    "runs": {
        *("terms", "operators", "equations", "parallel", "storage", "methods", "pde"),
        "baselines",
    },
    "train": {
        *("terms", "equations", "parallel", "storage", "losses", "least_squares", "methods"),
        *("nn", "pde", "runs", "baselines"),
    },
}


@functools.cache
def tree(path):
    return ast.parse(path.read_text("utf-8"))


def rooms_imported_by(path):
    """The rooms that the relative imports of a file in a room lead to."""
    depth = len(path.relative_to(SOURCE).parts)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [a.name for a in node.names]
            yield from (name for name in names if name in ARROWS)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            assert node.__dict__.get("level") or not any(n.split(".")[0] == "diffop" for n in names)


@pytest.mark.parametrize("room", ARROWS)
def test_imports_point_one_way(room):
    for path in (SOURCE / room).rglob("*.py"):
        assert set(rooms_imported_by(path)) - {room} <= ARROWS[room], path


def test_files_have_plain_names():
    """A leading underscore protects nothing: the `__init__.py` of a room says what is public."""
    assert not list(SOURCE.rglob("_[a-z]*.py"))


# What takes long to import, and is used by few: imported where it is needed.
RARE = ("folx", "jax.experimental.sparse", "matplotlib", "orbax", "scipy")
LATER = (
    *("baselines", "compat", "equations", "least_squares", "losses", "methods", "nn", "parallel"),
    *("pde", "runs", "storage", "train"),
)


@pytest.fixture(scope="module")
def imported():
    """What is imported after each of some lines, one after the other, that Equinox and Optax do
    not import.
    """
    lines = (
        *("import diffop as do", "from diffop import pde"),
        "do.baselines, do.compat, do.nn, do.pde, do.train",
    )
    program = ["import sys, equinox, optax; before = set(sys.modules)"]
    program += [f"{line}; print(*sorted(set(sys.modules) - before))" for line in lines]
    command = [sys.executable, "-c", "\n".join(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split() for line in run.stdout.splitlines()]


def found(names, among):
    return [n for n in names if f"{n}.".startswith(tuple(f"{each}." for each in among))]


def test_what_is_rarely_needed_is_not_imported(imported):
    """diffop, with all its rooms, imports no more of others than Equinox and Optax do, nearly."""
    assert "diffop.train" in imported[2] and found(imported[2], RARE) == []


def test_rooms_are_imported_when_they_are_asked_for(imported):
    rooms = [f"diffop.{room}" for room in LATER]
    assert "diffop.operators" in imported[0] and found(imported[0], rooms) == []
    assert "diffop.pde.domains.ball" in imported[1] and "diffop.train" not in imported[1]
    assert {"do.losses", "do.methods"} <= {f"do.{name}" for name in dir(do)}


def public(module):
    """The public names of a module, with the objects behind them."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }


ROOMS = {"": do, "jets.": do.jets, "probes.": do.probes} | {
    f"{name}.": getattr(do, name)
    for name in (
        *("operators", "estimators", "quadrature", "kernels", "taylor", "schemes", "equations"),
        *("losses", "methods", "nn", "pde", "baselines", "train"),
    )
}
ROOMS |= {
    "compat.jet.": do.compat.jet,
    "compat.fwdlap.": do.compat.fwdlap,
    "compat.folx.": do.compat.folx,
    "compat.folx.api.": do.compat.folx.api,
    "compat.folx.ad.": do.compat.folx.ad,
}
SHARED = {"Jet", "estimate", "names", "paper"}
"""Names of several rooms, each of what its room is about."""

NAMES = {
    f"diffop.{room}{name}": value
    for room, module in ROOMS.items()
    for name, value in public(module).items()
}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_show_what_is_public_and_nothing_else(room):
    """In completion too; at the top what most people want, and the rooms."""
    module = ROOMS[room]
    if hasattr(module, "__all__"):
        assert set(public(module)) <= set(module.__all__)
        assert set(dir(module)) - {"__version__"} == set(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    else:
        assert room.startswith("compat.")


def test_the_top_is_short():
    operators = [name for name in do.__all__ if inspect.isclass(getattr(do, name))]
    functions = {name for name in do.__all__ if inspect.isfunction(getattr(do, name))}
    assert len(operators) <= 25
    assert functions == {"choose", "commutator", "estimate", "exact", "variance"}


def test_a_public_name_has_one_meaning():
    """And one place, but for the interfaces of other packages."""
    own = {name: value for name, value in NAMES.items() if "compat." not in name}
    last = [name.rsplit(".")[-1] for name in own]
    assert {name for name in last if last.count(name) > 1} <= SHARED


def test_functions_and_classes_have_names_of_their_own():
    """In all files, but for the interfaces of other packages, and two pairs of two rooms: a problem
    or a mesh that is made, and plain kernels or numbers.
    """
    homes = collections.Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    )
    several = {name for name, number in homes.items() if number > 1}
    assert several <= SHARED | {"Laplacian", "jet", "make", "plain"}


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_documented(name):
    assert (inspect.getdoc(NAMES[name]) or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_in_the_api_pages(name):
    pages = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))
    home = getattr(NAMES[name], "__module__", "")
    where = f"{home}.{name.rsplit('.')[-1]}"  # for names that hide a module
    assert shown & {name, where}, f"add '::: {name}' to a page in docs/api"


def signatures(value):
    """The types that a public name takes and returns, by function: what is called, and of a class
    its methods and properties, inherited ones of the library too.
    """
    if not inspect.isclass(value):
        return {"": typing.get_type_hints(inspect.unwrap(value))} if callable(value) else {}
    found = {}
    for cls in (each for each in value.__mro__ if each.__module__.startswith("diffop.")):
        for name, member in vars(cls).items():
            function = inspect.unwrap(getattr(member, "fget", None) or member)
            function = getattr(function, "__func__", function)
            is_public = not name.startswith("_") or name in ("__call__", "__init__")
            if is_public and isinstance(function, types.FunctionType):
                found[name] = typing.get_type_hints(function)
    is_record = dataclasses.is_dataclass(value)
    fields = (
        [f.name for f in dataclasses.fields(value)] if is_record else vars(value).get("_fields")
    )
    if fields:
        hints = typing.get_type_hints(value)
        found["fields"] = {name: hints[name] for name in fields if not name.startswith("_")}
    return found


def named_types(hint):
    """The classes in a type: those of unions, arguments and results."""
    inner = typing.get_args(hint)
    if inspect.isclass(hint) and not inner:
        yield hint
    for each in inner:
        yield from itertools.chain.from_iterable(
            map(named_types, each if isinstance(each, list | tuple) else [each])
        )


@pytest.mark.parametrize("name", NAMES)
def test_types_of_public_names_are_public(name):
    """Who subclasses or calls it can name all that it is about."""
    for member, hints in signatures(NAMES[name]).items():
        for parameter, hint in hints.items():
            for cls in named_types(hint):
                own = cls.__module__.startswith("diffop.")
                assert not own or any(cls is each for each in NAMES.values()), (
                    f"{name}.{member} has {parameter} of type {cls.__qualname__}: export it, or "
                    "take another one"
                )


MODULES = [
    name
    for name, value in NAMES.items()
    if inspect.isclass(value) and issubclass(value, eqx.Module)
]


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_abstract_or_final(name):
    cls = NAMES[name]
    assert inspect.isabstract(cls) or getattr(cls, "__final__", False), name


PRIVATE = re.compile(r"^\s*(?:import|from)\b.*\bjax\._src|\bjax import _src", re.MULTILINE)


def test_only_what_jax_declares_public_is_used():
    """But for what makes tests take less time where it is there, and nothing where it is not."""
    root = SOURCE.parents[1]
    for folder in ("src", "benchmarks", "examples", "tests"):
        for path in set((root / folder).rglob("*.py")) - {root / "tests" / "compiling.py"}:
            assert not PRIVATE.search(path.read_text("utf-8")), path
