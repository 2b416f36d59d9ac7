"""Short help: the options that most people need, in groups, and all of them under --help-all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand

from alphasynth.catalogue import FAMILIES, MECHANISMS

ALL = "--help-all"
TABLE, PROMISE, OUT = "The table", "The promise", "What comes out"
# By command, what is shown and in which group; arguments are shown always.
SHOWN: dict[str, dict[str, str]] = {
    "synthesize": {
        **dict.fromkeys(("columns", "confirm_public", "formula", "family"), TABLE),
        **dict.fromkeys(("epsilon", "delta", "unit", "max_rows"), PROMISE),
        **dict.fromkeys(("m", "out"), OUT),
    },
    "audit": {
        **dict.fromkeys(("config", "columns", "formula", "family", "public"), TABLE),
        **dict.fromkeys(("epsilon", "mechanism", "audits", "canary", "neighbours"), PROMISE),
    },
    "compare": {
        **dict.fromkeys(("twin", "columns", "formula", "family"), TABLE),
        **dict.fromkeys(("epsilon", "delta", "mechanisms"), PROMISE),
        **dict.fromkeys(("repeats", "peer", "out"), OUT),
    },
    "tune": {
        **dict.fromkeys(("twin", "formula", "family", "range"), TABLE),
        **dict.fromkeys(("mechanism", "sweep"), PROMISE),
        **dict.fromkeys(("repeats", "out"), OUT),
    },
}
# Shorter words for options whose help lists what they may be.
SHORT = {
    "family": f"What the column is like: {', '.join(FAMILIES)}.",
    "mechanism": f"{', '.join(MECHANISMS)}; a strict one is chosen where none is named.",
}
MORE = f"All options, and what each choice means: {ALL}."
# What else a command takes that is often wanted: options that `inspect` was told, and others by their names alone.
BESIDE = {
    "synthesize": "As told to inspect: --delimiter, --encoding, --decimal-comma, --thousands, --header, --hive. "
    "Models: --model, --public, --mechanism."
}


class ShortHelp(TyperCommand):
    """A command whose --help shows the options that most people need."""

    everything = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take --help-all for a --help that hides nothing."""
        self.everything = ALL in args
        return super().parse_args(ctx, ["--help"] if self.everything else args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the command is as it was afterwards."""
        with self._shortened():
            super().format_help(ctx, formatter)

    @contextmanager
    def _shortened(self) -> Iterator[None]:
        if self.everything:
            yield
            return
        shown = SHOWN[self.name or ""]
        kept = [(p, dict(vars(p))) for p in self.params]
        said = self.epilog
        for parameter in self.params:
            if not hasattr(parameter, "hidden") or type(parameter).__name__ == "TyperArgument":
                continue
            parameter.hidden = parameter.name not in shown
            parameter.rich_help_panel = shown.get(parameter.name or "")  # type: ignore[attr-defined]
            parameter.help = SHORT.get(parameter.name or "", parameter.help)  # type: ignore[attr-defined]
        self.epilog = "\n\n".join([BESIDE.get(self.name or "", ""), MORE, said or ""]).strip()
        try:
            yield
        finally:
            self.epilog = said
            for parameter, before in kept:
                vars(parameter).update(before)
