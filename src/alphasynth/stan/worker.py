"""The process that holds Stan: it takes requests on its standard input and answers on its standard output, as pickles.

A process of its own, since Stan forks for its chains and prints as it likes. It keeps no draws: httpstan writes them to
files, which here are in a folder that only its owner can open, are deleted as soon as they are read, and go with the
folder when this process or the one that started it ends, whatever ended it.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import pickle
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np

SAMPLE, FIXED = "stan::services::sample::hmc_nuts_diag_e_adapt", "stan::services::sample::fixed_param"
Data = dict[str, Any]


class Program:
    """A compiled program."""

    def __init__(self, code: str) -> None:
        """Compile it, or take it from httpstan's cache, which holds programs and no data."""
        import httpstan.models

        self.name = httpstan.models.calculate_model_name(code)
        try:
            self.module: Any = httpstan.models.import_services_extension_module(self.name)
        except KeyError:
            with TemporaryDirectory() as folder, chdir(folder):  # the compiler leaves a folder `build` where it stands
                asyncio.run(httpstan.models.build_services_extension_module(code))
            self.module = httpstan.models.import_services_extension_module(self.name)

    def names(self, data: Data) -> tuple[list[str], list[list[int]], list[str]]:
        """Names and shapes of parameters, transformed parameters and generated quantities; names of all entries."""
        return self.module.get_param_names(data), self.module.get_dims(data), self.module.constrained_param_names(data)

    def size(self, data: Data, theta: Data) -> np.ndarray:
        """Coordinates without limits of parameters by name."""
        return np.asarray(self.module.transform_inits(data, theta))

    def log_prob(self, data: Data, u: np.ndarray) -> np.ndarray:
        """The program's target, the Jacobian included, at coordinates (S, D); up to a constant."""
        return np.array([self.module.log_prob(data, row.tolist(), True) for row in u])

    def entries(self, data: Data, u: np.ndarray, first: int, number: int) -> np.ndarray:
        """Some of all entries (S, number) at coordinates (S, D)."""
        rows = (self.module.write_array(data, row.tolist(), True, True)[first : first + number] for row in u)
        return np.array(list(rows)).reshape(len(u), number)

    def unconstrain(self, data: Data, thetas: list[Data]) -> np.ndarray:
        """Coordinates (S, D) of parameters by name."""
        return np.array([self.module.transform_inits(data, theta) for theta in thetas])

    def sample(self, data: Data, seeds: list[int], warmup: int, draws: int, accept: float) -> list[dict[str, Any]]:
        """Chains: entries by name (draws,) each."""
        import httpstan.services_stub as services

        fits = [f"{self.name}/fits/{secrets.token_hex(8)}" for _ in seeds]
        common: dict[str, Any] = {"data": data, "init": {}, "num_warmup": warmup, "num_samples": draws, "delta": accept}
        calls = [
            services.call(SAMPLE, self.name, fit, random_seed=seed, chain=i + 1, **common)
            for i, (fit, seed) in enumerate(zip(fits, seeds, strict=True))
        ]
        return _collected(calls, fits)

    def simulate(self, data: Data, theta: Data, seed: int) -> dict[str, Any]:
        """Generated quantities once, at these parameters."""
        import httpstan.services_stub as services

        fit = f"{self.name}/fits/{secrets.token_hex(8)}"
        call = services.call(
            FIXED, self.name, fit, data=data, init=theta, random_seed=seed, chain=1, num_samples=1, num_thin=1
        )
        return _collected([call], [fit])[0]


def _collected(calls: list[Any], fits: list[str]) -> list[dict[str, Any]]:
    """Run what makes fits, read them and delete them."""
    import httpstan.cache

    async def together() -> None:
        await asyncio.gather(*calls)

    try:
        asyncio.run(together())
        return [_draws(httpstan.cache.load_fit(fit)) for fit in fits]
    finally:
        for fit in fits:
            httpstan.cache.fit_path(fit).unlink(missing_ok=True)


def _draws(stored: bytes) -> dict[str, Any]:
    """Entries by name of a stored fit, one number per draw."""
    rows: dict[str, list[float]] = {}
    with gzip.open(io.BytesIO(stored)) as lines:
        for line in lines:
            message = json.loads(line)
            if message["topic"] == "sample" and isinstance(message["values"], dict):
                for name, value in message["values"].items():
                    rows.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in rows.items()}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests (what, arguments) until there are no more; what goes wrong is answered by its words."""
    programs: dict[str, Program] = {}
    while True:
        try:
            code, what, arguments = pickle.load(requests)  # noqa: S301 # from the process that started this one
        except EOFError:
            return
        try:
            if code not in programs:
                programs[code] = Program(code)
            call: Callable[..., Any] = getattr(programs[code], what)
            answer = (True, call(*arguments))
        except Exception as error:  # noqa: BLE001 # Stan's own kinds are many; its words go to who asked
            answer = (False, f"{type(error).__name__}: {error}")
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def keep_fits_in(folder: Path) -> None:
    """Have httpstan write draws there and not into its cache, which others may read."""
    import httpstan.cache

    def fit_path(name: str) -> Path:
        return folder / f"{name.rsplit('/', maxsplit=1)[-1]}.jsonlines.gz"

    httpstan.cache.fit_path = fit_path


def end_with(parent: int, folder: Path) -> None:
    """Wait until the process that started this one is gone; then end, with all that was forked, and leave nothing."""
    while os.getppid() == parent:
        time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve on the standard streams; what Stan prints goes nowhere. Takes the folder of fits, and who started it."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    os.umask(0o077)
    keep_fits_in(folder)
    threading.Thread(target=end_with, args=(parent, folder), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
