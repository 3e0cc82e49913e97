"""The README keeps its word: its examples run, its commands exist."""

import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DEMO = (ROOT / "docs" / "tutorials" / "whole_gradient.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def test_every_python_block_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, block in enumerate(blocks):
            exec(compile(block, f"README block {number}", "exec"), names)
    promised = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(blocks), re.MULTILINE)
    assert printed.getvalue().splitlines() == promised


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake (\w+)", README))))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_the_demo_is_the_command_that_is_shown():
    shown = re.search(r"python -m diffop (solve .*?--overwrite)", DEMO, re.DOTALL)
    made = re.search(r"^DEMO = (.*?[^\\])\n", MAKEFILE, re.DOTALL | re.MULTILINE)
    out = re.search(r"^OUT \?= (\S+)", MAKEFILE, re.MULTILINE)
    assert shown and made and out
    command = f"{made[1]} --out {out[1]} --overwrite"
    assert shown[1].replace("\\", "").split() == command.replace("\\", "").split()


def test_a_visitor_sees_code_soon():
    words = len(README[: README.index("```python")].split())
    assert words < 110, f"{words} words before the first line of code"
    code = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert sum(bool(line.strip()) for line in code[0].splitlines()) <= 12


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link
