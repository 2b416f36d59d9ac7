"""What the site adds to the pages of docs/: the navigation, and two pages made from docstrings and the command line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import site_reference
from pygments.lexers.shell import BashLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MADE = {"reference": site_reference.names_page, "commands": site_reference.commands_page}
HEADING = re.compile(r"^#+ ")
FENCE = re.compile(r"^ *(```+|~~~+)")
COMMANDS = re.compile(r"^```console\n.*?^```", re.DOTALL | re.MULTILINE)
WIDE = 78  # characters that a command's line has room for
LINK = re.compile(r"\]\(([^()\s:#]+\.md)(#[^()\s]*)?\)")


def navigation(folder: Path) -> str:
    """The navigation as the directives that Sphinx reads, one for each section."""
    sections = tomllib.loads((folder / "navigation.toml").read_text())["section"]
    return "\n".join(
        "\n".join(["```{toctree}", ":hidden:", ":glob:", f":caption: {one['title']}", "", *one["pages"], "```", ""])
        for one in sections
    )


def one_title(text: str) -> str:
    r"""A page with one title: where there are several, all headings after the first go a level down.

    >>> one_title("# a\n# b\n## c\n```\n# d\n```")
    '# a\n## b\n### c\n```\n# d\n```'
    """
    lines, inside, seen = text.split("\n"), False, 0
    headings = []
    for number, line in enumerate(lines):
        inside ^= bool(FENCE.match(line))
        if not inside and HEADING.match(line):
            headings.append(number)
            seen += line.startswith("# ")
    for number in headings[1:] if seen > 1 else []:
        lines[number] = f"#{lines[number]}"
    return "\n".join(lines)


def as_files(text: str, page: Path, folder: Path) -> str:
    """Links to Markdown outside of the folder as links to files, which come with the site as they are."""

    def link(found: re.Match[str]) -> str:
        outside = not (page.parent / found[1]).resolve().is_relative_to(folder.resolve())
        return f"](path:{found[1]})" if outside else found[0]

    return LINK.sub(link, text)


def broken(text: str) -> str:
    r"""Commands in the lines that a shell takes for one, each no longer than it can help.

    >>> command = "alphasynth compare table.csv --columns columns.toml --epsilon 1,4 --delta 1e-9 --out league"
    >>> print(broken(f"```console\n{command}\n```"))
    ```console
    alphasynth compare table.csv --columns columns.toml --epsilon 1,4 --delta 1e-9 \
        --out league
    ```
    """
    return COMMANDS.sub(lambda found: "\n".join(map(_broken_line, found[0].split("\n"))), text)


def _broken_line(line: str) -> str:
    lines = [""]
    for part in re.split(r" (?=--\w)", line):
        if lines[-1] and len(lines[-1]) + len(part) > WIDE:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n".join(lines)


def fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Hand a page to Sphinx with what it holds on the site alone."""
    folder = Path(app.srcdir)
    text = as_files(one_title(source[0]), folder / f"{name}.md", folder)
    if name == app.config.root_doc:
        text = f"{text}\n\n{navigation(folder)}"
    if name in MADE:
        text = f"{text}\n\n{MADE[name]()}"
    source[0] = broken(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's way in."""
    app.connect("source-read", fill)
    app.add_lexer("console", BashLexer)  # our commands have no prompt before them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
