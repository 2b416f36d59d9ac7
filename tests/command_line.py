"""Commands for the tests: in this process, or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from alphasynth.cli.entry import run_command

COMMAND = [sys.executable, "-c", "from alphasynth.cli.entry import main; main()"]
HUGE = ["--epsilon", "1e308", "--unit", "sex", "--max-rows", "100"]
OPTIONS = ["--formula", "visits ~ 1", "--family", "negative_binomial", "--mechanism", "LW_final", "--m", "1"]
# After OPTIONS, where nothing else may be said: nothing is claimed, so that no audit of an unseeded run can warn.
NO_CLAIM = ["--mechanism", "Unweighted"]


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
    """Run a command; of formulas and families the last one counts, since several would make a chain."""
    return run_command(_last([str(argument) for argument in arguments]))


def _last(words):
    for option in ("--formula", "--family"):
        while words.count(option) > 1:
            place = words.index(option)
            words = words[:place] + words[place + 2 :]
    return words


def synthesize(table, *more, out="run"):
    return run("synthesize", table, *OPTIONS, "--out", out, "--quiet", *more)


def read(path):
    return json.loads(Path(path).read_text())


def start(*arguments, **options):
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path.cwd() / "cache")}
    return subprocess.Popen([*COMMAND, *_last([str(a) for a in arguments])], env=environment, **options)
