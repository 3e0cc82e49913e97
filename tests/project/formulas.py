"""What a reader of the site sees as plain text: where a formula may have been left unset."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

SKIPPED = {"code", "pre", "math", "script", "style", "svg", "head", "nav"}
NAME = "doc-object-name"  # of what a heading of the reference documents
INLINE = {"em", "strong", "a", "span"}
UNSET = re.compile(
    r"\w\)?[_^][\w({\\]"  # u_t, e^(x)
    r"|[⁰¹²³⁴-⁹⁺⁻ᵃ-ᵛᵀⁿᵢ-ᵥⱼ](?!\w)"  # x², ∂ᵢ
    r"|[∂∇√∑Σ∫]"
    r"|\$\S"
)
LABELS = re.compile(r"^Δ²$|\bH₂")  # of what was measured


class _Text(HTMLParser):
    """The text of a page, line by line, without what is code or set."""

    def __init__(self):
        super().__init__()
        self.within: list[str] = []
        self.lines = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = NAME in (dict(attrs).get("class") or "")
        if self.within:
            self.within += [tag] if tag == self.within[0] else []
        elif named or tag in SKIPPED:
            self.within = [tag]
        elif tag not in INLINE:
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        if self.within[:1] == [tag]:
            self.within.pop()

    def handle_data(self, data: str) -> None:
        if not self.within:
            self.lines[-1] += data


def unset(page: str) -> Iterator[str]:
    """The lines of an HTML page that have a formula as plain text."""
    text = _Text()
    text.feed(page)
    for line in text.lines:
        if UNSET.search(LABELS.sub("", line.strip())):
            yield " ".join(line.split())
