"""The links of a built site: each leads to a file of the site and, past a #, to a place in it.

MkDocs checks those that are written in pages (`validation` in mkdocs.yml); here are also those that
the theme, the reference and generated files bring.
"""

import json
import pathlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def broken(site: pathlib.Path) -> Iterator[str]:
    """`page: link` for each link that leads nowhere, or out of the site without saying where."""
    root = site.resolve()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":  # shown anywhere, so its links begin at the server's root
            continue
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if target.is_dir():
                target /= "index.html"
            inside = target.is_relative_to(root) and target.is_file()
            place = unquote(address.fragment)
            if not inside or (place and target in pages and place not in pages[target].places):
                yield f"{path.relative_to(root)}: {link}"


def broken_in_notebooks(site: pathlib.Path, home: str) -> Iterator[str]:
    """`notebook: link` for each link that is neither a picture which the notebook draws, nor leads
    to a place in the site, whose address is `home`.
    """
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path in site.rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code, text = (
            "".join("".join(cell["source"]) for cell in cells if is_code == _is_code(cell))
            for is_code in (True, False)
        )
        for link in re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", text):
            address, _, place = link.removeprefix(home).partition("#")
            inside = link.startswith(home) and (site / address).is_file()
            here = not place or place in pages[site / address].places if inside else False
            if not here and f'savefig("{link}"' not in code:
                yield f"{path.relative_to(site)}: {link}"


def _is_code(cell: dict) -> bool:
    return cell.get("cell_type") == "code"
