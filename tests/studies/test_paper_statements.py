"""The paper's statements: each is kept by some tables and broken by others; and the six synthesizers they are about."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from alphasynth.evaluation.intervals import Interval
from alphasynth_studies import nb_mixture, salary
from alphasynth_studies.before_after import _interval, _synthesizer
from alphasynth_studies.repeats import Plan, _end_with, measure_all
from alphasynth_studies.statements import orders, shares
from alphasynth_studies.study import Asked
from alphasynth_studies.synthesizers import STATISTICS, measured, synthesize_all
from alphasynth_studies.tables import mixture_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def one():
    """A small table, measured."""
    return measured(synthesize_all(mixture_table(0, 200), 2, 11.0, 1))


def _changed(one, label, **numbers):
    return replace(one, paper={**one.paper, label: replace(one.paper[label], **numbers)})


def _with_error(one, label, name, error):
    estimates = {**one.paper[label].estimates, name: one.values[name] + error}
    return _changed(one, label, estimates=estimates)


def _errors(label, name, error):
    return lambda one: _with_error(one, label, name, error)


def _set(label, **numbers):
    return lambda one: _changed(one, label, **numbers)


def _final(stem):
    """What re-weighting is said to do, for one of the two."""
    after = f"{stem}_final"
    return [
        (f"{after.lower()}_nearer_largest", _set(after, typical=1.0), _set(after, typical=0.0)),
        (f"{after.lower()}_nearer_one", _set(after, mean_alpha=1.0), _set(after, mean_alpha=0.0)),
        (f"{stem.lower()}_weights_rise", _set(after, falling=0.0), _set(after, falling=0.1)),
        (f"{after.lower()}_nearer_mu", _set(stem, mu=0.0), lambda one: _changed(one, stem, mu=one.values["mean"])),
        (f"{after.lower()}_nearer_tail", _set(stem, tail=0.0), lambda one: _changed(one, stem, tail=one.tail)),
        (f"{after.lower()}_several_nearer", lambda one: _nearer(one, stem, 2), lambda one: _nearer(one, stem, 1)),
        (f"{after.lower()}_nearer_all", _errors(stem, "mean", 99), lambda one: _all_errors(one, **{stem: 0})),
        *(
            (f"{after.lower()}_nearer_{name}", _errors(stem, name, -99), _errors(stem, name, 0))
            for name in (STATISTICS if stem == "CW" else ("q90", "mean", "median"))
        ),
    ]


CASES = [
    ("lower_bounds", _set("SW", delta=1.0), _set("SW", delta=99.0)),
    ("lw_best_control", _set("LW", low=-1.0), _set("LW", low=1.0)),
    ("lw_mostly_high", _set("LW", low=0.49), _set("LW", low=0.5)),
    ("lw_more_efficient", _set("CW", mean_alpha=0.0), _set("CW", mean_alpha=1.0)),
    ("cw_low_bounds", _set("CW", low=1.0), _set("CW", low=-1.0)),
    ("lw_final_level", _set("LW_final", spread=0.1), _set("LW_final", spread=0.2)),
    ("cw_final_leveller", _set("CW", spread=9.0), _set("CW", spread=0.0)),
    ("lw_final_most_level", _set("CW_final", spread=9.0), _set("CW_final", spread=0.0)),
    ("mu_gains_more_cw", _set("CW", mu=0.0), _set("LW", mu=0.0)),
    ("cw_gains_more", _errors("CW", "mean", 99), _errors("LW", "mean", 99)),
    ("lw_best", lambda one: _all_errors(one, CW=5, LW=1, SW=5), lambda one: _all_errors(one, CW=5, LW=3, SW=2)),
    *_final("LW"),
    *_final("CW"),
]
STATEMENTS = {s.name: s for s in (*nb_mixture.STATEMENTS, *salary.STATEMENTS)}


def _all_errors(one, **errors):
    for label, error in errors.items():
        for name in STATISTICS:
            one = _with_error(one, label, name, error)
    return one


def _nearer(one, stem, several):
    """So many of the four statistics are nearer after re-weighting, and the others farther."""
    for number, name in enumerate(STATISTICS):
        one = _with_error(_with_error(one, stem, name, 2), f"{stem}_final", name, -1 if number < several else 3)
    return one


def test_every_statement_has_a_case():
    assert sorted(name for name, *_ in CASES) == sorted(STATEMENTS)


def test_only_what_the_paper_says_of_salaries_is_asked_of_them():
    """That every weight rises and that LW_final is nearer on each statistic is said of the mixture alone."""
    section_3, section_4 = ({s.name for s in made} for made in (nb_mixture.STATEMENTS, salary.STATEMENTS))
    assert section_4 - section_3 == {"lw_best"}
    assert {"lw_weights_rise", "cw_weights_rise", "lw_final_nearer_mean", "lw_more_efficient"} <= section_3 - section_4


@pytest.mark.parametrize(("name", "keeps", "breaks"), CASES, ids=[name for name, *_ in CASES])
def test_statements_are_kept_and_broken(one, name, keeps, breaks):
    statement = STATEMENTS[name]
    assert statement.holds(keeps(one))
    assert not statement.holds(breaks(one))
    share = shares([statement], [keeps(one), breaks(one), breaks(one), breaks(one)])[name]
    assert (share["holds"], share["of"], share["share"]) == (1, 4, 0.25)
    # Clopper and Pearson: 1 of 4.
    assert share["share_interval"] == pytest.approx([stats.beta.ppf(0.025, 1, 4), stats.beta.ppf(0.975, 2, 3)])


def test_claims_are_about_the_method_and_remarks_about_a_table():
    """What section 1.5 says of re-weighting; nothing else."""
    assert {s.name for s in nb_mixture.STATEMENTS if s.of_method} == {f"{s}_final_nearer_all" for s in ("lw", "cw")}
    assert not [s.name for s in salary.STATEMENTS if s.of_method]
    for statement in STATEMENTS.values():
        assert statement.said
        assert statement.expected.name == f"statements.{statement.name}.{'support' if statement.of_method else 'share'}"


def test_a_claim_is_asked_of_means_over_tables(one):
    """LW_final is better by 9 on one table and worse by 1 on three: on average it is better, on most tables not."""
    statement = STATEMENTS["cw_final_nearer_all"]
    tables = [_all_errors(one, CW=10, CW_final=1)] + [_all_errors(one, CW=1, CW_final=2)] * 3
    found = shares([statement], tables)["cw_final_nearer_all"]
    assert found["share"] == 0.25
    # Means of four resampled tables keep it unless the first is never drawn: 1 - 0.75^4 = 0.684, s.e. 0.015.
    assert found["support"] == pytest.approx(0.684, abs=0.075)
    assert shares([statement], tables[:1] * 2)["cw_final_nearer_all"]["support"] == 1


def test_errors_by_hand(one):
    """Errors of 1 to 4 in four statistics: as they are, in half widths of the data's intervals, as shares."""
    intervals = {name: Interval(0.0, 2.0 * number) for number, name in enumerate(STATISTICS, start=1)}
    values = {**one.values, **dict.fromkeys(STATISTICS, 10.0)}
    estimates = {name: 10.0 - error for error, name in enumerate(STATISTICS, start=1)}
    one = _changed(replace(one, intervals=intervals, values=values), "LW", estimates=estimates)
    assert [one.error("LW", name) for name in STATISTICS] == [-1, -2, -3, -4]
    assert one.loss("LW") == pytest.approx(1)
    assert one.relative_error("LW") == pytest.approx(0.25)


