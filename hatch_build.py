"""What is known only where the package is built: the addresses of its repository.

They are those of the repository whose workflow builds it, as GitHub tells its name; links of the
README lead there, since pages of a package index have no files beside them. A build elsewhere knows
of no address and leaves links as they are.
"""

import os
import pathlib
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


class AddressesHook(MetadataHookInterface):
    """Sets `readme` and `urls`, which `pyproject.toml` leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = pathlib.Path(self.root, "README.md").read_text(encoding="utf-8")
        name = os.environ.get("GITHUB_REPOSITORY", "")
        metadata["urls"] = urls(name)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": linked(text, name, f"v{metadata['version']}"),
        }


def urls(name: str) -> dict[str, str]:
    """The addresses of the repository `owner/name`; none of one without a name."""
    if not name:
        return {}
    home = f"https://github.com/{name}"
    owner, _, project = name.partition("/")
    return {
        "Documentation": f"https://{owner}.github.io/{project}/",
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
    }


def linked(text: str, name: str, tag: str) -> str:
    """A page whose relative links and pictures lead into the repository `owner/name` at a tag."""

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match["picture"] else "blob"
        address = f"https://github.com/{name}/{kind}/{tag}/{match['path']}"
        return f"{match['picture']}[{match['text']}]({address})"

    return LINK.sub(link, text) if name else text
