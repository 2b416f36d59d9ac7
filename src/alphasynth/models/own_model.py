"""`OwnModel`: a user's own NumPyro model in place of a built-in family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from alphasynth.errors import InputError, found
from alphasynth.models.formula import Formula, design_of, require_declared
from alphasynth.models.model import Array, Columns, Rows, Theta
from alphasynth.models.own_peaks import check_bounded, climb, starts
from alphasynth.tables.records import Records

if TYPE_CHECKING:
    from alphasynth.models.stan_model import StanModel

# New rows are simulated this many at a time, each time with a key of its own.
ROWS_PER_KEY = 1_024
# The first this many rows are computed a second time, apart from the rest, to see that they read no other row.
ROWS_COMPARED = 1_000


@dataclass(frozen=True)
class OwnModel:
    """A NumPyro model `model(X, y=None)` of rows that are independent given its parameters.

    X is the formula's design matrix (rows, K); y holds the response, or is None when new rows are simulated. `observed`
    names the sample site that takes y, one entry per row. All other sample sites are parameters; their priors must
    read neither X nor y.

    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> def visits(X, y=None):
    ...     rate = numpyro.sample("rate", dist.Gamma(1.0, 0.1))
    ...     with numpyro.plate("rows", len(X)):
    ...         numpyro.sample("y", dist.Poisson(rate), obs=y)
    >>> OwnModel(visits, observed="y").observed
    'y'
    """

    model: Callable[..., Any]
    observed: str

    @staticmethod
    def from_stan(
        program: str | Path,
        data: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        engine: str | None = None,
    ) -> StanModel:
        """A model of a Stan program: its code, a .stan file, or "negative_binomial", which is ours.

        The program's data are n, K, y, X and weights, which come from the table and the formula, and whatever else
        `data` gives; its target must be a prior plus weights times log-likelihoods, and its generated quantities
        hold `log_lik` and `y_rep`, one entry per row. `names` says what it calls these, where otherwise. `engine`:
        "pystan", or "cmdstan" of a user's own; without it the first that is installed. Raises `InputError`.

        >>> OwnModel.from_stan("negative_binomial").program.called("log_lik")
        'log_lik'
        """
        from alphasynth.models.stan_model import StanModel
        from alphasynth.stan.program import StanProgram

        return StanModel(StanProgram.of(program, data, names, engine))

    def bind(self, formula: Formula, records: Records, strict: bool = False) -> tuple[BoundModel, Rows]:
        """The model at the formula's K, and what it reads of the records; `InputError` where it breaks the contract.

        `strict`: for contributions that read nothing off the table; terms that learn from it are refused, and every
        record takes part, whatever its log-likelihood is where a climb starts.
        """
        if strict:
            require_declared(formula, records.columns)
        of = records.group((formula.response, *formula.covariates))
        _, first = np.unique(of, return_index=True)
        counts = np.bincount(of, records.counts).astype(np.int64)
        response = records.columns[formula.response][first]
        if not isinstance(response, np.ndarray) or response.dtype.kind not in "iufb":
            raise InputError(f"column {formula.response!r} must be numeric, found a column that is not")
        X = design_of(formula, records)[first]
        if not callable(self.model):
            raise InputError(f"the model must be a function of X and y, found {found(self.model)}")
        model = BoundModel(self.model, self.observed, X.shape[1])
        _check_sites(model)
        rows = Rows.pad({"y": response.astype(np.float64), "X": X}, of, np.zeros(model.prior.size))
        if strict:
            model.require_bounded("a strict mechanism needs")
        rows = _with_start(model, rows, counts)
        return model, rows.for_strict(model.peak(rows.distinct)) if strict else rows


@dataclass(frozen=True)
class OwnPrior:
    """The prior that the parameters' sample sites make, in coordinates without limits."""

    model: Callable[..., Any]
    observed: str
    K: int

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return _sites(self).size

    def log_density(self, u: Array) -> Array:
        """Log density of the parameters' sites at u (size,), the Jacobian included."""
        sites = _sites(self)
        free = sites.unravel(u)
        theta, total = {}, jnp.zeros(())
        for name, transform in sites.transforms.items():
            theta[name] = transform(free[name])
            total += jnp.sum(transform.log_abs_det_jacobian(free[name], theta[name]))
        trace = _trace(self, jnp.zeros((1, self.K)), jnp.zeros(1), theta)
        return total + sum(jnp.sum(trace[name]["fn"].log_prob(theta[name])) for name in theta)

    def constrain(self, u: Array) -> Theta:
        """Values of the parameters' sites, by name."""
        sites = _sites(self)
        free = sites.unravel(u)
        return {name: transform(free[name]) for name, transform in sites.transforms.items()}

    def smoothed(self) -> OwnPrior:
        """The prior itself."""
        return self


