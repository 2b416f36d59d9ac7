"""A run's draws as ArviZ takes them: a DataTree of posterior, log-likelihoods, records and weights (confidential)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import Bounded
from alphasynth.inference.density import log_liks_outside, outside
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.nuts import Nuts
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.inference.stan_sampler import StanSampler
from alphasynth.likelihoods.arviz import DRAWS, GROUP
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.mechanism import Trail
from alphasynth.mechanisms.rounds import round_labels
from alphasynth.models.model import Array, Columns, Model
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.records import Records

if TYPE_CHECKING:
    import xarray as xr

ByDraw = Callable[[np.ndarray], np.ndarray]
RECORD, TERM, ALPHA, RELEASED = "record", "term", "alpha", "released"
BY_DRAW = ("posterior", GROUP, "sample_stats")
MOST = 2**27  # numbers of all matrices together, a gigabyte


@in_64_bit
def tree_of(
    trail: Trail, bound: BoundTable, label: str | None, picked: np.ndarray, log_likelihood: bool
) -> xr.DataTree:
    """The draws of the round of that label, or of the last; raise `InputError`.

    Groups: `posterior`, parameters; `log_likelihood` (unless told not to), f by record, without weights and without
    the cuts of a strict mechanism; `observed_data`, the records' own values; `constant_data`, alpha; `sample_stats`,
    of the last round which draws are released, and as attributes how well they stand for their target.
    """
    xarray, number = _xarray(), _number_of(trail, label)
    fit, blocks = trail.fits[number], bound.chain.blocks
    size = min(column.draws.num_draws for column in fit.columns)
    drawn = [column.draws.take(np.arange(size)) for column in fit.columns]
    chains = _chains([block.sampler for block in blocks], drawn)
    by_draw = partial(_by_draw, chains)
    names, records = _names(fit.names), fit.records
    groups: dict[str, dict[str, Any]] = {"posterior": _posterior(bound, drawn, by_draw)}
    if log_likelihood:
        check_size(size, fit)
        matrices = [_matrix(block, draws)[:, records.rows_in_order] for block, draws in zip(blocks, drawn, strict=True)]
        groups[GROUP] = {name: ((*DRAWS, RECORD), by_draw(f)) for name, f in zip(names, matrices, strict=True)}
    values = [records.expand(_with_gaps(records, column)) for column in fit.names]
    groups["observed_data"] = {name: (RECORD, own) for name, own in zip(names, values, strict=True)}
    groups["constant_data"] = {ALPHA: ((RECORD, "column")[: fit.alpha.ndim], fit.alpha)}
    released = np.isin(np.arange(size), picked) & (number == len(trail.fits) - 1)
    groups["sample_stats"] = {RELEASED: (DRAWS, by_draw(released))}
    numbered = {name: np.arange(length) for name, length in zip(DRAWS, (chains, size // chains), strict=True)}
    made = {
        name: xarray.Dataset(variables, numbered if name in BY_DRAW else None) for name, variables in groups.items()
    }
    made["sample_stats"].attrs = _diagnostics(fit)
    return xarray.DataTree.from_dict(made)


def _with_gaps(records: Records, name: str) -> np.ndarray:
    """A column of the distinct rows; what stands in for a gap is taken out again."""
    values = np.asarray(records.columns[name])
    gone = records.columns.get(indicator_of(name))
    if gone is None:
        return values
    numeric = values.dtype.kind in "iuf"
    bare = values.astype(np.float64 if numeric else object)  # a copy
    bare[np.asarray(gone).astype(bool)] = np.nan if numeric else None
    return bare


def _by_draw(chains: int, values: np.ndarray) -> np.ndarray:
    """Values of S draws, chain by chain."""
    return values.reshape(chains, len(values) // chains, *values.shape[1:])


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise InputError("ArviZ's trees need xarray: pip install 'alphasynth[arviz]', found none") from None
    return xarray


def _number_of(trail: Trail, label: str | None) -> int:
    labels = round_labels(trail)
    if label is None:
        return len(labels) - 1
    if label not in labels:
        raise InputError(f"label must be that of a round, {', '.join(labels)}, found {found(label)}")
    return labels.index(label)


def check_size(draws: int, fit: JointFit) -> None:
    """Refuse matrices that would not fit into memory."""
    numbers = draws * fit.records.n * len(fit.columns)
    if numbers > MOST:
        raise InputError(
            f"log-likelihoods must be at most {MOST:,} numbers, found {numbers:,}, of {draws:,} draws and "
            f"{fit.records.n:,} records: log_likelihood=False leaves them out"
        )


def _chains(samplers: Sequence[Sampler], drawn: Sequence[Draws]) -> int:
    """Chains that all columns' draws are of, one after another; 1 where that cannot be told, or some were dropped."""
    numbers = {_chains_of(sampler, draws) for sampler, draws in zip(samplers, drawn, strict=True)}
    return numbers.pop() if len(numbers) == 1 else 1


