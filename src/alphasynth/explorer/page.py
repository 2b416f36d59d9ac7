"""The explorer as one self-contained HTML file: nothing is fetched, nothing is sent."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from alphasynth import __version__
from alphasynth.evaluation.digits import short, told
from alphasynth.evaluation.values import is_numeric
from alphasynth.explorer import words
from alphasynth.explorer.dial import EPSILON, Dial, start_of
from alphasynth.explorer.explored import Explored
from alphasynth.explorer.ladder import Ladder
from alphasynth.explorer.opening import epsilon_dial
from alphasynth.explorer.outcome import HIGHEST_KHAT, LEAST_EFFECTIVE, LEAST_KEPT, Expected, Outcome, outcome_at
from alphasynth.explorer.simulated import Simulated
from alphasynth.pages.palette import colours
from alphasynth.privacy.accounting import counted, round_up
from alphasynth.synthesizer import Synthesizer

HISTOGRAM = 20  # bins of the weights
LEAST_ERROR = 1e-5  # by which digits are chosen
LIMITS = {"khat": HIGHEST_KHAT, "effective": LEAST_EFFECTIVE, "kept": LEAST_KEPT}


@dataclass(frozen=True, eq=False)
class Contents:
    """What a page is made from (confidential unless of a twin, whose words `twin` are)."""

    synthesizer: Synthesizer
    explored: Explored
    ladder: Ladder
    simulated: Simulated
    epsilon: float
    twin: str = ""

    @property
    def label(self) -> str:
        """The mechanism; turned at all, Unweighted is SW."""
        label = self.synthesizer.mechanism.label
        return "SW" if label == "Unweighted" else label

    @property
    def response(self) -> str:
        """The column."""
        return self.explored.bound.chain.names[0]

    @property
    def epsilon_dial(self) -> Dial:
        """Epsilon, where it follows from another number and drives that one."""
        return epsilon_dial(self.epsilon)


def render(contents: Contents) -> str:
    """The page as HTML; every text in it is escaped, and a policy in it forbids whatever is not in the file."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    script = _part("alphasynth.explorer", "explorer.js")
    at_start = outcome_at(
        start_of(contents.explored.dials), contents.explored, contents.ladder.pool, contents.simulated
    )
    return environment.from_string(_part("alphasynth.explorer", "explorer.html.jinja")).render(
        **_words(contents),
        **_numbers(contents, at_start),
        sliders=_sliders(contents),
        style=_part("alphasynth.pages", "page.css") + "\n" + _part("alphasynth.explorer", "explorer.css"),
        colour=colours([contents.label])[contents.label],
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        held=json.dumps(held(contents), allow_nan=False).replace("<", "\\u003c"),
    )


