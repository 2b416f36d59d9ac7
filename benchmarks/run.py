"""Benchmarks: `make bench` prints a table and writes benchmarks/results/benchmark.json.

Every comparison is a ratio of times taken within this run, since machines are shared and noisy. Nothing here is a test.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def write_results(name: str, results: Any) -> Path:
    """Write results as JSON among the others; return where they are."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(results, indent=2) + "\n")
    return path


def simulate(n: int, seed: int = 20240601) -> np.ndarray:
    """Counts from the paper's mixture, 0.2 NB(100, 5) + 0.8 NB(100, 20)."""
    rng = np.random.default_rng(seed)
    counts = np.empty(n, np.int64)
    for first in range(0, n, 1_000_000):
        part = slice(first, min(first + 1_000_000, n))
        phi = np.where(rng.random(part.stop - part.start) < 0.2, 5.0, 20.0)
        counts[part] = rng.poisson(rng.gamma(phi, 100 / phi))
    return counts


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def in_turns(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each function, the functions called in turns, after one call each to warm up."""
    for function in functions.values():
        function()
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            taken[name].append(seconds(function))
    return {name: float(np.median(times)) for name, times in taken.items()}


def problem_of(y: np.ndarray, num_draws: int) -> Any:
    import pyarrow as pa

    from alphasynth.inference.laplace import Laplace
    from alphasynth.mechanisms.fit import Problem
    from alphasynth.models.families import bind_design
    from alphasynth.models.formula import Formula, design_of
    from alphasynth.tables.records import Records

    records = Records.from_table(pa.table({"y": y}), ["y"])
    formula = Formula.parse("y ~ 1")
    model, rows = bind_design(formula, "negative_binomial", records, design_of(formula, records))
    return Problem(records, model, rows, Laplace(), num_draws)


def numpyro_nuts(y: np.ndarray, draws: int) -> tuple[float, float, float]:
    """NumPyro's NUTS on every row: seconds of warm-up and of sampling, and effective draws.

    It is given the mode and the posterior's scales to start from, which a user would have to find first.
    """
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import potential_energy

    from alphasynth.inference.diagnostics import compare_chains

    def model(y: Any) -> None:
        sigma = numpyro.sample("sigma", dist.FoldedDistribution(dist.StudentT(3.0, 0.0, 1.0)))
        beta = numpyro.sample("beta", dist.Normal(0.0, sigma))
        reciprocal_phi = numpyro.sample("reciprocal_phi", dist.HalfCauchy(5.0))
        with numpyro.plate("records", len(y)):
            numpyro.sample("y", dist.NegativeBinomial2(jnp.exp(beta), 1 / reciprocal_phi), obs=y)

    begin, advance = hmc(lambda z: potential_energy(model, (y,), {}, z), algo="NUTS")

    def steps(state: Any) -> Any:
        def step(state: Any, _: None) -> tuple[Any, Any]:
            state = advance(state)
            return state, (state.z["beta"], state.z["reciprocal_phi"])

        return jax.lax.scan(step, state, None, draws)

    start = {"sigma": jnp.log(2.0), "beta": jnp.log(100.0), "reciprocal_phi": -jnp.log(12.3)}
    scales = np.array([0.01, 0.05, 0.5]) * np.array([np.sqrt(1000 / len(y)), np.sqrt(1000 / len(y)), 1])
    metric = jnp.asarray(scales**2)  # of beta, log reciprocal_phi, log sigma
    state = begin(start, draws, step_size=0.5, inverse_mass_matrix=metric, rng_key=jax.random.key(0))
    run = jax.jit(steps).lower(state).compile()  # one program for both halves; compiling is not timed
    first = time.perf_counter()
    state = jax.block_until_ready(run(state)[0])
    second = time.perf_counter()
    chain = np.stack(jax.block_until_ready(run(state)[1]), axis=-1)
    return second - first, time.perf_counter() - second, compare_chains(chain.reshape(4, -1, 2))[0]


def effective_draws(n: int, nuts_draws: int) -> dict[str, float]:
    """(a) Effective draws a second: `Laplace` on distinct rows, NumPyro's NUTS on all rows; both compiled before."""
    import jax

    from alphasynth.inference.density import Target

    y = simulate(n)
    with jax.enable_x64(True):
        warm_up, sampling, nuts_ess = numpyro_nuts(y, nuts_draws)
        problem = problem_of(y, 4000)
        target = Target.of(problem.model, problem.rows, problem.rows.total(problem.records.counts.astype(float)))
        draw = lambda: problem.sampler.draw(np.random.SeedSequence(1), target, 4000)  # noqa: E731
        ours = in_turns({"laplace": draw}, 15)["laplace"]
        our_ess = draw().diagnostics.ess_bulk
    return {
        "laplace_per_second": our_ess / ours,
        "nuts_per_second": nuts_ess / sampling,
        "nuts_per_second_with_warm_up": nuts_ess / (sampling + warm_up),
        "ratio": our_ess / ours / (nuts_ess / sampling),
        "ratio_with_warm_up": our_ess / ours / (nuts_ess / (sampling + warm_up)),
    }


def pipeline_and_floor(n: int) -> dict[str, float]:
    """(b) LW_final with k = 0.95, records to guarantee, against three times S x distinct rows of log-likelihoods."""
    import jax

    from alphasynth.mechanisms.chain import Chain
    from alphasynth.mechanisms.mechanism import Mechanism, run
    from alphasynth.mechanisms.rules import LW, Reweight
    from alphasynth.privacy.guarantee import Guarantee

    S = 4000
    problem = problem_of(simulate(n), S)
    mechanism = Mechanism("LW_final", rules=(LW(), Reweight(k=0.95)))
    key = np.random.SeedSequence(1)

    def pipeline() -> Guarantee:
        trail = run(key, Chain.of_one(problem), mechanism)
        last = trail.fits[-1]
        return Guarantee("LW_final", ("LW", "Reweight"), last.lipschitz.overall, 1, n, S, "Laplace")

    model, size = problem.model, problem.rows.size
    columns = {name: column[:size] for name, column in problem.rows.columns.items()}
    with jax.enable_x64(True):
        u = run(key, Chain.of_one(problem), mechanism).fits[0].columns[0].draws.u
        evaluate = jax.jit(jax.vmap(lambda u, c: model.log_lik(model.prior.constrain(u), c), (0, None)))

        def floor() -> None:
            for _ in range(3):
                jax.block_until_ready(evaluate(u, columns))

        median = in_turns({"pipeline": pipeline, "floor": floor}, 40)
    return {**median, "ratio": median["pipeline"] / median["floor"], "distinct_rows": size}


def in_new_process(job: str, *arguments: object, cache: str | None = None) -> dict[str, float]:
    """Run one of the jobs below in a process of its own; the time includes starting it."""
    environment = {**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")}
    start = time.perf_counter()
    command = [sys.executable, __file__, job, *map(str, arguments), *([cache] if cache else [])]
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return {**json.loads(out.splitlines()[-1]), "process_seconds": time.perf_counter() - start}


def job_scale(n: str) -> dict[str, float]:
    """(c) LW_final at n rows, from a table in memory to one synthetic table."""
    import pyarrow as pa

    import alphasynth as syn

    small = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=1)
    small.fit(pa.table({"y": simulate(1000)})).sample()  # compiles
    y = simulate(int(n))
    before = peak()
    s = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=1)
    fit = seconds(lambda: s.fit(pa.table({"y": y})))
    by_record = seconds(lambda: (s.alpha_, s.lipschitz_.by_record))
    sample = seconds(s.sample)
    return {
        "fit_seconds": fit,
        "by_record_seconds": by_record,
        "sample_seconds": sample,
        "peak_before_mb": before,
        "peak_mb": peak(),
    }


