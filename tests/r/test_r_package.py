"""The R package: R CMD check finds nothing, and the documented run gives our numbers within Monte Carlo error."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from engines import need

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "for-r-users.md"
PACKAGES = ("haven", "knitr", "reticulate", "rmarkdown", "rstan", "testthat")
DEBIAN = f"apt-get install r-base-dev {' '.join(f'r-cran-{name}' for name in PACKAGES)}"
RUNS = 20  # of ours, in the documented run


def call(command, folder, library=None):
    """Run R with this Python, and with this checkout before any that is installed."""
    environment = {
        **os.environ,
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "R_LIBS": "" if library is None else str(library),
    }
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    return ran.returncode, ran.stdout + ran.stderr


def need_r():
    need(shutil.which("Rscript"), f"no R (Debian: {DEBIAN})")
    there = ", ".join(f"requireNamespace('{name}', quietly = TRUE)" for name in PACKAGES)
    _, said = call(["Rscript", "-e", f"cat('all:', all({there}))"], ROOT)
    need("all: TRUE" in said, f"not all of the R packages {', '.join(PACKAGES)} (Debian: {DEBIAN})")
    need(sysconfig.get_config_var("Py_ENABLE_SHARED"), "this Python has no shared library, which reticulate needs")


@pytest.mark.slow
def test_r_cmd_check_finds_nothing(tmp_path):
    """No error, no warning, no note; its own tests and the vignette run in it."""
    need_r()
    status, said = call(["R", "CMD", "build", str(ROOT / "r")], tmp_path)
    assert status == 0, said
    (built,) = tmp_path.glob("alphasynth_*.tar.gz")
    status, said = call(["R", "CMD", "check", "--no-manual", built.name], tmp_path)
    assert status == 0, said
    assert "Status: OK" in said, said
    ran = (tmp_path / "alphasynth.Rcheck" / "tests" / "testthat.Rout").read_text()
    assert "FAIL 0" in ran
    # synthpop is in no Debian package: the one test that needs it is the one that may skip.
    assert "SKIP 1 |" in ran or "SKIP 0 |" in ran, ran
    vignette = (tmp_path / "alphasynth.Rcheck" / "alphasynth" / "doc" / "paper-steps.html").read_text()
    assert "nothing below was run" not in vignette


@pytest.mark.slow
def test_the_documented_run_gives_our_numbers(tmp_path):
    """The paper's steps in R and Stan, and ours, beside each other and beside what the document says."""
    need_r()
    library = tmp_path / "library"
    library.mkdir()
    status, said = call(["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(ROOT / "r")], tmp_path)
    assert status == 0, said
    reference = tmp_path / "tests" / "reference"
    reference.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "reference" / "nb_mixture.csv", reference)
    blocks = re.findall(r"```r\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    script = "\n".join([*blocks, 'write.csv(numbers, "numbers.csv", row.names = FALSE)'])
    (tmp_path / "document.R").write_text(script)
    status, said = call(["Rscript", "document.R"], tmp_path, library)
    assert status == 0, said
    with (tmp_path / "numbers.csv").open() as file:
        found = {(row["fit"], row["quantity"]): row for row in csv.DictReader(file)}
    documented = documented_numbers()
    assert found.keys() == documented.keys()
    for key, row in found.items():
        rstan, ours, spread = (float(row[name]) for name in ("rstan", "ours", "sd"))
        # One run of 1,000 draws scatters by `spread`, which 20 runs of ours measured; Stan's chain has an effective
        # size of about as many draws (937 of beta, 1,033 of phi, measured). So Stan's number less the mean of ours
        # scatters by spread sqrt(1 + 1/20). A t with 19 degrees of freedom is beyond 4.5 of these once in 4,000.
        assert abs(rstan - ours) < 4.5 * spread * (1 + 1 / RUNS) ** 0.5, (key, row)
        # The document's numbers came from other chains at worst (another compiler), and were rounded.
        assert abs(rstan - documented[key][0]) < 4.5 * spread * 2**0.5 + 0.0005, (key, row, documented[key])
        assert abs(ours - documented[key][1]) < 4.5 * spread * (2 / RUNS) ** 0.5 + 0.0005, (key, row, documented[key])
    posteriors = json.loads((ROOT / "tests" / "reference" / "posteriors.json").read_text())["fits"]
    # The paper's script leaves a weight of 0 at 0.
    for fit, own in (("Unweighted", "Unweighted"), ("LW", "LW"), ("LW_final_0_kept", "LW_final")):
        for quantity, of in posteriors[own]["rstan"].items():
            row = found[fit, quantity]
            # The paper's script, 10,000 draws: its own error is small beside `sd`, which holds that of LW's weights.
            room = 4.5 * (float(row["sd"]) ** 2 * (1 + 1 / RUNS) + of["mcse_mean"] ** 2) ** 0.5
            assert abs(float(row["ours"]) - of["mean"]) < room, (fit, quantity)


def documented_numbers():
    """RStan's and ours, from the document's table."""
    rows = re.findall(r"^\| (\w+) \| (\w+) \| ([\d.]+) \| ([\d.]+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert len(rows) == 12
    return {(fit, quantity): (float(rstan), float(ours)) for fit, quantity, rstan, ours in rows}


def test_the_stan_program_is_the_same_in_both_packages():
    """But for how arrays are declared: Debian's RStan is older than the new way."""
    ours = (ROOT / "src" / "alphasynth" / "stan" / "negative_binomial.stan").read_text()
    older = re.sub(r"array\[n\] (int(?:<lower=0>)?) (\w+);", r"\1 \2[n];", ours)
    assert older != ours
    assert (ROOT / "r" / "inst" / "stan" / "negative_binomial.stan").read_text() == older


def test_both_packages_have_one_version():
    import alphasynth

    assert f"\nVersion: {alphasynth.__version__}\n" in (ROOT / "r" / "DESCRIPTION").read_text()
