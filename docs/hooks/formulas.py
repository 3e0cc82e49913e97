"""Formulas as MathML: written in LaTeX, read by browsers without a script, a font or a network.

`pymdownx.arithmatex` finds them in a page, and marks them as `\\(…\\)` and `\\[…\\]`.
"""

import html
import re

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def on_page_content(content: str, **_) -> str:
    """Called by MkDocs with the HTML of each page."""
    content = _INLINE.sub(lambda match: _mathml(match[1], "inline"), content)
    return _DISPLAY.sub(lambda match: _mathml(match[1], "block"), content)


def _mathml(latex: str, display: str) -> str:
    return convert(html.unescape(latex).strip(), display=display)
