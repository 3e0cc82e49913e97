"""What a release says of itself agrees; that it works is tried by `make dist`."""

import itertools
import pathlib
import re
import tomllib

import pytest

import diffop
from diffop.__main__ import main

ROOT = pathlib.Path(__file__).parents[2]


def test_the_changelog_begins_with_the_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == diffop.__version__


def test_the_version_has_one_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"] and "version" not in project
    for name in ("pyproject.toml", "CITATION.cff", "README.md", "mkdocs.yml"):
        assert f'"{diffop.__version__}"' not in (ROOT / name).read_text()
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def test_workflows_call_targets_that_there_are():
    makefile = (ROOT / "Makefile").read_text()
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for target in re.findall(r"run: make (\S+)", workflow.read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), workflow


def test_the_command_line_says_its_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"diffop {diffop.__version__}\n"


def test_one_lowest_jax_is_asked_for_and_documented():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = itertools.chain(*project["optional-dependencies"].values())
    wanted = itertools.chain(project["dependencies"], extras)
    found = [re.match(r"jax(?:lib|\[.*\])?>=(.*)", each) for each in wanted]
    (lowest,) = {each[1] for each in found if each}
    for page in ("README.md", "docs/index.md", "docs/how_to/faq.md"):
        said = re.findall(r"JAX(?: may be)? (\d+\.\d+\.\d+)", (ROOT / page).read_text())
        assert said and said[0] == lowest, page
