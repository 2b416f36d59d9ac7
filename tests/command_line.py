"""Commands for the tests: in this process, or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from alphasynth.entry import run_command

COMMAND = [sys.executable, "-c", "from alphasynth.entry import main; main()"]
HUGE = ["--epsilon", "1e308", "--unit", "sex", "--max-rows", "100"]
OPTIONS = ["--formula", "visits ~ 1", "--family", "negative_binomial", "--mechanism", "LW_final", "--m", "1"]


def visits(n=300):
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "visits": rng.negative_binomial(3, 0.3, n),
            "age": rng.integers(20, 70, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def run(*arguments):
    return run_command([str(argument) for argument in arguments])


def synthesize(table, *more, out="run"):
    return run("synthesize", table, *OPTIONS, "--out", out, "--quiet", *more)


def read(path):
    return json.loads(Path(path).read_text())


def start(*arguments, **options):
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path.cwd() / "cache")}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, **options)
