"""A real CmdStan beside PyStan: the same program and data, a run from end to end, refusals, and what is left behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.stan.process import ONCE, StanError
from alphasynth.stan.program import StanProgram
from engines import has_module, need, need_cmdstan, wait_for

pytestmark = pytest.mark.slow
NAMES = {"n": "rows", "y": "counts", "weights": "alpha", "log_lik": "f", "y_rep": "fresh"}
FAULTY = Path(__file__).with_name("poisson.stan")


@pytest.fixture(scope="module", autouse=True)
def _cmdstan():
    need_cmdstan()


@pytest.fixture
def _pystan():
    need(has_module("httpstan"), "no PyStan (pip install 'alphasynth[stan]')")


def poisson_model(fault=0, engine="cmdstan"):
    return syn.OwnModel.from_stan(FAULTY, {"fault": fault, "prior_sd": 5.0}, NAMES, engine)


@pytest.mark.usefixtures("_pystan")
def test_points_that_cannot_be_computed_are_told_apart():
    """New rows of a mean of e^25 are refused by Stan: not a number there, and all others as they are."""
    u = np.array([[25.0], [1.0], [24.0], [23.0], [2.0], [30.0]])
    good = np.array([False, True, False, False, True, False])
    found = []
    for engine in ("pystan", "cmdstan"):
        program = poisson_model(engine=engine).program
        data = program.data_for(np.array([1.0, 5.0]), np.ones((2, 1)), np.ones(2))
        f = program.ask("entries", data, u, 1, 2, True)
        assert np.isnan(f[~good]).all()
        np.testing.assert_array_equal(f[good], program.ask("entries", data, u[good], 1, 2))
        assert np.isfinite(program.ask("log_prob", data, u, True)).all()
        with pytest.raises(StanError):
            program.ask("entries", data, u, 1, 2)
        found.append(f)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_budget_weights_run():
    table = pd.DataFrame({"y": np.random.default_rng(1).poisson(6, 200)})
    made = syn.Synthesizer("y ~ 1", family=poisson_model(), mechanism="BW", epsilon=6, m=1, num_draws=400, seed=1)
    made.fit(table)
    assert made.guarantee_.epsilon_total == pytest.approx(6)
    assert 2 * made.lipschitz_.overall <= 6 * (1 + 1e-12)
    draws = made.trail_.fits[-1].draws
    # Weights of about a half: an sd of about sqrt(2 / (200 x 6)), for the table's own mean and for the draws.
    assert abs(draws.theta["log_mean"].mean() - np.log(6)) < 4.5 * np.sqrt(3 / 1_200)
    assert len(made.sample()[0]) == 200


@pytest.mark.usefixtures("_pystan")
def test_targets_and_entries_are_pystans():
    """At points of six coordinates, and with 300 rows of weights.

    Both add some hundreds of doubles of at most 1e4 in their own order: errors of about 1e-11, and entries of nearly 0.
    """
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(300), rng.normal(size=300)])
    pystan, cmdstan = (StanProgram.of("negative_binomial", engine=engine) for engine in ("pystan", "cmdstan"))
    data = pystan.data_for(rng.poisson(60, 300).astype(float), X, rng.uniform(0.2, 1, 300))
    names = pystan.ask("names", data)
    assert cmdstan.ask("names", data) == names
    assert cmdstan.ask("coordinates", data) == pystan.ask("coordinates", data) == 6
    u = 0.5 * rng.standard_normal((20, 6))
    rise = [program.ask("log_prob", data, u) for program in (pystan, cmdstan)]  # each up to a constant of its own
    np.testing.assert_allclose(rise[1] - rise[1][0], rise[0] - rise[0][0], rtol=0, atol=1e-8)
    fixed = len(names[2]) - 300  # all but y_rep, which is last
    entries = [program.ask("entries", data, u, 0, fixed) for program in (pystan, cmdstan)]
    np.testing.assert_allclose(entries[1], entries[0], rtol=1e-9, atol=1e-12)
    theta = {"beta": [0.1, 4], "scale": [1.0, 2.0], "correlation": [[1.0, 0.0], [0.6, 0.8]], "reciprocal_phi": 0.1}
    free = [program.ask("unconstrain", data, [theta]) for program in (pystan, cmdstan)]
    np.testing.assert_allclose(free[1], free[0], rtol=1e-12)


@pytest.mark.usefixtures("_pystan")
def test_posteriors_and_bounds_are_pystans():
    """Means within 4.5 standard errors (7 in 10^6), and Delta within what two extremes of draws differ by.

    Delta is |f| of the riskiest count at an extreme of the draws of log_mean, near a normal of sd s. Extremes of S such
    draws scatter as a Gumbel variable of scale s / sqrt(2 log S), so that two differ as a logistic one of that scale:
    by more than 12 of them once in some 10^5 times.
    """
    y = np.append(np.random.default_rng(2).poisson(6, 300), 18)
    fits = [
        syn.Synthesizer(
            "y ~ 1", family=poisson_model(engine=engine), mechanism="Unweighted", m=1, num_draws=2_000, seed=1
        )
        .fit(pd.DataFrame({"y": y}))
        .trail_.fits[0]
        for engine in ("pystan", "cmdstan")
    ]
    draws = [fit.draws.theta["log_mean"] for fit in fits]
    sizes = [fit.columns[0].draws.diagnostics.ess_bulk for fit in fits]
    errors = [one.std() / np.sqrt(size) for one, size in zip(draws, sizes, strict=True)]
    assert abs(draws[0].mean() - draws[1].mean()) < 4.5 * np.hypot(*errors)
    assert not np.array_equal(*draws)
    scale = draws[0].std() / np.sqrt(2 * np.log(min(sizes)))
    steepest = 18 - np.exp(min(one.min() for one in draws))  # of f in log_mean, for a count of 18
    bounds = [fit.lipschitz.overall for fit in fits]
    assert abs(bounds[0] - bounds[1]) < 12 * scale * steepest


def test_lw_and_reweighting_run_from_end_to_end(mixture):
    """The run's weights and bounds are those of the matrices of its draws, by SciPy."""
    model = syn.OwnModel.from_stan("negative_binomial", engine="cmdstan")
    synthesizer = syn.Synthesizer("y ~ 1", family=model, mechanism="LW_final", k=0.95, m=2, num_draws=800, seed=3)
    fitted = synthesizer.fit(mixture)
    matrices = []
    for fit in fitted.trail_.fits:
        mu, phi = np.exp(fit.draws.theta["beta"]), fit.draws.theta["phi"][:, None]
        matrices.append(nbinom.logpmf(mixture["y"].to_numpy(), phi, phi / (phi + mu)))
    made = syn.weights_from(matrices[:2], (syn.LW(), syn.Reweight(k=0.95)))
    np.testing.assert_allclose(made.alpha, fitted.alpha_, atol=1e-8)
    bounds = syn.bounds_from(matrices[2], alpha=fitted.alpha_)
    assert bounds.epsilon_per_draw == pytest.approx(fitted.guarantee_.epsilon_per_draw, rel=1e-9)
    tables = fitted.sample()
    assert [len(table) for table in tables] == [len(mixture)] * 2
    assert not tables[0].equals(tables[1])
    # 1,000 rows of the draw's own mean and variance: within 4.5 standard errors of the mean.
    draw = fitted.trail_.fits[-1].draws.take(fitted.picked_)
    for table, beta, phi in zip(tables, draws_of(draw, "beta"), draws_of(draw, "phi"), strict=True):
        mean = np.exp(beta)
        assert abs(table["y"].mean() - mean) < 4.5 * np.sqrt((mean + mean**2 / phi) / len(table))
    (finding,) = fitted.audit_("draw")
    assert np.isfinite(finding.loss)


