"""Columns and pairs: total variation against rows counted one by one, chance against simulated samples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.pairs import MISSING, MOST_GROUPS, OTHERS, Cut, chance_variation, cut, differences, join
from alphasynth.evaluation.values import read_records
from alphasynth.raking.cells import Cells
from alphasynth.tables.declared import Declared

REGIONS = ("n", "e", "s", "w")
TOWNS = tuple(f"t{i:02d}" for i in range(14))
DECLARED = {
    "region": Declared(levels=REGIONS),
    "town": Declared(levels=TOWNS, missing="model"),
    "age": Declared(limits=(0.0, 99.0), whole=True),
    "income": Declared(limits=(0.0, 1_000.0), skewed=True, missing="model"),
    "rate": Declared(levels=(0.5, 0.1, 2.0)),
    "owner": Declared(levels=(False, True)),
    "since": Declared(limits=(0.0, 100.0), whole=True, dates=True),
}


def people(n, seed):
    rng = np.random.default_rng(seed)
    income = np.minimum(rng.exponential(60, n), 1_000.0)
    return pd.DataFrame(
        {
            "region": rng.choice(REGIONS, n, p=[0.4, 0.3, 0.2, 0.1]),
            "town": pd.Series(rng.choice(TOWNS, n)).mask(rng.random(n) < 0.1),
            "age": rng.integers(0, 100, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, income),
            "rate": rng.choice([0.1, 0.5, 2.0], n),
            "owner": rng.random(n) < 0.3,
        }
    )


def records(frame):
    return read_records(frame, list(frame), {n: d for n, d in DECLARED.items() if d.missing})


FRAMES = [people(300, 1), people(300, 2), people(200, 3)]
TABLES = [records(frame) for frame in FRAMES]


def block_of(name, value):
    """The block that a value of a row lies in, looked for cell by cell."""
    facts = DECLARED[name]
    cells = Cells.of(name, facts, facts.skewed)
    if pd.isna(value):
        return cells.blocks - 1
    if cells.levels:
        return cells.levels.index(value)
    inside = [i for i in range(len(cells.lower)) if cells.lower[i] <= value <= cells.upper[i]]
    return int(cells.block[inside[-1]])


def slow_variation(keys):
    """Mean over the tables of half the absolute differences of shares, from the keys of every row."""
    own = pd.Series(keys[0]).value_counts(normalize=True)
    others = [pd.Series(k).value_counts(normalize=True) for k in keys[1:]]
    return np.mean([own.sub(other, fill_value=0).abs().sum() / 2 for other in others])


def test_columns_are_those_of_rows_one_by_one():
    found = differences(DECLARED, TABLES[0], TABLES[1:])
    assert {one.names[0] for one in found.columns} == set(DECLARED) - {"since"}
    for one in found.columns:
        (name,) = one.names
        keys = [[block_of(name, value) for value in frame[name]] for frame in FRAMES]
        assert one.variation == pytest.approx(slow_variation(keys), abs=1e-12)
        shares = [np.bincount(k, minlength=len(one.labels[0])) / len(k) for k in keys]
        assert one.confidential == pytest.approx(shares[0], abs=1e-12)
        assert one.synthetic == pytest.approx(np.mean(shares[1:], axis=0), abs=1e-12)
    assert [one.variation for one in found.columns] == sorted((o.variation for o in found.columns), reverse=True)


def test_pairs_are_those_of_rows_one_by_one():
    """Groups of blocks are read off the labels of each pair."""
    found = differences(DECLARED, TABLES[0], TABLES[1:])
    names = [name for name in DECLARED if name != "since"]
    assert {one.names for one in found.pairs} == set(combinations(names, 2))
    columns = {one.names[0]: one for one in found.columns}
    for one in found.pairs:
        groups = [dict(enumerate(_groups(columns[name], one.labels[i]))) for i, name in enumerate(one.names)]
        keys = []
        for frame in FRAMES:
            codes = [[groups[i][block_of(name, v)] for v in frame[name]] for i, name in enumerate(one.names)]
            keys.append(list(zip(*codes, strict=True)))
        assert one.variation == pytest.approx(slow_variation(keys), abs=1e-12)
        assert one.confidential.shape == tuple(map(len, one.labels))
        assert max(one.confidential.shape) <= MOST_GROUPS
        for place, share in pd.Series(keys[0]).value_counts(normalize=True).items():
            assert one.confidential[place] == pytest.approx(share, abs=1e-12)
        assert one.synthetic.sum() == pytest.approx(1)


def _groups(column, labels):
    """The group of each block: that of its own label, or of the label whose numbers it lies between, or the others."""
    ends = {label: [float(part) for part in label.split(" to ")] for label in labels if _is_range(label)}
    for label in column.labels[0]:
        if label in labels:
            yield labels.index(label)
        elif _is_range(label):
            low = float(label.split(" to ")[0])
            yield max(i for i, other in enumerate(labels) if other in ends and ends[other][0] <= low)
        else:
            yield labels.index(OTHERS)


def _is_range(label):
    return label.replace(" to ", "").replace(".", "").replace("e-", "").isdigit()


def test_equal_tables_do_not_differ():
    found = differences(DECLARED, TABLES[0], [TABLES[0]])
    assert all(one.variation == 0 for one in (*found.columns, *found.pairs))
    assert all(one.chance > 0 for one in (*found.columns, *found.pairs))


def test_truth_values_that_came_back_as_text():
    """Files give them back as text; so do levels of numbers with their last digit off."""
    frame = pd.DataFrame({"owner": ["true", "false", "true"], "rate": [0.5, 0.1 + 1e-12, 2.0]})
    owner, rate = (Cells.of(name, DECLARED[name]) for name in ("owner", "rate"))
    table = read_records(frame, ["owner", "rate"])
    order = np.argsort(np.asarray(table.columns["rate"]))
    assert cut(rate, [table]).codes[0][order].tolist() == [0, 1, 2]
    assert cut(owner, [table]).codes[0][order].tolist() == [0, 1, 1]


def test_joined_groups_have_about_equal_shares_and_gaps_stay_alone():
    ends = np.stack([np.arange(31.0), np.arange(1, 32.0)], axis=1)
    whole = Cut("x", (*(f"b{i}" for i in range(31)), MISSING), np.concatenate([ends, [[np.nan] * 2]]), (np.arange(32),))
    shares = np.append(np.full(31, 0.8 / 31), 0.2)
    joined = join(whole, shares)
    assert len(joined.labels) == MOST_GROUPS
    assert joined.labels[-1] == MISSING
    sums = np.bincount(joined.codes[0], shares)
    assert sums[-1] == pytest.approx(0.2)
    assert np.ptp(sums[:-1]) <= 0.8 / 31 + 1e-12
    assert (np.diff(joined.codes[0]) >= 0).all()
    assert joined.ends[0, 0] == 0
    assert joined.ends[-2, 1] == 31
    assert joined.ends[1:-1, 0].tolist() == joined.ends[:-2, 1].tolist()
    # All rows in one block: groups without rows are not made.
    assert len(join(whole, np.eye(32)[3]).labels) < MOST_GROUPS


def test_the_rarest_levels_are_joined():
    levels = Cut("x", TOWNS, np.full((14, 2), np.nan), (np.arange(14),))
    shares = np.r_[np.full(5, 0.01), np.full(9, 0.95 / 9)]
    joined = join(levels, shares)
    assert joined.labels == (*TOWNS[5:], OTHERS)
    assert joined.codes[0].tolist() == [9] * 5 + list(range(9))
    assert join(levels, shares, most=14) is levels


@pytest.mark.parametrize(
    ("shares", "n", "rows"),
    [
        (np.full(4, 0.25), 500, 500),
        (np.r_[0.9, np.full(100, 0.001)], 200, 200),  # most cells have less than one row
        (np.array([0.999, 0.001]), 100, 100),
        (np.array([0.5, 0.3, 0.2]), 1_000, 250),
        (np.full(2, 0.5), 5, 5),
    ],
)
def test_chance_is_that_of_two_samples(shares, n, rows):
    """Simulated 40,000 times; the mean's own error is below a hundredth of it, the formula's a twentieth at worst."""
    rng = np.random.default_rng(1)
    times = 40_000
    one, other = rng.multinomial(n, shares, times) / n, rng.multinomial(rows, shares, times) / rows
    simulated = np.abs(one - other).sum(axis=1) / 2
    assert simulated.std() / times**0.5 < 0.01 * simulated.mean() + 1e-5
    tolerance = 0.05 if min(n, rows) < 50 else 0.02
    assert chance_variation(shares, n, rows) == pytest.approx(simulated.mean(), rel=tolerance)


def test_chance_of_many_rows_is_the_normal_one():
    shares = np.array([0.1, 0.2, 0.7])
    normal = np.sqrt(shares * (1 - shares) / (np.pi * 1e6)).sum()
    assert chance_variation(shares, 1e6, 1e6) == pytest.approx(normal, rel=1e-4)


def test_chance_of_tables_from_one_population():
    """Two halves of one population differ by chance: means over 15 pairs of columns, whose errors are below a tenth."""
    first, second = records(people(4_000, 5)), records(people(4_000, 6))
    found = differences(DECLARED, first, [second])
    ratio = np.mean([one.variation for one in found.pairs]) / np.mean([one.chance for one in found.pairs])
    assert ratio == pytest.approx(1, abs=0.15)
