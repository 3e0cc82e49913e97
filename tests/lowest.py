"""Prints the lowest versions that `pyproject.toml` allows, as constraints for pip.

python tests/lowest.py > constraints.txt
"""

import pathlib
import re
import tomllib

PROJECT = pathlib.Path(__file__).parents[1] / "pyproject.toml"


def lowest() -> list[str]:
    """`name==version` for each `name>=version` of the library and of what training needs."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["train"]]
    pairs = [re.fullmatch(r"([A-Za-z0-9_-]+)>=([\d.]+)", each) for each in wanted]
    assert all(pairs), "a dependency has no lower bound"
    return [f"{pair[1]}=={pair[2]}" for pair in pairs if pair]


if __name__ == "__main__":
    print("\n".join(lowest()))
