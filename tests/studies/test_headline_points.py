"""The headline study where few databases come to an epsilon: what is shown, and that it is not compared."""

from __future__ import annotations

from alphasynth_studies.headline import curves, page, words
from alphasynth_studies.headline.measured import Database, Point


def database(error, *, at_four):
    """All are at 2, SW nowhere, those named at 4; one table errs so much."""
    points = {
        label: {e: Point(e, 0.5, error, 0.0, 0.0, 0.0, 1.0) for e in (2.0, 4.0) if e == 2.0 or label in at_four}
        for label in ("LW", "LW_final", "CW", "CW_final")
    }
    return Database(Point(30.0, 4.0, 0.9, 0.0, 0.0, 0.0), {**points, "SW": {}}, 8.0, 0.9)


def test_means_of_too_few_databases_stand_beside_how_many_they_are_of():
    """At 4: LW on two databases of three, the others on one; nothing is compared there, and it is said why."""
    found = [
        database(1.0, at_four=("LW", "LW_final", "CW", "CW_final")),
        database(1.2, at_four=("LW",)),
        database(1.4, at_four=()),
    ]
    results = curves.results_of(found, (2.0, 4.0))
    lines = {line[0]: line[2] for line in words.errors(results, "claimed").lines}
    alone = "1.00 on 1 of 3"
    assert lines == {
        "LW": "1.10 ± 0.20 on 2 of 3",
        "LW_final": alone,
        "CW": alone,
        "CW_final": alone,
        "SW": "not reached",
    }
    said = words.findings(results)[-1]
    assert "Nothing is compared at 4" in said
    assert "(on so many of 3 at 4: LW 2, LW_final 1, CW 1, CW_final 1, SW 0)" in said
    assert "it claims 30.00 on average" in said
    drawn = {mark.series: mark for mark in page.figure("mixture", "x", results).panels[0].marks}
    assert drawn["LW"].hollow.tolist() == [False, True]
    assert drawn["LW_final"].x.tolist() == [2.0]
    assert "SW" not in drawn


def test_where_all_are_compared_nothing_is_said():
    found = [database(error, at_four=("LW", "LW_final", "CW", "CW_final")) for error in (1.0, 1.2, 1.4)]
    results = curves.results_of(found, (2.0, 4.0))
    assert not [line for line in words.findings(results) if line.startswith("Nothing is compared")]
    assert not page.figure("mixture", "x", results).panels[0].marks[1].hollow.any()
