"""Each tutorial as a notebook beside its page, and the scripts of `examples/`, for download.

They are made when the site is built, by Jupytext from the pages: their code is the pages' code,
which tests run, and their output is what the reader's machine says. A notebook is opened far from
its page, so its links lead to the site, or are left out if the site has no address (`site_url`).
"""

import pathlib
import posixpath
import re
from collections.abc import Callable
from urllib.parse import urljoin

import jupytext
from mkdocs.structure.files import File
from nbformat.v4 import new_code_cell

OUTPUT = re.compile(r"^```text title=\"Output\"\n.*?^```\n", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
HEADING = re.compile(r"\A(# .*?\n)", re.DOTALL)
PREPARED = "# pip install 'diffop-jax[train]'"
DRAWN = "pictures/"  # where a page has the pictures that its notebook draws beside itself
# `[text](page)`, `[text][name]` and `![text](picture)`, but none of them in code and formulas.
LINK = re.compile(
    r"```.*?^```|!?\[([^\]]+)\](?:\(([^)\s]+)\)|\[([^\]]*)\])|`[^`]*`|\$[^$]*\$", re.S | re.M
)
DOCUMENTED = re.compile(r"^::: (\S+)", re.MULTILINE)
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def on_files(files, config):
    """Called by MkDocs with all files of the site."""
    names = {
        name: f"{page.url}#{name}"
        for page in files.documentation_pages()
        for name in DOCUMENTED.findall(page.content_string)
    }
    for page in [file for file in files.documentation_pages() if is_tutorial(file)]:
        text = notebook(page.content_string, addresses(page, files, names, config.site_url))
        files.append(File.generated(config, target(page.src_uri), content=text))
    for script in sorted(EXAMPLES.glob("*.py")):
        content = script.read_text(encoding="utf-8")
        files.append(File.generated(config, f"examples/{script.name}", content=content))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:
    """Called by MkDocs with each page: a link to the notebook, below the heading."""
    if not is_tutorial(page.file):
        return markdown
    name = pathlib.PurePosixPath(target(page.file.src_uri)).name
    return HEADING.sub(rf"\1\n[This page as a notebook]({name}){{ download }}\n", markdown, count=1)


def is_tutorial(file: File) -> bool:
    """Whether a page has code that runs, and is among the tutorials."""
    return file.src_uri.startswith("tutorials/") and "\n```python\n" in file.content_string


def target(page: str) -> str:
    """Where the notebook of a page is."""
    return str(pathlib.PurePosixPath(page).with_suffix(".ipynb"))


def addresses(page: File, files, names, site: str | None) -> Callable[[str], str | None]:
    """What a link of a page is in its notebook: an address of the site, or itself, or None."""

    def address(link: str) -> str | None:
        if link.startswith(("https://", "#")):
            return link
        if link.startswith(DRAWN):
            return link.removeprefix(DRAWN)
        if site is None:
            return None
        if link in names:
            return urljoin(site, names[link])
        path, _, place = link.partition("#")
        file = files.get_file_from_path(posixpath.normpath(f"{page.src_uri}/../{path}"))
        return urljoin(site, file.url) + (f"#{place}" if place else "")

    return address


def notebook(page: str, address: Callable[[str], str | None] = lambda link: link) -> str:
    """A page as a notebook: what its blocks print is left out, and commands stay text.

    `address` says of each link where it leads, None for one that is left out.
    """
    text = MARK.sub("", OUTPUT.sub("", page)).replace("\n```sh\n", "\n```text\n")
    made = jupytext.reads(text, fmt="md")
    made.cells.insert(0, new_code_cell(PREPARED, id="prepared"))
    for number, cell in enumerate(made.cells):
        if cell["cell_type"] == "markdown":
            cell["source"] = LINK.sub(lambda match: _link(match, address), cell["source"])
        cell["id"] = f"cell-{number}"  # the same in each build
    made.metadata = {"kernelspec": KERNEL}
    return jupytext.writes(made, fmt="ipynb")


def _link(match: re.Match, address: Callable[[str], str | None]) -> str:
    """A link, or its text if it leads nowhere; code and formulas as they are."""
    text, target_, name = match.groups()
    if text is None:
        return match[0]
    leads = address(target_ or name or text.strip("`"))
    if leads is None:
        return text
    return f"{'!' * match[0].startswith('!')}[{text}]({leads})"
