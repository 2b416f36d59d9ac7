"""The headline study's part of docs/reproduction.md."""

from __future__ import annotations

from alphasynth_studies.headline.study import HOW, WORDS
from alphasynth_studies.headline.words import Results, Table, errors, findings, losses, overall, reweighting
from alphasynth_studies.markdown import numbers_and_statements, picture, table
from alphasynth_studies.study import Study


def part(study: Study, results: Results) -> str:
    """What was measured and how, what came out in all, and of each table."""
    how = "\n".join(f"- {line}" for line in HOW)
    together = "\n".join(f"- {line}" for line in overall([results[name] for name in WORDS]))
    tables = "\n\n".join(_of_one(name, results[name]) for name in WORDS)
    return f"""# {study.title} ({study.place})

The paper's abstract says that its weights maximize "the data utility under any privacy budget for the vector-weighted
synthesizers".

{study.simulates} {study.runs}

{how}

What came out, both tables together, by the error of one synthetic table:

{together}

{tables}

## All numbers of the abstract

{numbers_and_statements(study, results)}"""


def _of_one(name: str, results: Results) -> str:
    lines = "\n".join(f"- {line}" for line in findings(results))
    shown = [errors(results, "claimed"), errors(results, "audited"), losses(results), reweighting(results)]
    tables = "\n\n".join(map(_table, shown))
    words = f"Error against claimed epsilon and against audited loss: {WORDS[name]}"
    return f"""## Utility against epsilon: {WORDS[name]}

{picture(f"headline_{name}", words)}

{lines}

{tables}"""


def _table(made: Table) -> str:
    return f"{made.caption}:\n\n{table(made.heads, made.lines)}"