def _chains_of(sampler: Sampler, draws: Draws) -> int:
    told = draws.diagnostics
    tried = (sampler.first, sampler.second) if isinstance(sampler, Automatic) else (sampler,)
    for one in tried:
        if isinstance(one, Laplace | Nuts | StanSampler) and type(one).__name__.startswith(told.sampler):
            whole = draws.num_draws == told.num_draws and told.num_draws % one.num_chains == 0
            return one.num_chains if whole else 1
    return 1


def _posterior(bound: BoundTable, drawn: Sequence[Draws], by_draw: ByDraw) -> dict[str, Any]:
    """Parameters by name; of several columns each after its column's."""
    variables: dict[str, Any] = {}
    for name, spec, draws in zip(_names(bound.model.names), bound.specs, drawn, strict=True):
        before = "" if len(drawn) == 1 else f"{name}_"
        terms = ["Intercept"] if spec is None else [str(term) for term in spec.column_names]
        for parameter, values in draws.theta.items():
            variables[before + parameter] = _parameter(before, parameter, by_draw(np.asarray(values)), terms)
    return variables


def _parameter(before: str, name: str, values: np.ndarray, terms: Sequence[str]) -> Any:
    """A parameter (chains, draws, ...); coefficients by the names of their terms, where there is one for each."""
    if name == "beta" and values.shape[2:] == (len(terms),):
        return _xarray().DataArray(values, dims=(*DRAWS, before + TERM), coords={before + TERM: list(terms)})
    return (*DRAWS, *(f"{before}{name}_dim_{place}" for place in range(values.ndim - 2))), values


def _matrix(block: Problem, draws: Draws) -> np.ndarray:
    """Log-likelihoods (S, distinct rows), of the model as rules and bounds see it, but for the cuts of a strict one."""
    model, rows = block.model, block.rows
    while isinstance(model, Bounded):
        model = model.model
    if outside(model) is not None:
        return log_liks_outside(model, draws.u, rows.distinct)[:, rows.of]
    return np.asarray(_log_liks(model, draws.u, rows.columns))[:, rows.of]


@partial(jax.jit, static_argnames="model")
def _log_liks(model: Model, u: Array, columns: Columns) -> Array:
    return jax.vmap(lambda one: model.log_lik(model.prior.constrain(one), columns))(u)


def _diagnostics(fit: JointFit) -> dict[str, Any]:
    """What is known of the draws, by name; of several columns each after its column's."""
    several = len(fit.columns) > 1
    told: dict[str, Any] = {}
    for name, column in zip(_names(fit.names), fit.columns, strict=True):
        numbers = {key: value for key, value in asdict(column.draws.diagnostics).items() if value is not None}
        told |= {f"{name}_{key}" if several else key: value for key, value in numbers.items()}
    return told


def _names(columns: Sequence[str]) -> list[str]:
    """Names of columns as a tree can hold them: without slashes, and none of them twice or a dimension's.

    >>> _names(["y", "a/b", "draw"])
    ['y', 'a_b', 'draw_']
    """
    taken, made = {*DRAWS, RECORD, TERM}, []
    for column in columns:
        name = column.replace("/", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        made.append(name)
    return made