def test_intervals_by_hand(one):
    """Shifts are ours minus the data's; LW's 15th quantile is below the data's in the paper."""
    one = replace(one, intervals={**one.intervals, "q15": Interval(70.0, 74.0)})
    low, high = (
        _changed(one, "LW", intervals={**one.paper["LW"].intervals, "q15": interval})
        for interval in (Interval(69.0, 72.0), Interval(73.0, 79.0))
    )
    found = _interval([low, high, low], "LW", "q15")
    assert found["first_table"] == [69.0, 72.0]
    assert found["shift"]["mean"] == pytest.approx((-1.5 + 4 - 1.5) / 3)
    assert found["width"]["mean"] == pytest.approx(4)
    assert _interval([low, high], "data", "q15")["middle"]["mean"] == 72
    sign = nb_mixture._signs(SimpleNamespace(found=[low, high, low]))["LW"]["q15"]
    assert sign == {"paper": -1, "ours": 1, "share": pytest.approx(2 / 3)}


def test_numbers_over_tables_by_hand(one):
    """Errors of 1, 2 and 6: their mean, its standard error, the scatter, and the root mean squared error."""
    tables = [_with_error(one, "LW", "q90", error) for error in (1.0, 2.0, 6.0)]
    found = _synthesizer(tables, "LW", "paper")
    assert found["error"]["q90"] == pytest.approx({"mean": 3, "standard_error": (7 / 3) ** 0.5, "sd": 7**0.5})
    assert found["rmse"]["q90"] == pytest.approx((41 / 3) ** 0.5)


def test_every_table_has_a_seed_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr("alphasynth_studies.repeats.synthesize_all", lambda *args: seeds.append(args[-1]))
    for number in (0, 1, 2):
        Plan(_small_table, 2, None).detail(number)
    assert len(set(seeds)) == 3


def test_processes_end_with_their_parent(monkeypatch):
    """When the parent's number is no longer the one it was."""
    monkeypatch.setattr("os.getppid", iter([7, 7, 1]).__next__)
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    def leave(code):
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", leave)
    with pytest.raises(SystemExit):
        _end_with(7)


