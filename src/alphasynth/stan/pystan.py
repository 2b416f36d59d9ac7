"""A program compiled by PyStan's httpstan, which calls Stan within this process."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import secrets
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

SAMPLE, FIXED = "stan::services::sample::hmc_nuts_diag_e_adapt", "stan::services::sample::fixed_param"
# What Stan's own errors are in Python.
STAN_ERRORS = (RuntimeError, ValueError, IndexError, ArithmeticError)
OTHER_NUMBER = "number of parameters does not match"  # what Stan says of too few or too many coordinates
MOST_COORDINATES = 10_000  # that are tried
Data = dict[str, Any]


class Program:
    """A compiled program."""

    def __init__(self, code: str, folder: Path, compiling: Callable[[], None] = lambda: None) -> None:
        """Compile it, or take it from httpstan's cache, which holds programs and no data; draws go through a folder.

        `compiling` is called before it compiles, which takes minutes.
        """
        import httpstan.models

        keep_fits_in(folder)
        self.name = httpstan.models.calculate_model_name(code)
        try:
            self.module: Any = httpstan.models.import_services_extension_module(self.name)
        except KeyError:
            compiling()
            with TemporaryDirectory() as folder_of_build, chdir(folder_of_build):  # it leaves `build` where it stands
                asyncio.run(httpstan.models.build_services_extension_module(code))
            self.module = httpstan.models.import_services_extension_module(self.name)
        # All compiled programs are modules of one name: where one is imported again, as for its draws, Python writes
        # its functions into the module of the one that was imported last.
        self.module = SimpleNamespace(**vars(self.module))

    def names(self, data: Data) -> tuple[list[str], list[list[int]], list[str]]:
        """Names and shapes of parameters, transformed parameters and generated quantities; names of all entries."""
        return self.module.get_param_names(data), self.module.get_dims(data), self.module.constrained_param_names(data)

    def coordinates(self, data: Data) -> int:
        """How many coordinates without limits it has, up to `MOST_COORDINATES` and one: what Stan does not refuse.

        A point at which the density is not defined has the right number all the same.
        """

        def refused(number: int) -> str:
            try:
                self.module.log_prob(data, [0.0] * number, True)
            except STAN_ERRORS as error:
                return str(error)
            return ""

        if OTHER_NUMBER not in (said := refused(MOST_COORDINATES + 1)) and said:
            raise RuntimeError(said)
        fits = (number for number in range(MOST_COORDINATES + 1) if OTHER_NUMBER not in refused(number))
        return next(fits, MOST_COORDINATES + 1)

    def log_prob(self, data: Data, u: np.ndarray, known: bool = False) -> np.ndarray:
        """The program's target, the Jacobian included, at coordinates (S, D); up to a constant.

        `known`: not a number where it cannot be computed, which is refused otherwise.
        """
        return self._by_point(lambda row: [self.module.log_prob(data, row, True)], u, 1, known)[:, 0]

    def entries(self, data: Data, u: np.ndarray, first: int, number: int, known: bool = False) -> np.ndarray:
        """Some of all entries (S, number) at coordinates (S, D); `known` as above."""

        def at(row: list[float]) -> list[float]:
            values: list[float] = self.module.write_array(data, row, True, True)[first : first + number]
            return values

        return self._by_point(at, u, number, known)

    def _by_point(
        self, at: Callable[[list[float]], list[float]], u: np.ndarray, number: int, known: bool
    ) -> np.ndarray:
        def of(row: list[float]) -> list[float]:
            try:
                return at(row)
            except STAN_ERRORS:
                if not known:
                    raise
                return [np.nan] * number

        return np.array([of(row.tolist()) for row in u]).reshape(len(u), number)

    def unconstrain(self, data: Data, thetas: list[Data]) -> np.ndarray:
        """Coordinates (S, D) of parameters by name."""
        return np.array([self.module.transform_inits(data, theta) for theta in thetas])

    def sample(
        self, data: Data, of: list[str], seeds: list[int], warmup: int, draws: int, accept: float
    ) -> list[dict[str, Any]]:
        """Chains: entries by name (draws,) each, of what is asked for, and what the sampler says of its draws."""
        import httpstan.services_stub as services

        fits = [f"{self.name}/fits/{secrets.token_hex(8)}" for _ in seeds]
        common: dict[str, Any] = {"data": data, "init": {}, "num_warmup": warmup, "num_samples": draws, "delta": accept}
        calls = [
            services.call(SAMPLE, self.name, fit, random_seed=seed, chain=i + 1, **common)
            for i, (fit, seed) in enumerate(zip(fits, seeds, strict=True))
        ]
        return _collected(calls, fits, of)

    def simulate(self, data: Data, of: str, theta: Data, seed: int) -> np.ndarray:
        """The entries of one generated quantity, once, at these parameters."""
        import httpstan.services_stub as services

        fit = f"{self.name}/fits/{secrets.token_hex(8)}"
        call = services.call(
            FIXED, self.name, fit, data=data, init=theta, random_seed=seed, chain=1, num_samples=1, num_thin=1
        )
        (made,) = _collected([call], [fit], [of])
        return np.array([value[0] for name, value in made.items() if name.split(".")[0] == of])


def _collected(calls: list[Any], fits: list[str], of: list[str]) -> list[dict[str, Any]]:
    """Run what makes fits, read them and delete them."""
    import httpstan.cache

    async def together() -> None:
        await asyncio.gather(*calls)

    try:
        asyncio.run(together())
        return [_draws(httpstan.cache.load_fit(fit), of) for fit in fits]
    finally:
        for fit in fits:
            httpstan.cache.fit_path(fit).unlink(missing_ok=True)


def _draws(stored: bytes, of: list[str]) -> dict[str, Any]:
    """Entries by name of a stored fit, one number per draw."""
    wanted = set(of)
    rows: dict[str, list[float]] = {}
    with gzip.open(io.BytesIO(stored)) as lines:
        for line in lines:
            message = json.loads(line)
            if message["topic"] == "sample" and isinstance(message["values"], dict):
                for name, value in message["values"].items():
                    if name.endswith("__") or name.split(".")[0] in wanted:
                        rows.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in rows.items()}


def keep_fits_in(folder: Path) -> None:
    """Have httpstan write draws there and not into its cache, which others may read."""
    import httpstan.cache

    def fit_path(name: str) -> Path:
        return folder / f"{name.rsplit('/', maxsplit=1)[-1]}.jsonlines.gz"

    httpstan.cache.fit_path = fit_path
