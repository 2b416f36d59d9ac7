"""The numbers behind docs/trust.md: where claims break, errors at given claims, how the best cap moves.

    python benchmarks/trust.py breaks|canaries|errors|caps [--quick]

Each prints its table and writes benchmarks/results/trust-<name>.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from alphasynth.audits.densities import loss_between, output
from alphasynth.audits.neighbours import recounted
from alphasynth.evaluation.values import Values, statistics
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.mechanism import auto_cap
from alphasynth.privacy.randomness import child
from alphasynth.synthesis.outcome import carry_out, new_rows
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

RESULTS = Path(__file__).parent / "results"
RADIUS = {"radius": 0.3, "relative": True}
AUDITED = {
    "LW": {},
    "LW_final": {"k": 0.95},
    "CW": {**RADIUS, "scale": 1.0},
    "CW_final": {**RADIUS, "k": 0.95},
    "SW": {},
    "BW": {"epsilon": 11.0},
}
GENERATORS = {
    "mixture": lambda rng, n: np.where(
        rng.random(n) < 0.2, rng.negative_binomial(5, 5 / 105, n), rng.negative_binomial(20, 20 / 120, n)
    ),
    "NB(100, 12)": lambda rng, n: rng.negative_binomial(12, 12 / 112, n),
    "NB(5, 2)": lambda rng, n: rng.negative_binomial(2, 2 / 7, n),
    "Poisson(8)": lambda rng, n: rng.poisson(8, n),
}


def records_of(y: np.ndarray) -> Records:
    values, counts = np.unique(y, return_counts=True)
    return Records("y", {"y": values}, counts, None)


def synthesizer(mechanism: str, family: str = "negative_binomial", **options) -> Synthesizer:
    return Synthesizer("y ~ 1", family=family, mechanism=mechanism, m=1, seed=1, **options)


def breaks(quick: bool) -> list[dict]:
    """Exact loss when the smallest or the largest record of iid data from the paper's mixture is removed."""
    sizes = {200: 40, 1_000: 40, 10_000: 40, 100_000: 30, 1_000_000: 12}
    if quick:
        sizes = {1_000: 4}
    lines = []
    for n, databases in sizes.items():
        tables = [records_of(GENERATORS["mixture"](np.random.default_rng([n, i]), n)) for i in range(databases)]
        for name, options in AUDITED.items():
            s = synthesizer(name, **options)
            found = [extreme_losses(s, records) for records in tables]
            claims, losses = np.array([f[0] for f in found]), np.array([f[1] for f in found])
            broken = np.array([f[2] for f in found])
            lines.append(
                {
                    "n": n,
                    "mechanism": name,
                    "databases": databases,
                    "claim": float(np.median(claims)),
                    "median_loss": float(np.median(losses)),
                    "largest_loss": float(losses.max()),
                    "broken": int(broken.sum()),
                }
            )
            print(lines[-1], flush=True)
    return lines


def extreme_losses(s: Synthesizer, records: Records) -> tuple[float, float, bool]:
    """The claim, and the larger loss of the two; broken where either exceeds the larger of both claims."""
    own = output(s.bind(records), s.mechanism, s.target)
    losses, broken = [], False
    for row in (0, records.size - 1):
        counts = records.counts.copy()
        counts[row] -= 1
        other = output(s.bind(recounted(records, counts)), s.mechanism, s.target)
        losses.append(loss_between(own, other))
        broken |= losses[-1] > max(own.claim, other.claim)
    return own.claim, max(losses), broken