def test_orders_are_counted(one):
    tables = [
        _all_errors(one, LW=1, CW=2, SW=3),
        _all_errors(one, SW=1, LW=2, CW=3),
        _all_errors(one, LW=1, CW=2, SW=3),
    ]
    counted = orders(tables, "paper")
    assert counted.pop("LW < CW < SW") == 2
    assert counted.pop("SW < LW < CW") == 1
    assert set(counted.values()) == {0}


def test_statements_of_utility_are_asked_at_one_epsilon_too(one):
    """Unweighted has no epsilon to be aimed at and is left out there."""
    asked = [statement for statement in STATEMENTS.values() if statement.of_utility]
    found = shares(asked, [one], "equal")
    assert set(found["lw_best"]["means"]) == {"LW", "CW", "SW"}
    assert found["cw_final_nearer_all"]["means"]["CW"] == pytest.approx(one.loss("CW", "equal"))
    assert found["cw_final_nearer_all"]["means"]["CW"] != shares(asked, [one])["cw_final_nearer_all"]["means"]["CW"]


def test_without_an_epsilon_there_is_one_setting():
    assert synthesize_all(mixture_table(0, 100), 2, None, 1).equal == {}


def test_the_synthesizers_are_the_papers(one):
    """Settings that leave their traces: the scalar's rule, one epsilon for all."""
    assert one.paper["Unweighted"].mean_alpha == 1
    scalar = one.paper["LW"].delta / one.paper["Unweighted"].delta
    assert one.paper["SW"].mean_alpha == pytest.approx(scalar)
    assert all(made.delta <= 5.5 for made in one.equal.values())
    assert all(made.delta >= 5.5 * 0.99 for made in one.equal.values())


@pytest.mark.parametrize("label", ["Unweighted", "LW", "CW_final"])
def test_a_synthesizers_numbers_are_those_of_its_records(label):
    """Every number that is said of a synthesizer, from records and rows written out."""
    detail = synthesize_all(mixture_table(4, 150), 3, None, 2)
    made, said = detail.paper[label], measured(detail).paper[label]
    w = made.weighting
    alpha, before = np.repeat(w.alpha, w.counts), np.repeat(made.before.alpha, w.counts)
    bounds = np.repeat(w.lipschitz, w.counts) / w.lipschitz.max()
    tables = [np.repeat(table.values, table.counts) for table in made.tables]
    free = bounds[alpha < 1]
    spread = np.quantile(free, 0.95) - np.quantile(free, 0.05) if len(free) else 0.0
    assert said.delta == w.lipschitz.max()
    assert said.mean_alpha == pytest.approx(alpha.mean())
    assert (said.whole, said.small) == pytest.approx(((alpha == 1).mean(), (alpha < 0.5).mean()))
    assert (said.typical, said.low) == pytest.approx((np.median(bounds), (bounds < 0.5).mean()))
    assert said.spread == pytest.approx(spread)
    assert (said.rising, said.falling) == pytest.approx(((alpha > before).mean(), (alpha < before).mean()))
    assert said.mu == pytest.approx(w.mu.mean())
    assert said.tail == pytest.approx(np.mean([np.quantile(rows, 0.99) for rows in tables]))
    shares = {"q15": 0.15, "q90": 0.9, "median": 0.5}
    wanted = {name: np.mean([np.quantile(rows, share) for rows in tables]) for name, share in shares.items()}
    wanted |= {"mean": np.mean([rows.mean() for rows in tables]), "sd": np.mean([rows.std(ddof=1) for rows in tables])}
    assert said.estimates == pytest.approx(wanted)


@pytest.mark.parametrize("stem", ["LW", "CW"])
def test_re_weighting_is_the_papers(stem):
    """0.95 alpha Delta / Delta_i, at most 1, from the bounds of the round before; CW's weights by hand."""
    detail = synthesize_all(mixture_table(2, 200), 2, None, 1)
    made, first = detail.paper[f"{stem}_final"], detail.paper[stem]
    before = made.before
    assert np.array_equal(before.alpha, first.weighting.alpha)
    positive = before.alpha > 0
    wanted = 0.95 * before.alpha[positive] * before.delta / before.lipschitz[positive]
    assert made.weighting.alpha[positive] == pytest.approx(np.minimum(wanted, 1))
    if stem == "CW":
        y = np.repeat(detail.values.values, detail.values.counts)
        inside = np.array([np.mean(np.abs(y - v) <= 0.3 * v) for v in detail.values.values])
        assert before.alpha == pytest.approx(np.clip(1.5 * inside + 0.1, 0, 1))


def test_processes_find_what_one_process_finds(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan = Plan(_small_table, 2, 11.0)
    told = []
    alone = measure_all(Asked("toy"), plan, 4)
    together = measure_all(Asked("toy", tell=lambda *stage: told.append(stage), processes=2), plan, 4)
    assert alone == together
    assert told[-1] == ("table 4 of 4", 4, 4)


def _small_table(number):
    from alphasynth_studies.tables import mixture_table

    return mixture_table(number, 100)
