"""The plan as one self-contained page of public facts, with epsilon and delta on sliders."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from alphasynth import __version__
from alphasynth.evaluation.digits import short
from alphasynth.planning import stand_in
from alphasynth.planning.distances import KINDS, PAIR
from alphasynth.planning.plan import DELTAS, EPSILONS, NEXT_TO_NOTHING, Plan
from alphasynth.privacy.accounting import counted

# What sliders stop at: epsilons a tenth apart, and deltas by powers of ten, after none at all.
STOPS = tuple(float(f"{each:.2g}") for each in np.geomspace(*EPSILONS, 54))
POWERS = tuple(range(round(math.log10(DELTAS[0])), round(math.log10(DELTAS[1])) + 1))
# Where sliders begin, and what is shown where scripts do not run.
FIRST_EPSILON, FIRST_DELTA = 4.0, 1e-9
SHOWN_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
# Pairs that have a line of their own: those with the most noise.
PAIRS = 60
DIGITS = 4


def render(made: Plan) -> str:
    """The page; every text in it is escaped, and a policy in it forbids whatever is not in the file."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    script = _part("alphasynth.planning", "plan.js")
    return environment.from_string(_part("alphasynth.planning", "plan.html.jinja")).render(
        plan=made,
        columns=counted(len(made.columns.names), "column"),
        version=__version__,
        groups=_groups(made),
        budget=_budget(made),
        assumed=_assumed(made),
        kinds=KINDS,
        first=(FIRST_EPSILON, f"1e{round(math.log10(FIRST_DELTA))}"),
        stops=STOPS,
        powers=POWERS,
        nothing=NEXT_TO_NOTHING,
        data=_data(made),
        style=_part("alphasynth.pages", "page.css") + _part("alphasynth.planning", "plan.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@cache
def _part(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8").strip() + "\n"


def _groups(made: Plan) -> list[dict[str, Any]]:
    """Lines of each kind at the first budget: item, noise, in units, how much wider, enough; the loudest first."""
    noise, enough = made.noise(FIRST_EPSILON, FIRST_DELTA), made.enough(FIRST_DELTA)
    found = []
    for kind in KINDS:
        of = [at for at, item in enumerate(made.items) if item.kind == kind]
        if not of:
            continue
        order = sorted(of, key=lambda at: -noise[at])
        lines = [
            {
                "at": at,
                "name": made.items[at].name,
                "noise": in_errors(float(noise[at])),
                "units": short(float(noise[at] * made.errors[at])),
                "wider": f"{100 * (math.hypot(1, noise[at]) - 1):.0f} %",
                "enough": from_epsilon(float(enough[at])),
            }
            for at in order[: PAIRS if kind == PAIR else None]
        ]
        found.append({"kind": kind, "words": KINDS[kind], "lines": lines, "left_out": len(of) - len(lines)})
    return found


def in_errors(noise: float) -> str:
    """Noise in standard errors, with as many digits as a plan knows.

    >>> in_errors(0.012), in_errors(0.437), in_errors(12.7)
    ('below 0.05', '0.44', '13')
    """
    return f"below {NEXT_TO_NOTHING}" if noise < NEXT_TO_NOTHING else f"{noise:.2f}" if noise < 10 else f"{noise:.0f}"


def from_epsilon(epsilon: float) -> str:
    """From which epsilon on noise is below sampling error.

    >>> from_epsilon(0.8642), from_epsilon(0.1), from_epsilon(float("nan"))
    ('0.87', 'any', 'above 20')
    """
    if math.isnan(epsilon):
        return f"above {EPSILONS[1]:g}"
    return "any" if epsilon <= EPSILONS[0] else f"{math.ceil(epsilon * 100) / 100:g}"


def _budget(made: Plan) -> list[dict[str, Any]]:
    """What is measured with which part of the budget, where the plan begins."""
    at = int(np.abs(made.gaussian.heights - made.height(FIRST_EPSILON, FIRST_DELTA)).argmin())
    return [{"words": words, "share": shares[at]} for words, shares in parts_of(made).items()]


def parts_of(made: Plan) -> dict[str, list[float]]:
    """Per cent of the budget that each kind of sums has, at every rung."""
    words = dict.fromkeys(sums.what for measured in made.parts for sums in measured)
    found = {}
    for each in words:
        costs = [sum(sums.cost for sums in measured if sums.what == each) for measured in made.parts]
        totals = [sum(sums.cost for sums in measured) for measured in made.parts]
        found[each] = [round(100 * cost / total, 1) for cost, total in zip(costs, totals, strict=True)]
    return found


def _assumed(made: Plan) -> list[str]:
    """What stands in for the data."""
    if made.public_table:
        return ["Rows stand in that were drawn from the public table that was given."]
    return [
        f"Numbers are a bell in the middle of their limits: its middle at {stand_in.OF_NUMBERS.middle:.0%} of the way, "
        f"its deviation {stand_in.OF_NUMBERS.spread:.0%} of it; of skewed numbers {stand_in.OF_SKEWED.middle:.0%} and "
        f"{stand_in.OF_SKEWED.spread:.0%} on a logarithmic scale.",
        f"Levels of text fall slowly in the order in which they are declared; declared heaps have "
        f"{stand_in.HEAPED:.0%} of the rows, gaps {stand_in.GAPS:.0%}.",
        f"Columns have correlations of about {stand_in.ALIKE**2:.2f}, and of "
        f"{stand_in.ALIKE * stand_in.OF_RESPONSE:.2f} with a response.",
    ]


def _data(made: Plan) -> str:
    """What the script moves, as JSON that cannot end the element it stands in."""
    heights = [[made.height(epsilon, 10.0**power) for epsilon in STOPS] for power in POWERS]
    content = {
        "epsilons": STOPS,
        "powers": POWERS,
        "heights": _rounded(heights),
        "pureHeights": _rounded([made.height(epsilon, None) for epsilon in STOPS]),
        "errors": [float(f"{error:.4g}") for error in made.errors],
        "gaussian": {"heights": _rounded(made.gaussian.heights), "noise": _rounded(made.gaussian.noise)},
        "pure": {"heights": _rounded(made.pure.heights), "noise": _rounded(made.pure.noise)},
        "parts": parts_of(made),
        "nothing": NEXT_TO_NOTHING,
        "first": [STOPS.index(min(STOPS, key=lambda each: abs(each - FIRST_EPSILON))), POWERS.index(-9) + 1],
    }
    return json.dumps(content, allow_nan=False).replace("<", "\\u003c")


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values), DIGITS).tolist()
