"""The headline study's part of docs/reproduction.md."""

from __future__ import annotations

from alphasynth_studies.headline.page import shown_tables
from alphasynth_studies.headline.study import HOW, MAXIMIZES, WORDS
from alphasynth_studies.headline.words import Results, Table, findings, overall
from alphasynth_studies.markdown import numbers_and_statements, picture, table
from alphasynth_studies.study import Study


def part(study: Study, results: Results) -> str:
    """What was measured and how, what came out in all, and of each table."""
    how = "\n".join(f"- {line}" for line in HOW)
    together = "\n".join(f"- {line}" for line in overall([results[name] for name in WORDS]))
    tables = "\n\n".join(_of_one(name, results[name]) for name in WORDS)
    return f"""# {study.title} ({study.place})

The abstract says that the new method “{MAXIMIZES}”; section 4.2 that “our proposed re-weighting strategy maximizes the
utility of any vector-weighted scheme, while maintaining an equivalent maximum Lipschitz bound”. The paper shows neither
over several epsilons; here they are asked at several.

{study.simulates} {study.runs}

{how}

What came out, by the error of one synthetic table, on the mixture and on salaries in dollars together (what the unit
of salaries and their zeros do to it is in the last table):

{together}

{tables}

## All numbers of the abstract

{numbers_and_statements(study, results)}"""


def _of_one(name: str, results: Results) -> str:
    lines = "\n".join(f"- {line}" for line in findings(results))
    tables = "\n\n".join(map(_table, shown_tables(results)))
    words = (
        f"Error of one synthetic table against claimed epsilon (left) and audited loss (right), {WORDS[name]}: means "
        f"over {results['databases']} databases ± two standard errors, in half widths of the data's 95 % intervals; "
        "points at the same place are drawn side by side; hollow: of fewer databases than nine in ten, and of half at "
        "least, not compared"
    )
    return f"""## Utility against epsilon: {WORDS[name]}

{picture(f"headline_{name}", words)}

{lines}

{tables}"""


def _table(made: Table) -> str:
    return f"{made.caption}:\n\n{table(made.heads, made.lines)}"