def canaries(quick: bool) -> list[dict]:
    """Exact loss when one record is added to the 1,000 counts of tests/reference/nb_mixture.csv."""
    y = np.loadtxt(Path(__file__).parents[1] / "tests" / "reference" / "nb_mixture.csv", skiprows=1, delimiter=",")
    records = records_of((y if y.ndim == 1 else y[:, 0]).astype(int))
    largest = int(records.columns["y"].max())
    cases = {
        "LW": ("LW", {}),
        "LW at 8": ("LW", {"epsilon": 8.0}),
        "LW_final": ("LW_final", {"k": 0.95}),
        "SW": ("SW", {}),
        "SW at 4": ("SW", {"epsilon": 4.0}),
        "CW": ("CW", {**RADIUS, "scale": 1.0}),
        "CW_final": ("CW_final", {**RADIUS, "k": 0.95}),
        "BW at 10": ("BW", {"epsilon": 10.0}),
        "BW at 4": ("BW", {"epsilon": 4.0}),
    }
    lines = []
    for label, (name, options) in list(cases.items())[: 2 if quick else None]:
        s = synthesizer(name, **options)
        own = output(s.bind(records), s.mechanism, s.target)
        for what, value in {"0": 0, "twice the largest": 2 * largest, "ten times the largest": 10 * largest}.items():
            values, counts = np.append(records.columns["y"], value), np.append(records.counts, 1)
            order = np.argsort(values, kind="stable")
            other = output(s.bind(Records("y", {"y": values[order]}, counts[order], None)), s.mechanism, s.target)
            claim = max(own.claim, other.claim)
            lines.append({"mechanism": label, "added": what, "claim": claim, "loss": loss_between(own, other)})
            print(lines[-1], flush=True)
    return lines


@in_64_bit
def table_errors(s: Synthesizer, records: Records, seed: int, tables: int) -> tuple[np.ndarray, float]:
    """Errors (tables, statistics) of single synthetic tables, each from a draw of its own; and the claim per draw."""
    key = np.random.SeedSequence([seed, 17])
    carried = carry_out(child(key, 0), s, s.model, records)
    last = carried.trail.fits[-1]
    own = Values.of(records.columns["y"], records.counts)
    rng = np.random.default_rng(child(key, 1))
    picked = rng.choice(last.columns[0].draws.num_draws, tables, replace=False)
    made = [Values.of(new_rows(key, carried, int(i), rng)["y"]) for i in picked]
    errors = np.array([[one.of(values) - one.of(own) for one in statistics()] for values in made])
    claim = carried.bound.chain.one.model.epsilon if s.strict else 2 * last.lipschitz.overall
    return errors, claim


def errors(quick: bool) -> list[dict]:
    """Root mean squared errors against the confidential statistics, n = 1,000, the paper's mixture."""
    databases, tables = (4, 4) if quick else (100, 20)
    cases = [
        ("Unweighted", "Unweighted", {}),
        ("LW", "LW", {}),
        ("LW_final", "LW_final", {"k": 0.95}),
        ("SW at 11", "SW", {"epsilon": 11.0}),
        ("BW at 10, cap 1", "BW", {"epsilon": 10.0}),
        ("BW at 10, cap 0.9", "BW", {"epsilon": 10.0, "cap": 0.9}),
        ("BW at 4, cap 0.36", "BW", {"epsilon": 4.0, "cap": 4 / 11}),
        ("BW at 4, cap auto", "BW", {"epsilon": 4.0, "cap": "auto"}),
        ("BW at 1, cap auto", "BW", {"epsilon": 1.0, "cap": "auto"}),
        *(
            (f"Censored at {e}", "Censored", {"epsilon": float(e), "limits": {"mean": (0.1, 10_000)}})
            for e in (8, 4, 2, 1)
        ),
        (
            "BetaDivergence at 11, mean 20:500, phi 2:100",
            "BetaDivergence",
            {"epsilon": 11.0, "limits": {"mean": (20, 500), "phi": (2, 100)}},
        ),
        (
            "BetaDivergence at 4, mean 20:500, phi 2:100",
            "BetaDivergence",
            {"epsilon": 4.0, "limits": {"mean": (20, 500), "phi": (2, 100)}},
        ),
    ]
    held = [records_of(GENERATORS["mixture"](np.random.default_rng([1_000, i]), 1_000)) for i in range(databases)]
    names = [one.name for one in statistics()]
    lines = []
    for label, mechanism, options in cases:
        s = synthesizer(mechanism, **options)
        begin = time.perf_counter()
        found = [table_errors(s, records, i, tables) for i, records in enumerate(held)]
        seconds = (time.perf_counter() - begin) / databases
        single = np.concatenate([e for e, _ in found])
        pooled = np.array([e.mean(axis=0) for e, _ in found])
        by_database = np.array([(e**2).mean(axis=0) for e, _ in found])
        rmse = np.sqrt((single**2).mean(axis=0))
        lines.append(
            {
                "label": label,
                "claim": float(np.median([claim for _, claim in found])),
                "rmse_one_table": dict(zip(names, rmse.tolist(), strict=True)),
                "standard_error": dict(
                    zip(
                        names,
                        (by_database.std(axis=0, ddof=1) / np.sqrt(databases) / (2 * rmse)).tolist(),
                        strict=True,
                    )
                ),
                "rmse_mean_of_tables": dict(zip(names, np.sqrt((pooled**2).mean(axis=0)).tolist(), strict=True)),
                "seconds": seconds,
            }
        )
        print(label, lines[-1]["claim"], {k: round(v, 2) for k, v in lines[-1]["rmse_one_table"].items()}, flush=True)
    return lines


