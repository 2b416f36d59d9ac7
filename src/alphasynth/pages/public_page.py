"""The public page: what the tables are, what is promised, how to use them; from a `Release` and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.catalogue import MECHANISMS
from alphasynth.evaluation.values import is_numeric, present, read_records
from alphasynth.models.formula import Formula
from alphasynth.pages import page, public_verdict, whole_table
from alphasynth.pages.public_inputs import contribution_facts, contribution_tables, model_words
from alphasynth.pages.public_use import how_to_use
from alphasynth.privacy.accounting import counted, round_up
from alphasynth.privacy.guarantee import SPREAD, PublicGuarantee
from alphasynth.privacy.promises import scope_words
from alphasynth.privacy.scopes import STRICT, TARGET
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.statements import declared_gaps, shown_alone
from alphasynth.tables.declared import READ_OFF
from alphasynth.tables.frames import column_names
from alphasynth.tables.grouping import Stored
from alphasynth.tables.records import Records
from alphasynth.tables.text_cells import WORDS

OF_PARAMETERS = "Tables, and the draw of parameters that each came from"
SPREAD_DRAWS = (
    "about what noisy sums of the records' scores say, spread by the known size of that noise and by a weak public "
    "prior; there is no posterior"
)


def build(release: Release) -> page.Page:
    """The page of a release."""
    guarantee = release.guarantee
    made = synthetic_columns(release)
    tables = [read_records(table, made, declared_gaps(guarantee)) for table in release.tables]
    numbers = [name for name in made if is_numeric(tables[0].columns[name])]
    there = [name for name in numbers if all(present(table, name).any() for table in tables)]
    there = [name for name in there if name not in tables[0].dates] or there
    response = shown_alone(guarantee, there or made[:1])
    names = [f"table {i}" for i in range(1, len(tables) + 1)]
    if whole_table.is_whole(guarantee) and len(made) < len(guarantee.columns):  # of a large table one is at hand
        made = [str(entry["column"]) for entry in guarantee.columns]
    sections = [
        public_verdict.section(guarantee),
        page.Section("data", "What these data are", _data(release, tables, made)),
        page.Section("guarantee", "What is promised, and what is not", _guarantee(guarantee)),
        page.Section("use", "How to use them", how_to_use(release, names, tables, response)),
        page.Section("files", "Files", _files(release, names, tables)),
    ]
    banners = (
        []
        if guarantee.releasable
        else ["NOT FOR RELEASE: the random seed was fixed, so who guesses it can repeat the run."]
    )
    if guarantee.scope == TARGET:
        banners.append("FOR STUDY: drawn by Markov chains; no privacy is promised of these tables (scope: target).")
    return page.Page(
        f"Synthetic data: {listed(made)}",
        tuple(sections),
        tuple(banners),
        f"Made by alphasynth {guarantee.version} from the published tables and their guarantee alone.",
        guarantee.mechanism,
    )


def _files(release: Release, names: list[str], tables: list[Records]) -> tuple[page.Block, ...]:
    files = release.files or [""] * len(names)
    lines = [(n, file, draw, t.n) for n, file, draw, t in zip(names, files, release.draws, tables, strict=True)]
    return (
        page.text(
            "Beside these, guarantee.json says for programs what this page says; public inputs that stand here rounded "
            "stand there in full."
        ),
        *([page.text(f"In these files {WORDS}.")] if release.guarded else []),
        page.table(
            whole_table.FILES if whole_table.is_whole(release.guarantee) else OF_PARAMETERS,
            ("table", "file", "draw", "rows"),
            lines,
        ),
        *(() if release.parameters is None else _parameters(release.parameters)),
    )


def _parameters(said: Mapping[str, Any]) -> tuple[page.Block, ...]:
    """The file of the draws' parameters, and which of its columns is the coefficient of which term."""
    named = page.text(
        f"{said['file']} holds the draws of parameters that these tables were made from, a line for each, under the "
        "same promise."
    )
    terms = said.get("terms")
    if not isinstance(terms, dict) or not terms:
        return (named,)
    heads = (f"column of {said['file']}", "coefficient of")
    return (named, page.table("Coefficients, and their terms", heads, [(str(k), str(v)) for k, v in terms.items()]))


