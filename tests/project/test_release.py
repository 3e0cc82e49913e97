"""What a release says of itself agrees; that it works is tried by `make dist`."""

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
