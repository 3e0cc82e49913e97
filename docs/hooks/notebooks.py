"""Each tutorial as a notebook beside its page, and the scripts of `examples/`, for download.

They are made when the site is built, by Jupytext from the pages: their code is the pages' code,
which tests run, and their output is what the reader's machine says.
"""

import pathlib
import re

import jupytext
from mkdocs.structure.files import File
from nbformat.v4 import new_code_cell

OUTPUT = re.compile(r"^```text title=\"Output\"\n.*?^```\n", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
HEADING = re.compile(r"\A(# .*?\n)", re.DOTALL)
PREPARED = (
    "# pip install 'diffop-jax[train]'\n"
    "import pathlib\n\n"
    'pathlib.Path("pictures").mkdir(exist_ok=True)  # for those that are drawn below'
)
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def on_files(files, config):
    """Called by MkDocs with all files of the site."""
    for page in [file for file in files.documentation_pages() if is_tutorial(file)]:
        text = notebook(page.content_string)
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


def notebook(page: str) -> str:
    """A page as a notebook: what its blocks print is left out, and commands stay text."""
    text = MARK.sub("", OUTPUT.sub("", page)).replace("\n```sh\n", "\n```text\n")
    made = jupytext.reads(text, fmt="md")
    made.cells.insert(0, new_code_cell(PREPARED, id="prepared"))
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"  # the same in each build
    made.metadata = {"kernelspec": KERNEL}
    return jupytext.writes(made, fmt="ipynb")
