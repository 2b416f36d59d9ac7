"""The confidential page: everything that helps decide about a release, for those who hold the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from alphasynth.evaluation.risk import IdentificationRisk, MatchRates, identification_risk, mean_rates, paired_rates
from alphasynth.evaluation.utility import Utility, evaluate
from alphasynth.evaluation.values import QUANTILES, is_numeric, together, values_of
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.pages import figures, measures, page, verdict_section
from alphasynth.pages.coefficients import coefficient_intervals
from alphasynth.pages.marks import Figure
from alphasynth.pages.measures import Lines, is_vector
from alphasynth.privacy.accounting import epsilon_of
from alphasynth.tables.records import Records

# Shares of the value (relative); the paper leaves the radius to the owner of the data.
RADII = ((0.1, True), (0.2, True), (0.3, True))
BANNER = "CONFIDENTIAL. This page was computed from single records: do not publish it, or any number or figure on it."


WORDS = (
    ("the paper", "Savitsky, Hu and Williams on vector-weighted pseudo posterior mechanisms with re-weighting"),
    ("weight, alpha", "what a record's log-likelihood is multiplied by in the fit, from 0 to 1"),
    ("Lipschitz bound", "the largest weight times |log-likelihood| of a record over the posterior draws"),
    ("Delta, epsilon", "Delta is the largest bound of all records; epsilon per draw is twice Delta"),
    ("draw, m", "m draws of the model's parameters are released; each gives one or more synthetic tables"),
    ("k, scale", "numbers that rules take: re-weighting's factor, and what LW and CW multiply 1 - risk by"),
    ("q15, q90", "the 15th and 90th percentile"),
    ("effective draws, R-hat, k-hat", "diagnostics of the sampler; a run with draws outside their limits is refused"),
)


MOST_COLUMNS = 30  # whose values are drawn
OF_WEIGHTS = ("weight, alpha", "Lipschitz bound", "Delta, epsilon", "k, scale")


@dataclass(frozen=True, eq=False)
class Outcome:
    """A synthesizer as the page shows it (confidential): its weights, its tables, and what was measured.

    An earlier round of a mechanism has no tables.
    """

    weighting: Weighting | None
    label: str
    rules: tuple[str, ...] = ()
    tables: tuple[Records, ...] = field(default=(), repr=False)
    utility: Utility | None = None
    risks: tuple[IdentificationRisk, ...] = ()
    rates: tuple[tuple[str, MatchRates], ...] = ()


class Measuring(NamedTuple):
    """How tables are measured: as `evaluate` takes it; identification risk within radii, of rows alike in `known`.

    Columns `left_out` before are not compared.
    """

    draws: Sequence[int] | None = None
    regressions: Sequence[str] | None = None
    quantiles: Sequence[float] = QUANTILES
    public: Sequence[str] = ()
    scalar: float | str | None = None
    survey_weights: str | None = None
    radii: Sequence[tuple[float, bool]] = RADII
    known: Sequence[str] = ()
    left_out: Sequence[str] = ()


def measured(
    weighting: Weighting | None,
    label: str,
    rules: Sequence[str],
    records: Records,
    tables: Sequence[Records],
    how: Measuring,
    rates: Sequence[tuple[str, MatchRates]] = (),
) -> Outcome:
    """A synthesizer's tables, measured against the confidential records; risk is measured on their response."""
    utility = evaluate(
        records,
        tables,
        draws=how.draws,
        regressions=how.regressions,
        quantiles=how.quantiles,
        public=how.public,
        scalar=how.scalar,
        survey_weights=how.survey_weights,
    )
    utility = replace(utility, left_out=tuple(dict.fromkeys((*how.left_out, *utility.left_out))))
    numeric = is_numeric(records.columns[records.response]) and records.response not in records.dates
    risks = tuple(_risk_within(records, tables, *reach, how.known) for reach in how.radii) if numeric else ()
    return Outcome(weighting, label, tuple(rules), tuple(tables), utility, risks, tuple(rates))


def _risk_within(
    records: Records, tables: Sequence[Records], radius: float, relative: bool, known: Sequence[str]
) -> IdentificationRisk:
    return identification_risk(
        records,
        tables,
        column=records.response,
        radius=radius,
        relative=relative,
        known=[n for n in known if n in records.columns],
    )


def rates_of(
    records: Records, tables: Sequence[Records], known: Sequence[str], radii: Sequence[tuple[float, bool]] = RADII
) -> tuple[tuple[str, MatchRates], ...]:
    """Match rates of tables made by a model of the known columns."""
    if not known or not is_numeric(records.columns[records.response]) or records.response in records.dates:
        return ()
    found = []
    for reach in radii:
        rates = [rate for rate in (paired_rates(records, table, known, *reach) for table in tables) if rate is not None]
        found += [(measures.reach(*reach), mean_rates(rates))] if rates else []
    return tuple(found)