@dataclass(frozen=True)
class BoundModel:
    """An `OwnModel` for a design matrix of K columns."""

    model: Callable[..., Any]
    observed: str
    K: int

    @property
    def prior(self) -> OwnPrior:
        """The prior that the parameters' sample sites make."""
        return OwnPrior(self.model, self.observed, self.K)

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log probability of the observed site by row."""
        site = _trace(self, columns["X"], columns["y"], theta)[self.observed]
        return site["fn"].log_prob(columns["y"])

    def require_bounded(self, who: str) -> None:
        """Refuse a log-likelihood without an upper bound; `who` needs one."""
        check_bounded(self, who)

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table (starts, D)."""
        return starts(self.prior.size)

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood of each row under any parameters, climbed to from the row alone."""
        rows = ({name: column[i : i + 1] for name, column in columns.items()} for i in range(len(columns["y"])))
        return np.array([float(climb(self, row)) for row in rows])

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Values of the observed site for new rows; a JAX key holds 64 bits, so each block of rows takes a new one."""
        blocks = -(-rows // ROWS_PER_KEY)
        X = np.resize(columns["X"], (blocks * ROWS_PER_KEY, self.K))
        values = [
            _simulate_block(self, rng.integers(2**32, size=2, dtype=np.uint32), theta, block)
            for block in X.reshape(blocks, ROWS_PER_KEY, self.K)
        ]
        return np.concatenate([np.asarray(value) for value in values])[:rows]


@partial(jax.jit, static_argnames="model")
def _simulate_block(model: BoundModel, key: Array, theta: Theta, X: Array) -> Array:
    from numpyro import handlers

    seeded = handlers.seed(handlers.substitute(model.model, data=theta), jax.random.wrap_key_data(key))
    return handlers.trace(seeded).get_trace(X, None)[model.observed]["value"]


def _trace(model: BoundModel | OwnPrior, X: Array, y: Array | None, theta: Theta) -> dict[str, Any]:
    """NumPyro's trace of the model with its parameters at theta; the key only serves sites that theta leaves out."""
    from numpyro import handlers

    fixed = handlers.seed(handlers.substitute(model.model, data=theta), jax.random.key(0))
    trace: dict[str, Any] = handlers.trace(fixed).get_trace(X, y)
    return trace


@dataclass(frozen=True, eq=False)
class _Sites:
    """The parameters' sites: their transforms from coordinates without limits, and how to cut those up."""

    transforms: dict[str, Any]
    unravel: Callable[[Array], Theta]
    size: int


@lru_cache(maxsize=64)
def _sites(prior: OwnPrior) -> _Sites:
    from numpyro.distributions import biject_to

    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        trace = _trace(prior, jnp.zeros((1, prior.K)), jnp.zeros(1), {})
        sites = _parameters(trace, prior.observed)
        transforms = {name: biject_to(site["fn"].support) for name, site in sites.items()}
        free = {name: np.asarray(transforms[name].inv(site["value"])) for name, site in sites.items()}
        flat, unravel = ravel_pytree(free)
    return _Sites(transforms, unravel, len(flat))


def _parameters(trace: dict[str, Any], observed: str) -> dict[str, Any]:
    return {
        name: site
        for name, site in trace.items()
        if site["type"] == "sample" and name != observed and not site["is_observed"]
    }


def _check_sites(model: BoundModel) -> None:
    """Refuse models in which something other than the observed site would bring data in."""
    two, three = (_trace(model, jnp.zeros((rows, model.K)), jnp.zeros(rows), {}) for rows in (2, 3))
    samples = {name: site for name, site in two.items() if site["type"] == "sample"}
    site = samples.get(model.observed)
    if site is None or not site["is_observed"]:
        raise InputError(f"the model must have a sample site {model.observed!r} that takes y, found {sorted(samples)}")
    others = sorted(name for name, other in samples.items() if other["is_observed"] and name != model.observed)
    if others:
        raise InputError(f"only site {model.observed!r} may be observed (alpha weights no other), found {others}")
    if site["scale"] is not None or site["fn"].log_prob(site["value"]).shape != (2,):
        raise InputError(f"site {model.observed!r} must have one unscaled log probability per row")
    new = _trace(model, jnp.zeros((2, model.K)), None, {})
    if model.observed not in new or jnp.shape(new[model.observed]["value"]) != (2,):
        raise InputError(f"site {model.observed!r} must give one value per row when y is None (put it in a plate)")
    frozen = sorted(name for name, other in two.items() if other["type"] == "param")
    if frozen or not _parameters(two, model.observed):
        raise InputError(f"parameters must be sample sites with priors, found {frozen or 'none'}")
    for name, parameter in _parameters(two, model.observed).items():
        if parameter["fn"].support.is_discrete:
            raise InputError(f"parameters must be continuous, found the discrete site {name!r}")
        if jnp.shape(parameter["value"]) != jnp.shape(three[name]["value"]):
            raise InputError(f"parameters must not grow with the table, found that site {name!r} does")
    theta = model.prior.constrain(jnp.full(model.prior.size, 0.1))
    at = [_trace(model, jnp.full((2, model.K), x), jnp.full(2, x), theta) for x in (0.0, 1.0)]
    for name in theta:
        if not jnp.allclose(at[0][name]["fn"].log_prob(theta[name]), at[1][name]["fn"].log_prob(theta[name])):
            raise InputError(f"priors must read neither X nor y, found that of site {name!r} to")


def _with_start(model: BoundModel, rows: Rows, counts: np.ndarray) -> Rows:
    """Rows with a start where as many records as possible have a finite log-likelihood; the rest take no part."""
    points = starts(model.prior.size)  # only where the climb to the mode starts
    values = [np.asarray(_log_lik_at(model, u, rows.columns))[: rows.size] for u in points]
    best = max(range(len(points)), key=lambda i: _merit(values[i], counts))
    part = np.arange(min(ROWS_COMPARED, (rows.size + 1) // 2))[::-1]
    # These rows alone, in reverse, and the first of them for the rest: the same shape, so the same compiled program.
    among = np.concatenate([part, np.full(len(rows.columns["y"]) - len(part), part[0])])
    apart = _log_lik_at(model, points[best], {name: column[among] for name, column in rows.columns.items()})[
        : len(part)
    ]
    if not np.allclose(np.asarray(apart), values[best][part], rtol=1e-9, atol=1e-9, equal_nan=True):
        raise InputError("each record's log-likelihood must read its own row only, found a model that reads other rows")
    return Rows(rows.columns, rows.size, rows.of, points[best], np.isfinite(values[best]))


def _merit(values: np.ndarray, counts: np.ndarray) -> tuple[int, float]:
    finite = np.isfinite(values)
    return int(counts[finite].sum()), float((counts * np.where(finite, values, 0)).sum())


@partial(jax.jit, static_argnames="model")
def _log_lik_at(model: BoundModel, u: Array, columns: Columns) -> Array:
    return model.log_lik(model.prior.constrain(u), columns)
