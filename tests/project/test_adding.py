"""The changes that the documentation shows are all that is needed: each is made to a copy of the
library, and what stands behind it is run there.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import diffop as do

from .pages import DOCS, as_users_do

PAGE = (DOCS / "devdocs" / "adding.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^## (?P<title>.+?)\n.*?^```diff\n(?P<diff>.*?)^```\n\n^```py\n(?P<code>.*?)^```\n",
    re.DOTALL | re.MULTILINE,
)
CHANGES = {match["title"]: (match["diff"], match["code"]) for match in SECTION.finditer(PAGE)}
FILE = re.compile(r"^--- \S+\n\+\+\+ b/src/(?P<path>\S+)\n", re.MULTILINE)


def applied(diff, root):
    """Each hunk's old lines, which a file has once, become its new ones."""
    _, *parts = FILE.split(diff)
    for path, hunks in zip(parts[::2], parts[1::2], strict=True):
        file = root / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for hunk in hunks.split("@@\n")[1:]:
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            assert text.count(old) == 1 or not (old or text), f"{path} has not once\n{old}"
            text = text.replace(old, new) if old else new
        file.write_text(text, encoding="utf-8")


def test_there_is_one_of_each_kind():
    assert list(CHANGES) == ["A primitive", "A probe", "An operator", "A kernel", "A setting"]


def failures(source, directory):
    """Which of the examples fail with a library, in a process of its own."""
    lines = ["import jax, jax.numpy as jnp, diffop as do"]
    for title, (_, code) in CHANGES.items():
        lines += [f"try:\n    exec({code!r}, dict(globals()))"]
        lines += [f"except Exception as error:\n    print({title!r}, repr(error), sep=': ')"]
    run = [sys.executable, "-c", "\n".join(lines)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(run, capture_output=True, text=True, env=environment, cwd=directory)
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("title", CHANGES)
def test_they_do_not_run_without_the_changes(title):
    errors = (AssertionError, ImportError, TypeError, ValueError)
    with pytest.raises(errors), as_users_do():
        exec(CHANGES[title][1], {"jax": jax, "jnp": jnp, "do": do})


def test_the_changes_do_what_the_page_says(tmp_path):
    library = pathlib.Path(do.__file__).parent
    elsewhere, changed = tmp_path / "elsewhere", tmp_path / "changed"
    elsewhere.mkdir()
    shutil.copytree(library, changed / "diffop", ignore=shutil.ignore_patterns("__pycache__"))
    for diff, _ in CHANGES.values():
        applied(diff, changed)
    assert failures(changed, elsewhere) == {}