def draws_of(draws, name):
    return draws.theta[name].reshape(-1)


FAULTS = {
    1: "a prior that reads none of them",
    2: "prior plus 'weights' times 'log_lik'",
    3: "must read its own row only",
    4: "must hold numbers, found entries that are not a number",
    5: "prior plus 'weights' times 'log_lik'",
    6: "must be logarithms of probabilities, at most 0",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_that_breaks_its_promise_is_refused(fault):
    table = pd.DataFrame({"y": np.append(np.random.default_rng(2).poisson(6, 600), [12, 15])})
    with pytest.raises(InputError, match=FAULTS[fault]):
        syn.Synthesizer("y ~ 1", family=poisson_model(fault), mechanism="LW", m=1, seed=1).fit(table)


def test_what_cmdstan_refuses_is_one_sentence_without_values(capfd):
    table = pd.DataFrame({"y": [1, 2, 3, 123_457]})
    said = r"the Stan program must run, found 'counts' with a value that is not less"
    with pytest.raises(InputError, match=said) as refused:
        syn.Synthesizer("y ~ 1", family=poisson_model(), mechanism="LW", m=1, seed=1).fit(table)
    broken = FAULTY.read_text().replace("real log_mean;", "real log_mean")
    with pytest.raises(InputError, match=r'the Stan program must run, found .*";"') as uncompiled:
        syn.OwnModel.from_stan(broken, {"fault": 0, "prior_sd": 5.0}, NAMES, "cmdstan").program.ask("names", {})
    for sentence in (str(refused.value), str(uncompiled.value)):
        assert "123457" not in sentence
        assert "\n" not in sentence
    said = capfd.readouterr()
    assert said.out == ""
    assert set(said.err.splitlines()) == {ONCE.strip()}


LEFT = """
import sys, pathlib, pandas as pd, alphasynth as syn
model = syn.OwnModel.from_stan({program!r}, {{"fault": 0, "prior_sd": 5.0}}, {names!r}, "cmdstan")
def fit(draws):
    table = pd.DataFrame({{"y": [1, 2, 3, 4, 5] * 40}})
    return syn.Synthesizer("y ~ 1", family=model, mechanism="LW", m=1, num_draws=draws, seed=1).fit(table)
fit(400).sample()
print([str(path) for path in pathlib.Path({place!r}).rglob("*") if not path.is_dir()], flush=True)
fit(400_000)
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_no_draw_is_in_a_file_while_it_runs_or_after(tmp_path, ending):
    """A run that ends by itself leaves none; a long one is ended while it samples, by Ctrl-C or SIGKILL."""
    code = LEFT.format(program=str(FAULTY), names=NAMES, place=str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"[]\n"
        wait_for(lambda: len(list(tmp_path.rglob("draws.csv"))) == 4)  # a pipe for each chain
        (folder,) = tmp_path.glob("alphasynth-stan-*")
        assert folder.stat().st_mode & 0o077 == 0
        files = [path for path in tmp_path.rglob("*") if not path.is_dir()]
        assert {path.name for path in files} == {"draws.csv", "data.json", "said"}
        assert all(stat.S_ISFIFO(path.stat().st_mode) == (path.name == "draws.csv") for path in files)
        process.send_signal(ending)
    wait_for(lambda: not any(tmp_path.glob("alphasynth-stan-*")))
    wait_for(lambda: not [path for path in running() if path.startswith(str(tmp_path))])
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


def running():
    """Folders that processes of this machine stand in."""
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            yield os.readlink(path)
        except OSError:  # has ended
            continue
