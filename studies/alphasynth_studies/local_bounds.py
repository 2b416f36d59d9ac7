"""Lipschitz bounds of many databases at once: one compiled program, fed chunks of databases, on a CPU or a GPU.

Every database goes through the same rounds as in `alphasynth.mechanisms.mechanism`, with the same mode finder,
proposals, maxima and weights; only chance comes from JAX's generators, so that it is drawn where the rest is computed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError
from alphasynth.inference.contribution import weighted
from alphasynth.inference.density import Data
from alphasynth.inference.laplace import ATTEMPTS, BURN_IN, Noise, propose_and_accept
from alphasynth.inference.mode import find_mode
from alphasynth.mechanisms.fit import NUM_DRAWS, in_64_bit
from alphasynth.mechanisms.lipschitz import largest_by_row
from alphasynth.mechanisms.rule import from_risk, level, rescale
from alphasynth.models.model import Array, Model
from alphasynth_studies.synthesizers import LW, K, Setting

ROUNDS = ("Unweighted", "LW", "LW_final")
CHAINS = 4
VALUES = 1_024  # a database is how often each of 0, 1, ..., 1,023 occurs; no generator here comes near the end
CAPACITY = 512  # distinct values of one database; 10,000 records of the mixture have about 250
# A chunk should fill the machine and not its memory.
CHUNK = {"cpu": 100, "gpu": 2_500}
# Independence sampling at this acceptance leaves about S/4 effective draws, the library's own limit.
LEAST_ACCEPTANCE = 0.4
MOST_BEYOND = 1e-9  # probability past the last value that a simulated distribution may have


class Bounds(NamedTuple):
    """By database and round (R, 3): Delta, the smallest F of a record, share of proposals taken; draws (R, 3, m, D)."""

    delta: Array
    smallest: Array
    acceptance: Array
    draws: Array


@dataclass
class Clock:
    """Seconds spent compiling and running, by program."""

    compiling: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)

    def __call__(self, name: str, program: Any, *args: Any, **settings: Any) -> Any:
        """Compile a jitted program for these arguments, run it, and count both."""
        begin = time.perf_counter()
        compiled = program.lower(*args, **settings).compile()
        middle = time.perf_counter()
        outcome = jax.tree.map(np.asarray, compiled(*args))
        self.compiling[name] = self.compiling.get(name, 0.0) + middle - begin
        self.running[name] = self.running.get(name, 0.0) + time.perf_counter() - middle
        return outcome


@in_64_bit
def simulate(clock: Clock, seed: int, log_pmf: np.ndarray, num_databases: int, n: int) -> np.ndarray:
    """Databases of n records each, as counts by value (R, VALUES)."""
    keys = _keys(seed, num_databases)
    counts: np.ndarray = clock("simulate", _simulate, keys, log_pmf, n=n, chunk=_chunk(num_databases))
    return counts[:num_databases]


@in_64_bit
def local_bounds(
    clock: Clock, seed: int, model: Model, counts: np.ndarray, m: int, settings: Sequence[Setting] = (LW,)
) -> Bounds:
    """Delta of every database, unweighted, under LW and under LW_final; raise `InputError` for bad draws.

    `settings` are LW's, one for all databases or one for each.
    """
    num_databases = len(counts)
    if (counts > 0).sum(axis=1).max() > CAPACITY:
        raise InputError(f"a database must have at most {CAPACITY} distinct values")
    keys = _keys(seed, num_databases)
    rows = np.arange(len(keys)) % num_databases
    dials = np.array([(setting.scale, setting.shift) for setting in settings])
    args = (keys, counts[rows], dials[rows % len(dials)])
    found = clock("bounds", _local_bounds, *args, model=model, m=m, chunk=_chunk(num_databases))
    bounds = Bounds(*(part[:num_databases] for part in found))
    if bounds.acceptance.min() < LEAST_ACCEPTANCE or not np.isfinite(bounds.delta).all():
        raise InputError(
            f"every database must have a finite bound and an acceptance of {LEAST_ACCEPTANCE}, found a bound of "
            f"{bounds.delta.max():.4g} and an acceptance of {bounds.acceptance.min():.3f}"
        )
    return bounds


@in_64_bit
def synthetic_statistics(
    clock: Clock, seed: int, model: Model, draws: np.ndarray, n: int, shares: tuple[float, ...]
) -> np.ndarray:
    """Mean, then quantiles, averaged over the m synthetic tables of each database and round (R, 3, 1 + shares)."""
    num_databases = len(draws)
    keys = _keys(seed, num_databases)
    rows = np.arange(len(keys)) % num_databases
    settings = {"model": model, "n": n, "shares": shares, "chunk": _chunk(num_databases)}
    statistics, beyond = clock("tables", _synthetic_statistics, keys, draws[rows], **settings)
    if beyond.max() > MOST_BEYOND:
        raise InputError(f"synthetic counts must lie below {VALUES:,}, found a larger share above: {beyond.max():.2g}")
    return np.asarray(statistics[:num_databases])


def statistics_of(counts: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    """Mean, then quantiles, of databases given as counts by value (R, VALUES)."""
    from alphasynth.evaluation.values import Values

    held = [Values(np.flatnonzero(line).astype(float), line[line > 0]) for line in counts]
    return np.array([[values.mean, *(values.quantile(share) for share in shares)] for values in held])


def device() -> str:
    """What the programs run on."""
    return str(jax.devices()[0].device_kind)


def _chunk(num_databases: int) -> int:
    return min(num_databases, CHUNK.get(jax.default_backend(), CHUNK["gpu"]))


def _keys(seed: int, num_databases: int) -> Array:
    """A key for each database, and for as many more as fill the last chunk."""
    chunk = _chunk(num_databases)
    return jax.random.split(jax.random.key(seed), -(-num_databases // chunk) * chunk)


@partial(jax.jit, static_argnames=("n", "chunk"))
def _simulate(keys: Array, log_pmf: Array, n: int, chunk: int) -> Array:
    cdf = jnp.cumsum(jnp.exp(log_pmf))

    def one(key: Array) -> Array:
        return jnp.bincount(_sorted_values(key, cdf, n), length=VALUES)

    return jax.lax.map(one, keys, batch_size=chunk)


def _sorted_values(key: Array, cdf: Array, n: int) -> Array:
    """n values in ascending order: ordered uniforms, which are running sums of exponentials, through the inverse."""
    sums = jnp.cumsum(jax.random.exponential(key, (n + 1,)))
    return jnp.minimum(jnp.searchsorted(cdf / cdf[-1], sums[:-1] / sums[-1]), VALUES - 1)


@partial(jax.jit, static_argnames=("model", "m", "chunk"))
def _local_bounds(keys: Array, counts: Array, dials: Array, model: Model, m: int, chunk: int) -> Bounds:
    return jax.lax.map(lambda one: _bounds_of(model, m, *one), (keys, counts, dials), batch_size=chunk)


def _bounds_of(model: Model, m: int, key: Array, counts: Array, dials: Array) -> Bounds:
    """The rounds of one database: fit, bound each record, weigh; the weights of a round are made in the one before."""
    y = jnp.nonzero(counts, size=CAPACITY, fill_value=0)[0]
    size = jnp.sum(counts > 0)
    held = jnp.arange(CAPACITY) < size
    records = jnp.where(held, counts[y], 0).astype(float)
    columns = {"y": y.astype(float), "log_factorial": jax.scipy.special.gammaln(y + 1.0)}
    start = _start(model, columns["y"], records)

    def lw(largest: Array, alpha: Array) -> Array:
        return from_risk(rescale(largest, held, jnp), dials[0], dials[1], jnp)

    def reweight(largest: Array, alpha: Array) -> Array:
        return level(largest, K * jnp.max(weighted(alpha, largest, jnp)), jnp)

    def one_round(alpha: Array, number: Array) -> tuple[Array, Bounds]:
        data = Data(columns, alpha * records, size)
        noise = _noise(jax.random.fold_in(key, number), model.prior.size)
        chains, taken, _ = propose_and_accept(model, data, find_mode(model, start, data), noise, ATTEMPTS[0])
        u = chains.reshape(-1, model.prior.size)
        largest = jnp.where(held, largest_by_row(model, u, columns, size), 0.0)
        delta = jnp.max(weighted(alpha, largest, jnp))
        following = jax.lax.switch(number, (lw, reweight, lambda largest, alpha: alpha), largest, alpha)
        picked = u[jnp.arange(m) * (len(u) // m)]
        smallest = jnp.min(jnp.where(held, largest, jnp.inf))
        return jnp.where(held, following, 0.0), Bounds(delta, smallest, taken.mean(), picked)

    rounds: Bounds = jax.lax.scan(one_round, held.astype(float), jnp.arange(len(ROUNDS)))[1]
    return rounds


def _start(model: Model, y: Array, records: Array) -> Array:
    """Log mean, and log phi from the variance where the model has one."""
    mean = jnp.average(y, weights=records)
    if model.prior.size == 1:
        return jnp.log(mean)[None]
    variance = jnp.average((y - mean) ** 2, weights=records)
    phi = jnp.where(variance > mean, mean**2 / jnp.maximum(variance - mean, 1e-9), jnp.inf)
    return jnp.stack([jnp.log(mean), jnp.log(jnp.clip(phi, 0.1, 1e3))])


def _noise(key: Array, size: int) -> Noise:
    """Standard t vectors and thresholds of acceptance; a chi-square of even freedom is a sum of exponentials."""
    steps, degrees = BURN_IN + NUM_DRAWS // CHAINS, ATTEMPTS[0].degrees
    normal_key, chi_key, uniform_key = jax.random.split(key, 3)
    normal = jax.random.normal(normal_key, (steps, CHAINS, size))
    chi_square = 2 * jax.random.exponential(chi_key, (steps, CHAINS, degrees // 2)).sum(axis=-1)
    log_uniform = -jax.random.exponential(uniform_key, (steps, CHAINS))
    return Noise(normal * jnp.sqrt(degrees / chi_square)[..., None], log_uniform, jnp.zeros_like(log_uniform))


def quantiles(y: Array, shares: tuple[float, ...]) -> Array:
    """Quantiles of values in ascending order, interpolated between order statistics (type 7).

    >>> quantiles(np.array([1.0, 2.0, 4.0, 8.0]), (0.5, 0.9)).tolist()
    [3.0, 6.800000000000001]
    """
    places = (len(y) - 1) * np.array(shares)
    low = np.floor(places).astype(int)
    below, above = y[low], y[np.minimum(low + 1, len(y) - 1)]
    return below + (places - low) * (above - below)


@partial(jax.jit, static_argnames=("model", "n", "shares", "chunk"))
def _synthetic_statistics(
    keys: Array, draws: Array, model: Model, n: int, shares: tuple[float, ...], chunk: int
) -> tuple[Array, Array]:
    values = jnp.arange(VALUES, dtype=float)
    columns = {"y": values, "log_factorial": jax.scipy.special.gammaln(values + 1)}

    def table(key: Array, u: Array) -> tuple[Array, Array]:
        cdf = jnp.cumsum(jnp.exp(model.log_lik(model.prior.constrain(u), columns)))
        y = _sorted_values(key, cdf, n).astype(float)
        return jnp.concatenate([y.mean()[None], quantiles(y, shares)]), 1 - cdf[-1]

    def one(key: Array, u: Array) -> tuple[Array, Array]:
        flat = u.reshape(-1, u.shape[-1])
        statistics, beyond = jax.vmap(table)(jax.random.split(key, len(flat)), flat)
        return statistics.reshape(*u.shape[:2], -1).mean(axis=1), beyond.max()

    # A table is wider than a fit's block of rows: smaller chunks.
    return jax.lax.map(lambda at: one(*at), (keys, draws), batch_size=max(chunk // 10, 1))
