"""The paper's statements: each is kept by some tables and broken by others; and the six synthesizers they are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alphasynth_studies import nb_mixture, salary
from alphasynth_studies.repeats import Plan, measure_all
from alphasynth_studies.statements import orders, shares
from alphasynth_studies.study import Asked
from alphasynth_studies.synthesizers import STATISTICS, measured, synthesize_all
from alphasynth_studies.tables import mixture_table


@pytest.fixture(scope="module")
def one():
    """A small table, measured."""
    return measured(synthesize_all(mixture_table(0, 200), 2, 11.0, 1))


def _changed(one, label, **numbers):
    return replace(one, paper={**one.paper, label: replace(one.paper[label], **numbers)})


def _with_error(one, label, name, error):
    estimates = {**one.paper[label].estimates, name: one.values[name] + error}
    return _changed(one, label, estimates=estimates)


CASES = [
    ("lower_bounds", lambda one: _changed(one, "SW", delta=1.0), lambda one: _changed(one, "SW", delta=99.0)),
    ("lw_best_control", lambda one: _changed(one, "LW", typical=1.0), lambda one: _changed(one, "LW", typical=0.0)),
    (
        "lw_more_efficient",
        lambda one: _changed(one, "CW", mean_alpha=0.0),
        lambda one: _changed(one, "CW", mean_alpha=1.0),
    ),
    ("cw_low_bounds", lambda one: _changed(one, "CW", low=1.0), lambda one: _changed(one, "CW", low=0.0)),
    (
        "lw_final_level",
        lambda one: _changed(one, "LW_final", spread=0.1),
        lambda one: _changed(one, "LW_final", spread=0.2),
    ),
    ("cw_final_leveller", lambda one: _changed(one, "CW", spread=9.0), lambda one: _changed(one, "CW", spread=0.0)),
    (
        "lw_weights_rise",
        lambda one: _changed(one, "LW_final", falling=0.0),
        lambda one: _changed(one, "LW_final", falling=0.1),
    ),
    (
        "cw_weights_rise",
        lambda one: _changed(one, "CW_final", falling=0.0),
        lambda one: _changed(one, "CW_final", falling=0.1),
    ),
    ("tail_lw", lambda one: _changed(one, "LW", tail=0.0), lambda one: _changed(one, "LW", tail=one.tail)),
    ("tail_cw", lambda one: _changed(one, "CW", tail=0.0), lambda one: _changed(one, "CW", tail=one.tail)),
    ("mu_nearer_lw", lambda one: _changed(one, "LW", mu=0.0), lambda one: _changed(one, "LW", mu=one.values["mean"])),
    ("mu_nearer_cw", lambda one: _changed(one, "CW", mu=0.0), lambda one: _changed(one, "CW", mu=one.values["mean"])),
    ("mu_gains_more_cw", lambda one: _changed(one, "CW", mu=0.0), lambda one: _changed(one, "LW", mu=0.0)),
    ("cw_gains_more", lambda one: _with_error(one, "CW", "mean", 99), lambda one: _with_error(one, "LW", "mean", 99)),
    ("lw_best", lambda one: _all_errors(one, CW=5, LW=1, SW=5), lambda one: _all_errors(one, CW=5, LW=3, SW=2)),
    *(
        (
            f"{stem.lower()}_final_delta",
            lambda one, stem=stem: _changed(one, f"{stem}_final", delta=0.95 * one.paper[stem].delta),
            lambda one, stem=stem: _changed(one, f"{stem}_final", delta=0.85 * one.paper[stem].delta),
        )
        for stem in ("LW", "CW")
    ),
    *(
        (
            f"{stem.lower()}_final_nearer_{name}",
            lambda one, stem=stem, name=name: _with_error(one, stem, name, -99),
            lambda one, stem=stem, name=name: _with_error(one, stem, name, 0),
        )
        for stem, names in (("CW", STATISTICS), ("LW", ("q90", "mean", "median")))
        for name in names
    ),
]


def _all_errors(one, **errors):
    for label, error in errors.items():
        for name in STATISTICS:
            one = _with_error(one, label, name, error)
    return one


def test_every_statement_has_a_case():
    assert sorted(name for name, *_ in CASES) == sorted(statement.name for statement in nb_mixture.STATEMENTS)
    assert [s.name for s in nb_mixture.STATEMENTS] == [s.name for s in salary.STATEMENTS]


@pytest.mark.parametrize(("name", "keeps", "breaks"), CASES, ids=[name for name, *_ in CASES])
def test_statements_are_kept_and_broken(one, name, keeps, breaks):
    statement = next(s for s in nb_mixture.STATEMENTS if s.name == name)
    assert statement.holds(keeps(one))
    assert not statement.holds(breaks(one))
    share = shares([statement], [keeps(one), breaks(one), breaks(one), breaks(one)])[name]
    assert (share["holds"], share["of"], share["share"]) == (1, 4, 0.25)
    assert share["standard_error"] == pytest.approx((0.25 * 0.75 / 4) ** 0.5)


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


def test_the_synthesizers_are_the_papers(one):
    """Settings that leave their traces: k, the scalar's rule, one epsilon for all."""
    assert one.paper["Unweighted"].mean_alpha == 1
    scalar = one.paper["LW"].delta / one.paper["Unweighted"].delta
    assert one.paper["SW"].mean_alpha == pytest.approx(scalar)
    assert all(made.delta <= 5.5 for made in one.equal.values())
    assert all(made.delta >= 5.5 * 0.99 for made in one.equal.values())


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
