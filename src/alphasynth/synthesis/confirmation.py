"""Facts of a model that were read off the table: which of them somebody confirmed as public, and which nobody did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from alphasynth.errors import InputError, gathering
from alphasynth.mechanisms.binding import check_declared
from alphasynth.models.column_model import CHOSEN, LEFT_OUT
from alphasynth.models.table_model import TableModel
from alphasynth.raking.columns import Columns
from alphasynth.tables.declared import OF_WHOLE_TABLES, READ_OFF
from alphasynth.tables.frames import shown

ALL = "all"
Facts = dict[str, list[str]]  # by column


class Marked(Protocol):
    """Columns of which some facts were read off the table: a `TableModel`, or `Columns`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not in it because of what they hold."""
        ...

    @property
    def read_off(self) -> Mapping[str, Sequence[str]]:
        """What was read off the table and nobody has confirmed, by column."""
        ...


def confirm(model: Marked | None, names: Sequence[str]) -> tuple[Facts, Facts]:
    """What these names confirm of a model's marks, and what is left; raise `InputError` for a name that is none.

    A name is a column's, or a column's with a fact (`age.limits`), or `all`.
    """
    if model is None:
        if names:
            raise InputError("confirm_public is for a table model, found one column without")
        return {}, {}
    asked = set[tuple[str, str]]()
    with gathering() as problems:
        for name in names:
            with problems:
                asked |= set(_meant(model, name))
    confirmed, left = Facts(), Facts()
    for column, facts in model.read_off.items():
        for fact in facts:
            (confirmed if (column, fact) in asked else left).setdefault(column, []).append(fact)
    return confirmed, left


def _meant(model: Marked, name: str) -> list[tuple[str, str]]:
    """Columns and facts that a name stands for."""
    known, every = (*model.names, *model.left_out), (*CHOSEN, *OF_WHOLE_TABLES, LEFT_OUT)
    if name == ALL:
        return [(column, fact) for column in known for fact in every]
    if name in known:
        return [(name, fact) for fact in every]
    column, _, fact = str(name).rpartition(".")
    if column not in known or fact not in every:
        raise InputError(
            f"confirm_public must be columns of the model (NAME, or NAME.FACT with one of {', '.join(every)}), or "
            f"{ALL}, found {name!r}"
        )
    return [(column, fact)]


def refuse(left: Facts) -> None:
    """Refuse, for a strict mechanism, facts that were read off the table and that nobody confirmed."""
    if left:
        raise InputError(
            f"a strict mechanism must rest on what somebody declared public, and not on what was read off the table: "
            f"check what the model lists under {READ_OFF}, and take it out of these lists or confirm it with "
            f"--confirm-public NAME,... or {ALL} (confirm_public), found {shown(list(left))} unconfirmed"
        )


def check_rest(rest: TableModel | Columns | None, names: Sequence[str], strict: bool) -> None:
    """What else a mechanism refuses of the columns of a file that could be read, where others could not."""
    if rest is None or not strict:
        return
    known = {*rest.names, *rest.left_out}
    asked = [name for name in names if name == ALL or known & {name, name.rpartition(".")[0]}]
    with gathering() as problems:
        with problems:
            refuse(confirm(rest, asked)[1])
        with problems:
            if isinstance(rest, TableModel):
                check_declared(rest, strict)
