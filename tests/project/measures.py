"""How much there is to read of the engine, in numbers that only go down.

python -m tests.project.measures

- code lines of its rooms and what is below, without blanks, comments, docstrings and imports;
- the way from `L.exact(u)(x)` of the Laplacian to the first rule: different named functions, and
  files;
- questions of which kind a coefficient is: `isinstance` with the class of one;
- fields of coefficients' classes;
- primitives of its own.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import diffop as do

from .way import of_the_laplacian

ROOT = Path(do.__file__).parent
ROOMS = ("algebra", "coefficients", "taylor", "schemes", "jets", "probes", "kernels")
BESIDE = (
    *("arrays.py", "record.py", "source.py", "notation.py", "connected.py", "kept.py"),
    "terms/products.py",
)
KINDS = {
    *("Full", "Image", "Blocks", "Block", "Axis", "Range", "Table", "Traced", "Zero"),
    "SecondMoment",
}
_EXPORTED = ("__all__", "__dir__")
_SKIPPED = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
)


def measures() -> dict[str, int]:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in _files()}
    calls = of_the_laplacian()
    return {
        "code lines": sum(map(_code_lines, trees)),
        "functions on the way": len({call for call in calls if not call.function.startswith("<")}),
        "files on the way": len({call.file for call in calls}),
        "isinstance of kinds": sum(map(_asks_of_kinds, trees.values())),
        "fields of coefficients": sum(map(_fields, trees.values())),
        "primitives": sum(map(_primitives, trees.values())),
    }


def _files() -> list[Path]:
    rooms = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return sorted([*rooms, *(ROOT / name for name in BESIDE)])


def _code_lines(path: Path) -> int:
    text = path.read_text("utf-8")
    left_out = set(_left_out(ast.parse(text)))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - left_out)


def _left_out(tree: ast.Module) -> Iterator[int]:
    """The lines of imports, of `__all__`, which lists them again, and of strings that stand by
    themselves: docstrings.
    """
    for node in ast.walk(tree):
        string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        names = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in _EXPORTED
        if string or names or isinstance(node, ast.Import | ast.ImportFrom):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _asks_of_kinds(tree: ast.Module) -> int:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    asked = [each for each in calls if ast.unparse(each.func) == "isinstance"]
    return sum(
        any(isinstance(name, ast.Name) and name.id in KINDS for name in ast.walk(each.args[1]))
        for each in asked
    )


def _fields(tree: ast.Module) -> int:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in KINDS]
    return sum(isinstance(line, ast.AnnAssign) for each in classes for line in each.body)


def _primitives(tree: ast.Module) -> int:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(ast.unparse(each.func) == "jex.Primitive" for each in calls)


def main() -> None:
    for name, number in measures().items():
        print(f"{number:>6,} {name}")


if __name__ == "__main__":
    main()
