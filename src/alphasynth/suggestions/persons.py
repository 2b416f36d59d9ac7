"""`persons`: columns of a model that seem to tell persons with several rows apart."""

from __future__ import annotations

from collections.abc import Sequence

from alphasynth.suggestions.identifiers import Identifier, identifier, of_unit
from alphasynth.suggestions.panels import panels
from alphasynth.suggestions.values import Values, read_values
from alphasynth.tables.grouping import Stored


def persons(table: Stored, names: Sequence[str]) -> dict[str, Identifier]:
    """Columns that seem to tell persons with several rows apart, by their counts or by those beside them."""
    values = {name: read for name in names if isinstance(read := read_values(table, name), Values)}
    found = dict[str, Identifier]()
    for name, read in values.items():
        known = identifier(name, read.counts, read.text) if read.tell_apart else None
        found |= {} if known is None or known.sure else {name: known}
    beside = [read.beside(name, name in found) for name, read in values.items()]
    for name, (why, counts) in panels(table, beside).items():
        found[name] = of_unit(name, counts, values[name].text, seen=why)
    return found
