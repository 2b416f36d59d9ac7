"""What leads nowhere, or outside, in a built site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# A reader may follow a link to another place; nothing may be loaded from there.
FOLLOWED = "a"
LOADED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)")


class Link(NamedTuple):
    """A link: the tag that has it, and where it leads."""

    tag: str
    target: str


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and what it is called."""
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.append(Link(tag, value))
            if name == "id" and value:
                self.anchors.add(value)


def faults(site: Path) -> list[str]:
    """A sentence for each link of a site that leads nowhere, and for each thing that would be loaded from outside."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = [
        f"{path.relative_to(site)}: {fault}"
        for path, page in pages.items()
        for link in dict.fromkeys(page.links)
        for fault in faults_of(link, path, pages)
    ]
    for style in sorted(site.rglob("*.css")):
        found += [f"{style.relative_to(site)}: loads {one}" for one in LOADED_BY_STYLE.findall(style.read_text())]
    return found


def faults_of(link: Link, path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """What is wrong with a link of a page, if anything."""
    parts = urlsplit(link.target)
    if parts.scheme == "data":
        return
    if parts.scheme or parts.netloc:
        if link.tag != FOLLOWED or parts.scheme not in ("http", "https"):
            yield f"<{link.tag}> must stay within the site, found {link.target}"
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        yield f"a link must lead to a file, found {link.target}"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"a link must lead to an anchor of its page, found {link.target}"
