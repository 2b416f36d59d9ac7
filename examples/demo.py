"""Six synthesizers of the paper on simulated counts, a strict release, audits of claims; files and pages.

`make demo` runs it. The table is simulated with a fixed seed, so nothing here is confidential, and nothing is for
release; the folders are laid out as they would be for a real table.
"""

from __future__ import annotations

import json
import shlex
import shutil
import textwrap
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.privacy.accounting import round_up

OUT = Path("demo-output")
M = 20
# Ours: the paper gives no radius, scale or shift. studies/NOTES.md has others that fit its published rows as well.
CW = {"radius": 0.3, "relative": True, "scale": 1.5, "shift": 0.1}
SYNTHESIZERS = {"Unweighted": {}, "LW": {}, "CW": CW, "SW": {}, "LW_final": {}, "CW_final": CW}
STATISTICS = {
    "q15": lambda y: np.quantile(y, 0.15),
    "q90": lambda y: np.quantile(y, 0.9),
    "mean": np.mean,
    "median": np.median,
}


def main() -> None:
    begin = time.perf_counter()
    release, confidential = OUT / "release", OUT / "confidential"
    release.mkdir(parents=True, exist_ok=True)
    confidential.mkdir(mode=0o700, exist_ok=True)
    table = syn.datasets.nb_mixture(n=1_000, seed=20240601)
    table.to_csv(confidential / "table.csv", index=False)

    print(
        f"{len(table):,} counts from 0.2 NB(100, 5) + 0.8 NB(100, 20); each synthesizer: {M} draws, a table from each\n"
    )
    heads = f"{'':<11} {'Delta':>7} {'epsilon per draw':>17} {'mean alpha':>11}"
    print(heads + "".join(f" {name:>8}" for name in STATISTICS))
    shown = [statistic(table["y"]) for statistic in STATISTICS.values()]
    print(f"{'table':<11} {'':>7} {'':>17} {'':>11}" + "".join(f" {value:>8.2f}" for value in shown))
    summary, synthesizers = [], []
    for label, options in SYNTHESIZERS.items():
        settings = {"family": "negative_binomial", "mechanism": label, "m": M, "seed": 1, **options}
        synthesizer = syn.Synthesizer("y ~ 1", **settings).fit(table)
        synthesizers.append(synthesizer)
        published = synthesizer.release()
        for number, synthetic in enumerate(published.tables, start=1):
            synthetic.to_csv(release / f"{label}_{number:02}.csv", index=False)
        guarantee = synthesizer.guarantee_
        values = [
            np.mean([statistic(synthetic["y"]) for synthetic in published.tables]) for statistic in STATISTICS.values()
        ]
        print(
            f"{label:<11} {round_up(guarantee.delta):>7} {round_up(guarantee.epsilon_per_draw):>17} "
            f"{synthesizer.alpha_.mean():>11.3f}" + "".join(f" {value:>8.2f}" for value in values)
        )
        summary.append({"synthesizer": label, "delta": guarantee.delta, "mean_alpha": synthesizer.alpha_.mean()})
        summary[-1] |= dict(zip(STATISTICS, values, strict=True))
        records = table.assign(alpha=synthesizer.alpha_, lipschitz=synthesizer.lipschitz_.by_record)
        records.to_csv(confidential / f"{label}_records.csv", index=False)
        (release / f"{label}_guarantee.json").write_text(json.dumps(asdict(published.guarantee), indent=2) + "\n")
    pd.DataFrame(summary).to_csv(confidential / "summary.csv", index=False)

    words = (
        f"Statistics are means over {M} synthetic tables. Delta is from {guarantee.num_draws:,} draws, rounded up; m "
        f"draws cost m times epsilon per draw. Each epsilon is {guarantee.promise}."
    )
    print(f"\n{textwrap.fill(words, 100)}")
    print(f"\nSynthetic tables and their public guarantees: {release}/ (not for release: the seed is fixed)")
    print(f"Weights and bounds by record, confidential for a real table: {confidential}/")
    run_command_line(confidential / "table.csv")
    page = confidential / "report.html"
    page.write_text(syn.comparison_page(table, synthesizers, "Six synthesizers of simulated counts"), encoding="utf-8")
    print(f"\nTook {time.perf_counter() - begin:.1f} s. The pages of that run:")
    for path in (OUT / "run" / "confidential" / "report.html", OUT / "run" / "release" / "report.html"):
        print(f"  {path.absolute()}")
    print(f"The six synthesizers side by side; open it in a browser:\n  {page.absolute()}")


def run_command_line(table: Path) -> None:
    """The same table through the command line: a strict release, noted in a ledger; and audits of two claims."""
    run, ledger = OUT / "run", OUT / "alphasynth-ledger.sqlite"  # its own, whatever lies in this folder
    shutil.rmtree(run, ignore_errors=True)
    model = f"{table} --formula 'y ~ 1' --family negative_binomial --m 1"
    strict = "--mechanism Censored --epsilon 4"
    show(f"alphasynth synthesize {model} {strict} --dataset demo --out {run} --ledger {ledger}")
    show(f"alphasynth ledger --ledger {ledger}")
    # Exit code 3: SW's weight is searched on the table, and one record more takes it down for everybody.
    show(f"alphasynth audit {model} --mechanism SW --epsilon 4 --neighbours 4", expected=3)
    show(f"alphasynth audit {model} {strict} --neighbours 4")


def show(command: str, expected: int = 0) -> None:
    """Run a command as the shell would, and say which."""
    print(f"\n$ {command}")
    code = run_command(shlex.split(command)[1:])
    if code != expected:
        raise SystemExit(f"exit code {code}")


if __name__ == "__main__":
    main()
