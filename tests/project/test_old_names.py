"""Old names: each warns, the page names each, and none outlives the release that it is promised."""

import ast
import functools
import importlib
import inspect
import pathlib
import pkgutil
import re

import diffop
from diffop import renamed
from diffop.__main__ import _parser

SOURCE = pathlib.Path(diffop.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "how_to" / "old_names.md"
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)`", re.MULTILINE)
CHANGE = re.compile(r"(.+) is (.+) now")


def modules():
    """All modules of the library."""
    names = (each.name for each in pkgutil.walk_packages([str(SOURCE)], "diffop."))
    return [diffop, *(importlib.import_module(name) for name in names if "__main__" not in name)]


def of_modules():
    for module in modules():
        for getter in vars(module).values():
            if not getattr(getter, "__qualname__", "").startswith("old_names."):
                continue
            inside = inspect.getclosurevars(inspect.unwrap(getter)).nonlocals
            for old, (new, _) in inside["names"].items():
                yield f"{module.__name__.replace('diffop', 'do', 1)}.{old}", new


def of_attributes():
    classes = {cls for module in modules() for cls in vars(module).values() if inspect.isclass(cls)}
    for cls in classes:
        for value in vars(cls).values():
            getter = getattr(value, "fget", None)
            if isinstance(getter, functools.partial) and getter.func is renamed._attribute:
                yield tuple(f"{cls.__name__}.{getter.keywords[which]}" for which in ("old", "new"))


def of_calls():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_of":
                if path.name != "renamed.py":
                    match = CHANGE.fullmatch(ast.literal_eval(node.args[0]))
                    assert match, "warn_of expects 'old is new now'"
                    yield match.groups()


def of_options():
    """Options that the help does not show."""
    (commands,) = (each for each in _parser()._actions if each.choices)
    for action in commands.choices["solve"]._actions:
        if action.help == "==SUPPRESS==":
            yield action.option_strings[0], "--probes"


def test_the_page_names_them_all():
    found = {*of_modules(), *of_attributes(), *of_calls(), *of_options()}
    assert len(found) > 20
    assert set(ROW.findall(PAGE.read_text(encoding="utf-8"))) == found


def test_nothing_warns_in_another_way():
    """So that the test above sees all of it."""
    files = [path.name for path in SOURCE.rglob("*.py") if "DeprecationWarning" in path.read_text()]
    assert files == ["renamed.py"]


def test_they_go_when_it_is_said():
    """A release that is named in warnings as the one without old names has none."""
    version = tuple(map(int, diffop.__version__.split(".")))
    assert version < tuple(map(int, renamed.GONE.split(".")))
    text = PAGE.read_text(encoding="utf-8")
    assert f"## Since {version[0]}.{version[1]}, gone in {renamed.GONE}\n" in text
