"""Nearest-record distances: are synthetic rows nearer to the records they were made from than to others? Empirical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alphasynth.evaluation.values import is_numeric, plain
from alphasynth.tables.records import Records

MOST_ROWS = 5_000  # synthetic rows whose nearest records are looked for
MOST_REFERENCES = 100_000  # records among which they are looked for


@dataclass(frozen=True)
class Nearest:
    """Distances from synthetic rows to the nearest confidential record, and to the nearest of a holdout of equal size.

    `nearer` is the share of synthetic rows nearer to the confidential records, `ties` that of rows as near to both:
    where the synthesizer learnt the population and not the records, as many are nearer to the one as to the other.
    `copies` and `copies_holdout` are the shares of rows that equal one. Distances are in standard deviations of the
    confidential columns, a differing category counting 1.
    """

    nearer: float
    ties: float
    copies: float
    copies_holdout: float
    median: float
    median_holdout: float
    smallest: float
    smallest_holdout: float
    size: int


def nearest_distances(
    rng: np.random.Generator, confidential: Records, tables: Sequence[Records], holdout: Records
) -> Nearest:
    """Nearest-record distances of the tables' rows put together; `smallest` are 5 % quantiles.

    The larger of the two reference tables is cut to the size of the other, since the nearest of more is nearer.
    """
    from sklearn.neighbors import NearestNeighbors

    size = min(confidential.n, holdout.n, MOST_REFERENCES)
    references = [_cut(rng, records, size) for records in (confidential, holdout)]
    share = max(MOST_ROWS // len(tables), 1)
    queries = [_cut(rng, table, min(share, table.n)) for table in tables]
    coded = _coded(confidential, [*(r for r, _ in references), *(r for r, _ in queries)])
    weights = np.concatenate([counts[counts > 0] for _, counts in queries])
    kept = [rows[counts > 0] for rows, (_, counts) in zip(coded, [*references, *queries], strict=True)]
    points = np.concatenate(kept[2:])
    # A tree takes differences of coordinates; what scikit-learn does with many columns loses small distances.
    near, far = (
        NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(reference).kneighbors(points)[0][:, 0]
        for reference in kept[:2]
    )
    tied = np.isclose(near, far, rtol=1e-9, atol=1e-12)
    shares = [np.average(part, weights=weights) for part in (~tied & (near < far), tied, near == 0, far == 0)]
    quantiles = [np.quantile(np.repeat(d, weights), [0.5, 0.05]) for d in (near, far)]
    (median, smallest), (median_holdout, smallest_holdout) = quantiles
    nearer, ties, copies, copies_holdout = map(float, shares)
    return Nearest(
        nearer,
        ties,
        copies,
        copies_holdout,
        float(median),
        float(median_holdout),
        float(smallest),
        float(smallest_holdout),
        size,
    )


def _cut(rng: np.random.Generator, records: Records, size: int) -> tuple[Records, np.ndarray]:
    if size == records.n:
        return records, records.counts
    return records, rng.multivariate_hypergeometric(records.counts, size, method="marginals")


def _coded(scale: Records, tables: Sequence[Records]) -> list[np.ndarray]:
    """Rows as points: numbers in standard deviations, categories as corners at distance 1 of each other."""
    blocks = []
    ends = np.cumsum([table.size for table in tables])[:-1]
    for name, column in scale.columns.items():
        merged = np.concatenate([plain(table.columns[name]) for table in tables])
        if is_numeric(column):
            spread = np.sqrt(np.cov(np.asarray(column, np.float64), fweights=scale.counts))
            blocks.append((merged / (spread if spread > 0 else 1.0))[:, None])
        else:
            levels, codes = np.unique(merged, return_inverse=True)
            blocks.append((codes[:, None] == np.arange(len(levels))) / np.sqrt(2))
    return np.split(np.concatenate(blocks, axis=1), ends)