def build(
    title: str,
    records: Records,
    outcomes: Sequence[Outcome],
    guarantee: Sequence[page.Block] = (),
    banners: Sequence[str] = (),
    footer: str = "",
    claim: str = "What is claimed",
    more: Sequence[page.Section] = (),
    explained: Sequence[tuple[str, str]] = WORDS,
) -> page.Page:
    """The page of one run, its rounds being the outcomes, or of several synthesizers of one table.

    The verdict comes first. Sections that there are `more` of come before utility; words are `explained` at the end.
    """
    weightings = [o.weighting for o in outcomes if o.weighting is not None]
    shown = [o for o in outcomes if o.utility is not None]
    verdicts = {o.label: o.utility.judged(is_vector(o.rules)) for o in shown if o.utility is not None}
    sections = [verdict_section.section(verdicts)] if verdicts else []
    sections += [page.Section("guarantee", claim, tuple(guarantee))] if guarantee else []
    if weightings:
        sections.append(page.Section("weights", "Weights and Lipschitz bounds", _weights(weightings)))
    sections += more
    sections.append(page.Section("utility", "Utility", _utility(records, shown, weightings)))
    if any(o.risks for o in shown):
        sections.append(page.Section("risk", "Empirical risk", _risk(shown)))
    words = [pair for pair in explained if weightings or pair[0] not in OF_WEIGHTS]
    sections.append(page.Section("words", "Words", (page.facts(*words),)))
    return page.Page(title, tuple(sections), (BANNER, *banners), footer, exact=True)


def _weights(weightings: Sequence[Weighting]) -> tuple[page.Block, ...]:
    heads = ("synthesizer", "Delta", "epsilon per draw", "mean weight", "smallest weight", "records with weight 1")
    lines = [
        (
            w.label,
            page.bound(w.delta),
            page.bound(epsilon_of(w.delta)),
            w.mean_alpha,
            float(w.alpha.min()),
            int(w.counts[w.alpha == 1].sum()),
        )
        for w in weightings
    ]
    drawn = [
        figures.lipschitz_violins(weightings),
        figures.weight_violins(weightings),
        figures.lipschitz_against_weight(weightings),
        figures.weight_histograms(weightings),
    ]
    return (page.table("Weights; Delta and epsilon are rounded up", heads, lines, series=True), *_figures(drawn))


def _figures(drawn: Sequence[Figure | None]) -> list[page.Block]:
    return [page.figure_block(figure) for figure in drawn if figure is not None and figure.panels]


def _utility(records: Records, shown: Sequence[Outcome], weightings: Sequence[Weighting]) -> tuple[page.Block, ...]:
    utilities = {o.label: o.utility for o in shown if o.utility is not None}
    vector = {o.label: is_vector(o.rules) for o in shown}
    blocks: list[page.Block] = []
    if any(vector.values()):
        blocks.append(page.warning(measures.VECTOR_WEIGHTS))
    blocks += _lines(measures.statistic_lines(utilities, vector))
    response = records.response
    blocks += _figures([figures.statistic_violins({label: u.comparisons for label, u in utilities.items()})])
    if is_numeric(records.columns[response]) and _compared(response, utilities):
        confidential = values_of(records, response)
        synthetic = {o.label: together([values_of(table, response) for table in o.tables]) for o in shown}
        drawn = [
            figures.value_violins(response, confidential, synthetic, response in records.dates),
            figures.mean_densities(weightings, confidential.mean),
        ]
        blocks += _figures(drawn)
    blocks += _lines(measures.weighted_lines(utilities))
    blocks += _lines(measures.share_lines(utilities))
    others = [n for n, c in records.columns.items() if n != response and is_numeric(c) and _compared(n, utilities)]
    for name in others[:MOST_COLUMNS]:
        synthetic = {o.label: together([values_of(table, name) for table in o.tables]) for o in shown}
        blocks += _figures([figures.value_violins(name, values_of(records, name), synthetic, name in records.dates)])
    blocks += _lines(measures.distance_lines(utilities))
    blocks += _lines(measures.propensity_lines(utilities))
    blocks += _figures([figures.association_maps(label, u.associations) for label, u in utilities.items()])
    blocks += _lines(measures.association_lines(utilities))
    blocks += _lines(measures.coefficient_lines(utilities))
    blocks += _figures([coefficient_intervals({label: u.coefficients for label, u in utilities.items()})])
    return tuple(blocks)


def _compared(name: str, utilities: Mapping[str, Utility]) -> bool:
    return any(name in utility.distances for utility in utilities.values())


def _risk(shown: Sequence[Outcome]) -> tuple[page.Block, ...]:
    blocks = [
        page.text(
            "These figures describe the tables at hand. They are no part of the guarantee, and a low one is no proof"
            " of safety."
        )
    ]
    blocks += _lines(measures.risk_lines({o.label: o.risks for o in shown}))
    blocks += _figures([figures.risk_violins({o.label: o.risks for o in shown if o.risks})])
    blocks += _lines(measures.match_lines({o.label: o.rates for o in shown}))
    return tuple(blocks)


def _lines(found: Lines) -> list[page.Block]:
    """A table with its note, without leading columns that say the same in every line."""
    if not found.lines:
        return []
    heads, lines, series = found.heads, list(found.lines), True
    while len(heads) > 2 and heads[0] in ("synthesizer", "column") and len({line[0] for line in lines}) == 1:
        heads, lines, series = heads[1:], [line[1:] for line in lines], False
    blocks = [page.table(found.caption, heads, lines, series=series and heads[0] == "synthesizer")]
    return [*blocks, page.note(found.note)] if found.note else blocks