def synthetic_columns(release: Release) -> list[str]:
    """Columns that were synthesized, in the tables' order."""
    guarantee = release.guarantee
    made = [entry["column"] for entry in guarantee.columns] or [Formula.parse(guarantee.formulas[0]).response]
    table = release.tables[0]
    there = list(table.column_names) if isinstance(table, Stored) else column_names(table)
    return [name for name in there if name in made]


def modelled_by(guarantee: PublicGuarantee) -> tuple[str, ...]:
    """The formula of each column that was modelled; of a chain these may be more than were asked for."""
    return tuple(str(entry["formula"]) for entry in guarantee.columns) or guarantee.formulas


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a title or sentence."""
    head = ", ".join(names[:most])
    return head + (f" and {len(names) - most} more" if len(names) > most else "")


def _data(release: Release, tables: list[Records], made_columns: list[str]) -> tuple[page.Block, ...]:
    guarantee = release.guarantee
    public = ", ".join(guarantee.public_columns) or "none"
    limited = "each record's part in the fit being limited by a weight" if guarantee.rules else "without weights"
    if guarantee.scope in (STRICT, TARGET):
        limited = "what each record adds to the fit being bounded"
    made = (
        f"{_subject(made_columns)} synthetic: values were simulated by a statistical model fitted to "
        f"{guarantee.n:,} confidential records, {limited}. A simulated value can equal a real one by chance."
    )
    if whole_table.is_whole(guarantee):
        how = whole_table.MADE.format(n=guarantee.n)
        made = f"{_subject(made_columns)} synthetic: {how}. A synthetic row can equal a real one by chance."
    mechanism = MECHANISMS.get(guarantee.mechanism, "")
    return (
        page.text(f"{made} {_kept(guarantee, tables)}"),
        page.facts(
            ("model", _model(guarantee)),
            ("mechanism", guarantee.mechanism + (f" ({mechanism.split(';')[0]})" if mechanism else "")),
            _released(guarantee),
            *_weighted(guarantee),
            ("columns declared public", public),
        ),
        *_columns(guarantee),
    )


def _weighted(guarantee: PublicGuarantee) -> list[tuple[str, str]]:
    """What rows stand for, where survey weights say it."""
    if guarantee.weighted_by is None:
        return []
    if not guarantee.measured:
        return [("survey weights", f"{guarantee.weighted_by}; they weigh the log-likelihoods, and stand in the tables")]
    words = "rows have no weights and stand for the population: a plain mean of theirs estimates a weighted one"
    return [("survey weights", f"{guarantee.weighted_by}; {words}")]


def _released(guarantee: PublicGuarantee) -> tuple[str, str]:
    """How many tables there are, and draws that they came from."""
    if whole_table.is_whole(guarantee):
        return ("tables", whole_table.draws_words(guarantee))
    return ("draws of parameters", f"{guarantee.m:,}, each with {counted(guarantee.tables_per_draw, 'table')}")


def _subject(names: list[str]) -> str:
    return f"The column {names[0]} is" if len(names) == 1 else f"The columns {listed(names, 12)} are"


def _model(guarantee: PublicGuarantee) -> str:
    if whole_table.is_whole(guarantee):
        return whole_table.NO_MODEL
    if len(guarantee.columns) > 1:
        return f"a chain of {len(guarantee.columns)} models, each column generated from those before it"
    return model_words(guarantee, explained=True)


def _columns(guarantee: PublicGuarantee) -> list[page.Block]:
    """Models of a chain's columns, and what was declared public of them."""
    blocks = []
    if len(guarantee.columns) > 1 and not whole_table.is_whole(guarantee):
        lines = [(e["column"], e["formula"], e["family"], e["share_of_budget"]) for e in guarantee.columns]
        heads = ("column", "formula", "family", "part of the budget")
        blocks.append(page.table("Models of the columns; tables keep these relations and no others", heads, lines))
    if guarantee.declared_public:
        facts = [
            (name, "; ".join(f"{key} {_spoken(value)}" for key, value in fact.items() if key != READ_OFF))
            for name, fact in guarantee.declared_public.items()
        ]
        blocks.append(page.table("Declared public, and not covered by the guarantee", ("column", "what"), facts))
    for words, marks in (
        ("Read off the confidential table, and confirmed as public", guarantee.confirmed_public),
        ("Read off the confidential table, and declared by nobody", guarantee.read_off_the_table),
    ):
        said = [(name, _spoken(found).replace("_", " ")) for name, found in marks.items()]
        blocks += [page.table(words, ("column", "what"), said)] if said else []
    return blocks


