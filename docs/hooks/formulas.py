"""Formulas, written in LaTeX and set as in a paper by the browser itself: MathML and a font for it.

`pymdownx.arithmatex` finds `$…$` and `$$…$$` in a page and in docstrings. What it finds becomes
MathML here, so the site needs no script, and screen readers and the clipboard know the formula.
MathML looks like a paper only with a font that has a table of mathematics: without one, exponents
float and blackboard letters are missing. STIX Two, which journals use, comes in the package
`ziamath`; KaTeX would need Node.js to build, or a script to read.

Docstrings are read in terminals, too. There `$∂_x² log F$` stands for `\\partial_x^2 \\log F`: the
letters are LaTeX's own, but raised and lowered characters are translated.
"""

import html
import importlib.resources
import io
import re
import unicodedata

from fontTools.ttLib import TTFont
from math_core import LatexToMathML
from mkdocs.structure.files import File

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
_FONT = ("ziamath.fonts", "STIXTwoMath-Regular.ttf")
_RAISED = re.compile("[⁰¹²³⁴-⁹⁺⁻⁽⁾ᵃ-ᵛᵀⁱⁿ′]+")
_LOWERED = re.compile("[₀-₎ₐ-ₜᵢ-ᵥⱼ]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_WORD_AS_INDEX = re.compile(r"(?<!\\)([_^])([A-Za-zα-ω]{2,}|\d{2,})")
_HAT = re.compile("(.)\u0302")
_ROOT = re.compile(r"√(\w+|\((?:[^()]|\([^()]*\))*\))")
_NAMES = re.compile(r"(?<![\\\w{])(log|exp|sin|cos|tanh|det|max|min)(?![\w}])")
_OPERATORS = re.compile(r"(?<![\\\w{])(tr|diag|Hess|Var|E|mean|sign)(?![\w}])")
# An exponent is raised by the height of its base, too much for a bracket or a hat (TeX does not).
_RAISED_BRACKET = re.compile(r"<(msup|msubsup)>(<mo[^>]*>[)\]|‖⟩]</mo>|<mover accent.*?</mover>)")
_converter = LatexToMathML()


def on_files(files, config):
    """Called by MkDocs with all files of the site: adds the font, packed for the web."""
    package, name = _FONT
    packed = io.BytesIO()
    with importlib.resources.files(package).joinpath(name).open("rb") as file:
        font = TTFont(file)
        font.flavor = "woff"
        font.save(packed)
    files.append(File.generated(config, "fonts/mathematics.woff", content=packed.getvalue()))
    return files


def on_page_content(content: str, **_) -> str:
    """Called by MkDocs with the HTML of each page."""
    content = _INLINE.sub(lambda match: _mathml(match[1], display=False), content)
    return _DISPLAY.sub(lambda match: _mathml(match[1], display=True), content)


def _mathml(latex: str, display: bool) -> str:
    text = _converter.convert_with_local_state(_as_latex(latex), displaystyle=display)
    return _RAISED_BRACKET.sub(r'<\1><mpadded height="0.6em">\2</mpadded>', text)


def _as_latex(formula: str) -> str:
    """`∂_x²u_xx = Σᵢ log xᵢ` as `∂_x^{2}u_{xx} = \\sum _{i} \\log  x_{i}`."""
    text = _THOUSANDS.sub("{,}", html.unescape(formula).strip())
    text = _WORD_AS_INDEX.sub(r"\1{\2}", text)
    text = _RAISED.sub(lambda match: f"^{{{_plain(match[0])}}}", text)
    text = _LOWERED.sub(lambda match: f"_{{{_plain(match[0])}}}", text)
    text = _HAT.sub(r"\\hat{\1}", text)
    text = _ROOT.sub(r"\\sqrt{\1}", text)
    text = (
        text.replace("½", r"\tfrac{1}{2}")
        .replace("·", r"\cdot ")
        .replace("Σ", r"\sum ")
        .replace("Δ", r"\Delta ")
    )
    text = text.replace("Π", r"\prod ").replace("∎", r"\square")
    return _OPERATORS.sub(r"\\operatorname{\1}", _NAMES.sub(r"\\\1 ", text))


def _plain(raised: str) -> str:
    return unicodedata.normalize("NFKC", raised)