def peak() -> float:
    """Largest resident size of this process so far, in MB (`ru_maxrss` would start at the parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def job_first(cache: str) -> dict[str, float]:
    """(e) Time from the start of a process to a first release, with the compilation cache in a folder."""
    import pyarrow as pa

    import alphasynth as syn

    syn.use_compilation_cache(cache)
    s = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=1)
    s.fit(pa.table({"y": simulate(1000)}))
    return {"tables": len(s.release().tables)}


def count_weights(n: int) -> dict[str, float]:
    """(d) The counting in CW, on n counts (distinct values) and on n values that are all different."""
    from alphasynth.tables.nearness import count_inside

    counts, weights = np.unique(simulate(n), return_counts=True)
    distinct = np.random.default_rng(0).permutation(n).astype(float)
    one, none = np.ones(n, np.int64), np.zeros(n, np.int64)
    few = lambda: count_inside(counts * 1.0, weights, np.zeros(len(counts), int), 0.3 * counts)  # noqa: E731
    many = lambda: count_inside(distinct, one, none, np.full(n, 10.0))  # noqa: E731
    return in_turns({"counts": few, "all_different": many}, 3)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    results: dict[str, Any] = {
        "machine": {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    }

    def note(name: str, value: str, wanted: str = "") -> None:
        print(f"{name:<66} {value:>22} {wanted}", flush=True)

    print(f"{'benchmark':<66} {'measured':>22} wanted")
    for n, nuts_draws, wanted in ((1_000, 1_000, 100), (100_000, 100, 1_000)):
        a = results[f"effective_draws_{n}"] = effective_draws(n, nuts_draws)
        note(f"(a) effective draws/s over NumPyro NUTS, n = {n:,}", f"{a['ratio']:,.0f} x", f">= {wanted:,} x")
        note("    the same with NUTS' warm-up counted", f"{a['ratio_with_warm_up']:,.0f} x")
        note("    Laplace, effective draws a second", f"{a['laplace_per_second']:,.0f}")
    for n in (1_000, 1_000_000):
        b = results[f"pipeline_{n}"] = pipeline_and_floor(n)
        label = f"(b) LW_final over the floor, n = {n:,}, {b['distinct_rows']} distinct rows"
        note(label, f"{b['ratio']:.2f} x", "<= 4 x")
        note("    pipeline, floor", f"{1e3 * b['pipeline']:.1f} ms, {1e3 * b['floor']:.1f} ms")
    for n in (1_000, 100_000, 10_000_000):
        c = results[f"scale_{n}"] = in_new_process("scale", n)
        note(f"(c) LW_final, n = {n:,}: fit", f"{c['fit_seconds']:.2f} s")
        note("    by record, one synthetic table", f"{c['by_record_seconds']:.2f} s, {c['sample_seconds']:.2f} s")
        note("    peak memory", f"{c['peak_mb']:,.0f} MB", "< 2,000 MB" if n == 10_000_000 else "")
    d = results["count_weights_1000000"] = count_weights(1_000_000)
    note("(d) CW, n = 1,000,000 counts", f"{1e3 * d['counts']:.1f} ms")
    note("    n = 1,000,000 different values", f"{d['all_different']:.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("first", "second"):
            e = results[f"{name}_process"] = in_new_process("first", cache=cache)
            what = "no cache" if name == "first" else "compilation cache"
            note(f"(e) new process to a first release, {what}", f"{e['process_seconds']:.1f} s")
    print(f"\nwritten to {write_results('benchmark', results)}")


if __name__ == "__main__":
    jobs = {"scale": job_scale, "first": job_first}
    if len(sys.argv) > 1:
        print(json.dumps(jobs[sys.argv[1]](*sys.argv[2:])))
    else:
        main()
