"""The examples in docstrings, and the values that their comments state.

    do.Laplacian().exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 6.0

A comment after a statement states what that evaluates to, or assigns, if it begins with a literal:
a number, a string, `True`, `False`, `None`, or a tuple, list or dictionary of them. There it ends,
or goes on after a comma or a colon, or with `up to rounding`. The sum that a number is may stand
before it: `12 + 48 = 60`. Any other comment is prose: `37 directions`.

The numbers of an array stand in brackets, its shape in parentheses. `…` is anything, and in a
sequence any number of items.
"""

import ast
import io
import pathlib
import re
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import diffop as do

from .pages import close

SOURCE = pathlib.Path(do.__file__).parent
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SUM = re.compile(r"^-?\d[\d. +·²]* = ")
END = re.compile("[,:]| up to rounding|$")


def examples() -> Iterator[tuple[str, str]]:
    """Of all docstrings of the library: where it stands, and its code."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for _, code in BLOCK.findall(ast.get_docstring(node) or ""):
                    yield f"{place}-{getattr(node, 'name', 'module')}", textwrap.dedent(code)


def compared(code: str) -> int:
    """Runs an example, and compares what its comments state with what comes out: how many."""
    stated = {line: value for line, text in _comments(code) if (value := literal(text))}
    names: dict[str, Any] = {}
    statements = ast.parse(code).body
    assert stated.keys() <= {each.end_lineno for each in statements}, f"within a statement:\n{code}"
    for statement in statements:
        value = _run(statement, names)
        promised = stated.get(statement.end_lineno or 0)
        assert promised is None or agrees(value, promised), (
            f"{ast.unparse(statement)} is {value!r}, and not {promised}"
        )
    return len(stated)


def _comments(code: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def _run(statement: ast.stmt, names: dict[str, Any]) -> Any:
    """What it evaluates to or assigns, or nothing."""
    shown = statement.value if isinstance(statement, ast.Expr) else None
    if shown is None:
        exec(compile(ast.Module([statement], []), "example", "exec"), names)
        if not isinstance(statement, ast.Assign):
            return None
        shown = ast.parse(ast.unparse(statement.targets[0]), mode="eval").body
    return eval(compile(ast.Expression(shown), "example", "eval"), names)


def literal(comment: str) -> str:
    """The one that a comment begins with; nothing if it is prose."""
    text = SUM.sub("", comment).replace("…", "...")
    beginnings = [text[: each.start()] for each in END.finditer(text)]
    return next(filter(_parsed, reversed(beginnings)), "")


def _parsed(text: str) -> ast.expr | None:
    try:
        node = ast.parse(text, mode="eval").body
        return None if ast.literal_eval(node) is ... else node
    except (SyntaxError, ValueError):
        return None


def agrees(value: Any, promised: str) -> bool:
    """Whether a value is what a literal says, its numbers to the digits that stand there."""
    node = ast.parse(promised, mode="eval").body

    def parts(nodes: list[ast.expr]) -> list[str]:
        return [ast.get_source_segment(promised, each) or "" for each in nodes]

    if isinstance(value, jax.Array | np.ndarray | np.generic):
        value = value.shape if isinstance(node, ast.Tuple) else np.asarray(value).tolist()
    if isinstance(node, ast.Tuple | ast.List):
        return isinstance(value, tuple | list) and _all_agree(list(value), parts(node.elts))
    if isinstance(node, ast.Dict):
        names = [ast.literal_eval(key) for key in node.keys if key]
        return (
            isinstance(value, dict)
            and value.keys() == set(names)
            and _all_agree([value[name] for name in names], parts(node.values))
        )
    constant = ast.literal_eval(node)
    if isinstance(value, float) and type(constant) in (int, float):
        return close(str(value), promised if "." in promised else f"{promised}.0000", 0.5)
    return constant is ... or (type(value) is type(constant) and value == constant)


def _all_agree(values: list[Any], promised: list[str]) -> bool:
    """The items of a sequence, where `...` is any number of them."""
    if "..." in promised and len(values) >= len(promised) - 1:
        first = promised.index("...")
        rest = len(values) - (len(promised) - 1 - first)
        values = values[:first] + values[rest:]
        promised = promised[:first] + promised[first + 1 :]
    return len(values) == len(promised) and all(map(agrees, values, promised))
