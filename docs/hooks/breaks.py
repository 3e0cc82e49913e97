"""What stays in one line: an option with its value, and in tables a number with its unit, and a
short name in the first column. Browsers break `1.8e-03` and `--learning-rate` at their hyphens.
"""

import re

_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"(<td[^>]*>)(.*?)(?=</td>)", re.DOTALL)
_TAG = re.compile(r"(<[^>]*>)")
_CODE = re.compile(r"(?<!<pre>)(?<!</span>)<code>([^<]*)</code>")
_NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_QUANTITY = re.compile(
    rf"\(?(?:(?:[<>≤≥]|&[lg]t;) )?{_NUMBER}(?: (?:ns|µs|ms|s|min|h|kB|MB|GB)\b|×|%)?(?: –)?\)?"
)
_OPTION = re.compile(r"--[a-z][^ ]*(?: (?!--)[^ ]+)*")
_SHORT = 34
"""How many characters of a name stay in one line."""


def on_page_content(content: str, **_) -> str:
    """Called by MkDocs with the HTML of each page."""
    content = _ROW.sub(lambda row: _marked(row[0]), content)
    return _CODE.sub(_with_options, content)


def _marked(row: str) -> str:
    count = 0

    def cell(match: re.Match) -> str:
        nonlocal count
        count += 1
        start, inside = match.groups()
        if "<math" in inside:
            return match[0]
        if "<code" in inside:
            return start + (_CODE.sub(_name, inside) if count == 1 else inside)
        return start + "".join(
            part if _TAG.fullmatch(part) else _QUANTITY.sub(lambda found: _whole(found[0]), part)
            for part in _TAG.split(inside)
        )

    return _CELL.sub(cell, row)


def _name(code: re.Match) -> str:
    return f'<code class="whole">{code[1]}</code>' if len(code[1]) <= _SHORT else code[0]


def _with_options(code: re.Match) -> str:
    return f"<code>{_OPTION.sub(lambda option: _whole(option[0]), code[1])}</code>"


def _whole(text: str) -> str:
    """The text, marked if a browser could break it."""
    return f'<span class="whole">{text}</span>' if re.search("[ -]", text) else text