def _part(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8").strip()


def held(contents: Contents) -> dict[str, Any]:
    """What the page computes from."""
    explored, pool, simulated = contents.explored, contents.ladder.pool, contents.simulated
    column = pool_column(contents)
    asked = contents.epsilon_dial
    return {
        "label": contents.label,
        "m": contents.synthesizer.m,
        "draws": len(pool.mixture),
        "limits": LIMITS,
        "driven": explored.driven,
        "epsilon": {"values": asked.values} if explored.driven else None,
        "dials": [{"name": d.name, "values": d.values, "start": d.start} for d in explored.dials],
        "facts": explored.facts(),
        "counts": pool.counts.tolist(),
        "least": pool.least,
        "x": None if column is None else column.tolist(),
        "logLik": _packed(pool.log_lik, np.float32),
        "mixture": _packed(pool.mixture, np.float64),
        "bins": simulated.bins,
        "confidential": simulated.confidential.tolist(),
        "shares": _packed(simulated.shares, np.float32),
        "names": simulated.names,
        "own": simulated.own,
        "measures": _packed(simulated.measures, np.float64),
    }


def _packed(values: np.ndarray, kind: Any) -> str:
    """Numbers as the browser's arrays have them, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def pool_column(contents: Contents) -> np.ndarray | None:
    """The column's values by row, where they are numbers."""
    column = contents.explored.bound.chain.records.columns[contents.response]
    return np.asarray(column, np.float64) if is_numeric(column) else None


def _words(contents: Contents) -> dict[str, Any]:
    explored, synthesizer, simulated = contents.explored, contents.synthesizer, contents.simulated
    kind = explored.facts()["kind"]
    twin = bool(contents.twin)
    return {
        "title": f"Explorer: {contents.response}, {contents.label}",
        "running": words.SIMULATED if twin else words.CONFIDENTIAL.split(":")[0],
        "banners": () if twin else (words.CONFIDENTIAL, words.SPENDS),
        "about": words.TWIN.format(contents.twin) if twin else words.TAKES_TWIN,
        "label": contents.label,
        "label_real": contents.label,
        "m_words": counted(synthesizer.m, "draw"),
        "origin": "start" if twin else "run's own",
        "own_epsilon": "stated by a run here" if twin else "stated by the run itself",
        "policy": round_up(contents.epsilon),
        "own_name": "twin" if twin else "confidential",
        "response": contents.response,
        "x_name": contents.response if pool_column(contents) is not None else None,
        "draws": f"{len(contents.ladder.pool.mixture):,}",
        "limits": LIMITS,
        "ends": (simulated.bins[0], simulated.bins[-1]),
        "promise": words.promise(synthesizer),
        "utility_note": words.utility_note(simulated.rows, explored.bound.chain.records.n),
        "explained": words.explained(kind, contents.ladder.fits, len(contents.ladder.u), synthesizer.num_draws),
        "footer": f"alphasynth {__version__}",
        **words.of_kind(kind, synthesizer),
    }


def _numbers(contents: Contents, at: Outcome) -> dict[str, Any]:
    """The numbers of the run's own setting, which stand there until a slider is moved."""
    simulated, counts = contents.simulated, contents.ladder.pool.counts
    place = np.minimum((at.bounds.weights * HISTOGRAM).astype(int), HISTOGRAM - 1)
    spread = np.bincount(place, counts, HISTOGRAM) / counts.sum()
    edges = [f"{i / HISTOGRAM:g} to {(i + 1) / HISTOGRAM:g}" for i in range(HISTOGRAM)]
    own = zip(simulated.names, simulated.own, at.measures, strict=True)
    bins = zip(simulated.bins, simulated.confidential, at.shares, strict=True)
    return {
        "numbers": {
            "epsilon": round_up(at.bounds.epsilon),
            "delta": round_up(at.bounds.overall),
            "weight": f"{at.mean_weight:.3f}",
            "khat": f"{at.khat:.2f}",
            "effective": f"{at.effective:,.0f}",
        },
        "stands": at.stands,
        "spread": [(name, _percent(share)) for name, share in zip(edges, spread, strict=True)],
        "bins": [(name, _percent(one), _percent(other)) for name, one, other in bins],
        "utility": [(name, *_line(value, measured)) for name, value, measured in own],
        "options": [(dial.name, f"{dial.start:.6g}") for dial in contents.explored.dials],
    }


def _line(own: float, measured: Expected) -> tuple[str, ...]:
    """A measure in the confidential table and in synthetic ones, with the digits that their errors allow."""
    mean, sd, error = measured.mean, measured.sd, measured.error
    found = ((own, sd), (mean, error), (mean - own, error), (sd, sd), (error, error))
    return tuple(_told(value, by) for value, by in found)


def _told(value: float, error: float) -> str:
    """As the script tells it, which has four digits where an error is next to nothing."""
    return told(value, error) if error >= LEAST_ERROR else short(value)


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _sliders(contents: Contents) -> list[dict[str, Any]]:
    """Epsilon first, then the mechanism's own numbers."""
    dials = list(contents.explored.dials)
    if contents.explored.driven:
        driven = next(dial for dial in dials if dial.name == contents.explored.driven)
        dials.insert(0, contents.epsilon_dial)
    found = []
    for dial in dials:
        said = f"{dial.words[0].upper()}{dial.words[1:]}."
        if contents.explored.driven and dial.name == EPSILON:
            said += f" It follows from the other numbers; moving it turns {driven.name} as far as it allows."
        title = dial.name if dial.symbol == dial.name else f"{dial.name} ({dial.symbol})"
        entry = {"name": dial.name, "title": title, "words": said, "last": len(dial.values) - 1}
        found.append(entry | {"place": dial.values.index(dial.start), "shown": f"{dial.start:.6g}"})
    return found