CAPS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def caps(quick: bool) -> list[dict]:
    """The cap with the smallest mean relative error of five statistics of one table, by epsilon per draw and n."""
    sizes, epsilons = ((200, 1_000, 10_000, 100_000), (0.5, 1, 2, 4, 8, 16))
    if quick:
        sizes, epsilons = (200,), (4,)
    lines = []
    for generator, make in GENERATORS.items():
        family = "poisson" if generator.startswith("Poisson") else "negative_binomial"
        for n in sizes:
            databases = 8 if n < 100_000 else 3
            held = [records_of(make(np.random.default_rng([n, i]), n)) for i in range(databases)]
            for epsilon in epsilons:
                by_cap = {}
                for cap in CAPS:
                    s = synthesizer("BW", family, epsilon=float(epsilon), cap=cap)
                    shares = []
                    for i, records in enumerate(held):
                        own = Values.of(records.columns["y"], records.counts)
                        scale = np.array([max(abs(one.of(own)), 1.0) for one in statistics()])
                        shares.append(table_errors(s, records, i, 10)[0] / scale)
                    by_cap[cap] = float(np.sqrt((np.concatenate(shares) ** 2).mean(axis=0)).mean())
                best = min(CAPS, key=by_cap.__getitem__)
                near = [cap for cap in CAPS if by_cap[cap] <= 1.1 * by_cap[best]]
                lines.append(
                    {
                        "generator": generator,
                        "n": n,
                        "epsilon_per_draw": epsilon,
                        "best": best,
                        "within_ten_per_cent": [min(near), max(near)],
                        **excess_of_auto(family, float(epsilon), n, by_cap),
                        "errors": {str(cap): error for cap, error in by_cap.items()},
                    }
                )
                print({k: v for k, v in lines[-1].items() if k != "errors"}, flush=True)
    return lines


def excess_of_auto(family: str, epsilon: float, n: int, by_cap: dict[float, float]) -> dict[str, float]:
    """The cap that "auto" takes, and how much larger its error is than the best, between caps by interpolation."""
    model = synthesizer("BW", family, epsilon=1.0).bind(records_of(np.array([1, 2]))).one.model
    cap = auto_cap(epsilon, model, n)
    error = np.exp(np.interp(np.log(cap), np.log(CAPS), np.log([by_cap[c] for c in CAPS])))
    return {"auto": cap, "excess_of_auto": float(error / min(by_cap.values()) - 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("breaks", "canaries", "errors", "caps"))
    parser.add_argument("--quick", action="store_true", help="a few databases, nothing written")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = {"breaks": breaks, "canaries": canaries, "errors": errors, "caps": caps}[asked.name](asked.quick)
    if not asked.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"trust-{asked.name}.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
