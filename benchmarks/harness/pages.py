"""Tables in pages: what stands between two marks is made from result files.

<!-- results: ablation/time-16 -->
| … |
<!-- end -->
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(r"(<!-- results: (?P<name>[^ ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The text of a page with its tables as they are now.

    **Raises:** `ValueError` naming a table that there is not.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in tables:
            near = difflib.get_close_matches(name, tables, n=3, cutoff=0.0)
            raise ValueError(f"there is no table {name!r}; the nearest are: {', '.join(near)}.")
        return f"{match[1]}\n{tables[name]}\n\n{match[3]}"

    return _BLOCK.sub(block, page)


def marked(root: Path) -> list[Path]:
    """The pages below `root` that have such marks."""
    pages = [root / "README.md", root / "benchmarks" / "README.md", *root.glob("docs/**/*.md")]
    return [page for page in pages if _BLOCK.search(page.read_text(encoding="utf-8"))]
