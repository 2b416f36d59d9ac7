"""Cards for notebooks: a head, facts, tables, lists. Everything that is not `Html` already is escaped.

Styles stand in the elements and colours are inherited: a card has no script, no id and no style sheet, and suits light
and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

CARD = "border:1px solid rgba(128,128,128,.45);border-radius:4px;padding:.5em .9em .7em;max-width:56em;line-height:1.4"
MARK = "border:1px solid currentColor;border-radius:3px;padding:0 .4em;margin-left:.6em;font-size:85%"
CELL = "text-align:left;vertical-align:top;padding:.1em 1em .1em 0;border:0;background:none;color:inherit;{}"
FAINT = "opacity:.75"
CONFIDENTIAL = "confidential"
LONGEST = 400  # characters of one text: a name or a level may be as long as its table's owner likes


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: object) -> Html:
    """A value as markup: escaped, and cut where it is very long; markup stays as it is.

    >>> text("a < b"), text(Html("<b>b</b>"))
    ('a &lt; b', '<b>b</b>')
    """
    if isinstance(value, Html):
        return value
    said = str(value)
    return Html(escape(said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"))


def element(name: str, style: str, *inside: object) -> Html:
    """An element with a style and what is inside.

    >>> element("b", "color:red", "x & y")
    '<b style="color:red">x &amp; y</b>'
    """
    return Html(f'<{name} style="{escape(style)}">{"".join(map(text, inside))}</{name}>')


def card(title: str, *parts: object, mark: str = "") -> Html:
    """A card: its title, a mark beside it, and its parts one below another."""
    beside = element("span", MARK, mark) if mark else ""
    head = element("div", "margin-bottom:.3em", element("b", "", title), beside)
    return element("div", CARD, head, *(part for part in parts if part))


def facts(named: Mapping[str, object]) -> Html:
    """Facts by name, a line each; those that are None are left out."""
    lines = ((element("span", FAINT, name), value) for name, value in named.items() if value is not None)
    return table((), list(lines))


def table(heads: Sequence[object], rows: Sequence[Sequence[object]]) -> Html:
    """A table, which scrolls by itself where it is too wide; without heads where there are none.

    >>> table(("a",), [("<x>",)]).count("&lt;x&gt;")
    1
    """
    head = [_line("th", "font-weight:normal;opacity:.75", heads)] if heads else []
    style = "border-collapse:collapse;border:0;margin:.2em 0;color:inherit"
    made = element("table", style, *head, *(_line("td", "", row) for row in rows))
    return element("div", "overflow-x:auto", made)


def _line(kind: str, style: str, cells: Sequence[object]) -> Html:
    return element("tr", "background:none;border:0", *(element(kind, CELL.format(style), cell) for cell in cells))


def sentences(said: Sequence[str]) -> Html:
    """Sentences or clauses, a line each."""
    return element("ul", "margin:.3em 0;padding-left:1.2em", *(element("li", "", one) for one in said))


def note(said: str) -> Html:
    """A sentence that stands back."""
    return element("div", FAINT + ";font-size:90%;margin-top:.3em", said)


def beside(*parts: Html) -> Html:
    """Parts one beside another, as far as there is room."""
    return element("div", "display:flex;flex-wrap:wrap;gap:.4em 1.4em;margin-top:.4em", *parts)