def _spoken(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{code} = {word}" for code, word in value.items())
    if not isinstance(value, list | tuple):
        return str(value)
    said = [str(each) for each in value]
    apart = any("," in each or not each.strip() for each in said)  # which would run together
    return ", ".join(f'"{each}"' if apart else each for each in said)


def _kept(guarantee: PublicGuarantee, tables: list[Records]) -> str:
    """What can be said of the other columns."""
    if not guarantee.public_columns:
        return "There are no other columns."
    used = {name for text in modelled_by(guarantee) for name in Formula.parse(text).covariates}
    modelled = [name for name in guarantee.public_columns if name in used]
    left = [name for name in guarantee.public_columns if name not in modelled]
    words = "Columns declared public hold the confidential table's own values, which the guarantee does not cover"
    words += "; their rows were drawn anew, with replacement." if tables[0].n != guarantee.n else "."
    if modelled:
        relation = guarantee.formulas[0] if len(guarantee.columns) < 2 else "the formulas below"
        words += f" The tables keep the relation of {relation} as far as the model has it, and no other."
    if left:
        words += f" What is synthetic is unrelated to what is not in the model: {', '.join(left)}."
    return words


def _guarantee(guarantee: PublicGuarantee) -> tuple[page.Block, ...]:
    return (
        page.facts(
            ("policy budget, epsilon in all", guarantee.budget),
            ("kind of promise", scope_words(guarantee.scope, guarantee.policy_delta is not None)),
            ("neighbouring databases", guarantee.neighbours),
            ("unit of privacy", guarantee.unit),
            ("records", f"{guarantee.n:,}, a number treated as public"),
            *([] if whole_table.is_whole(guarantee) else [_draws(guarantee)]),
            *_strict_facts(guarantee),
        ),
        *contribution_tables(guarantee),
        *([whole_table.measured_table(guarantee), whole_table.measured_note()] if guarantee.measured else []),
        page.text("The promise in words, and its limits:"),
        page.items(*guarantee.clauses),
        page.note(f"In one sentence: {guarantee}"),
    )


def _draws(guarantee: PublicGuarantee) -> tuple[str, str]:
    """How many draws of the parameters there were to pick from, and what they are draws of."""
    if guarantee.combining == SPREAD:
        return ("draws of parameters to pick from", f"{guarantee.num_draws:,}, {SPREAD_DRAWS}")
    return ("posterior draws", f"{guarantee.num_draws:,}, by {guarantee.sampler}")


def _strict_facts(guarantee: PublicGuarantee) -> list[tuple[str, str]]:
    """What a strict promise comes to in other currencies, and the public inputs that it rests on."""
    if guarantee.scope != STRICT:
        return []
    concentrated = []
    if guarantee.rho is not None:
        concentrated = [("zero-concentrated privacy, rho", round_up(guarantee.rho))]
    if guarantee.smaller_at_delta is not None:
        concentrated.append((f"epsilon at delta {guarantee.delta:g}", round_up(guarantee.smaller_at_delta)))
    what = "a row" if guarantee.unit_column is None else "a unit"
    return [
        (f"epsilon when {what} is replaced", guarantee.replaced),
        *concentrated,
        *([] if whole_table.is_whole(guarantee) else contribution_facts(guarantee)),
    ]
