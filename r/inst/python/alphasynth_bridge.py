"""What the R package calls: answers go back as plain values, errors as one sentence."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import numpy as np
from alphasynth_columns import arrow, check_order, in_public_order, matrix, numbers, plain

import alphasynth as syn
from alphasynth.errors import found, place
from alphasynth.likelihoods.bounds import Kept
from alphasynth.models.formula_text import read_formula

KNOWN = (syn.InputError, syn.DiagnosticsError, syn.CalibrationError)


def call(name: str, *arguments: Any) -> dict[str, Any]:
    """The answer of one of the verbs below, or the sentences of its error, with the sentences of its warnings."""
    said: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = {"value": VERBS[name](*arguments)}
    except KNOWN as error:
        kind = next(known.__name__ for known in KNOWN if isinstance(error, known))
        answer = {"error": str(error), "kind": kind}
    except MemoryError:
        answer = {"error": "there is not enough memory for this", "kind": "MemoryError"}
    except Exception as error:  # noqa: BLE001 - R must not see a traceback, which may quote a confidential value
        if interrupted(error):
            raise KeyboardInterrupt from None
        answer = {"error": f"this should not have happened: {place(error)}", "kind": type(error).__name__}
    ours = (syn.SamplerWarning, syn.StrictWarning, syn.AuditWarning, syn.OrderWarning)
    answer["warnings"] = [str(one.message) for one in said if issubclass(one.category, ours)]
    return answer


def interrupted(error: Exception) -> bool:
    """Whether an error is an interrupt: reticulate's answer where R noticed it first, or DuckDB's words for it."""
    last = PurePath(traceback.extract_tb(error.__traceback__)[-1].filename)
    by_reticulate = last.parts[-2:] == ("rpytools", "call.py")
    return isinstance(error, RuntimeError) and (by_reticulate or str(error) == "Query interrupted")


def said(value: Any) -> Any:
    """An option as Python writes it: R's whole numbers come as fractions."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: said(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [said(one) for one in value]
    return value


SAMPLERS = {"automatic": syn.Automatic, "laplace": syn.Laplace, "nuts": syn.Nuts, "grid": syn.Grid}
PRIORS = {"lkj": syn.LkjPrior, "scale_mixture": syn.ScaleMixturePrior}


def chosen(name: str, value: Any) -> Any:
    """A sampler or a prior by its name, as on the command line; any other option as it is."""
    names: dict[str, Any] = {"sampler": SAMPLERS, "prior": PRIORS}.get(name, {})
    if not names or value is None:
        return value
    if name == "prior" and isinstance(value, int | float) and not isinstance(value, bool):
        return syn.NormalPrior(float(value))
    if not isinstance(value, str) or value not in names:
        also = ", or a number, the scale of a normal prior" if name == "prior" else ""
        raise syn.InputError(f"{name} must be one of {', '.join(names)}{also}, found {found(value)}")
    return names[value]()


def rule(told: dict[str, Any]) -> Any:
    """A rule from its name and its options."""
    options = {name: said(one) for name, one in told["options"].items()}
    if told["name"] == "Given":
        options["alpha"] = np.frombuffer(told["options"]["alpha"], np.float64)
    if isinstance(options.get("match"), dict):
        options["match"] = rule(told["options"]["match"])
    if "within" in options:
        within = options["within"]
        options["within"] = (within,) if isinstance(within, str) else tuple(within)
    return getattr(syn, told["name"])(**options)


def columns_in(text: str) -> list[str]:
    """The columns that a formula names, the response first; raise `InputError` with the reason alone."""
    parsed = read_formula(text)
    if parsed is None:
        raise syn.InputError("there must be one ~, and before it one column as it stands")
    return [parsed.response, *parsed.covariates]


def _sort_rows(options: dict[str, Any]) -> bool:
    asked = options.pop("sort_rows", False)
    if not isinstance(asked, bool):
        raise syn.InputError(f"sort_rows must be True or False, found {found(asked)}")
    return asked


def synthesize(formula: Any, columns: list[dict[str, Any]], mechanism: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Fit, and what came of it: tables and the public guarantee, and apart from them what is confidential."""
    options = {name: chosen(name, said(one)) for name, one in options.items()}
    sort_rows = _sort_rows(options)
    strange = [name for name in options if name not in inspect.signature(syn.Synthesizer).parameters]
    if strange:
        raise syn.InputError(f"options must be those of alphasynth or of its mechanisms, found {strange[0]}")
    if isinstance(mechanism, list):
        label = " then ".join(one["name"] for one in mechanism)
        mechanism = syn.Mechanism(label, rules=tuple(rule(one) for one in mechanism))
    if isinstance(formula, dict):
        formula = {name: said(one) for name, one in formula.items()}
    asked, table = syn.Synthesizer(formula, mechanism=mechanism, **options), arrow(columns)
    if isinstance(asked, syn.Synthesizer) and not sort_rows:  # whole tables by Raked have no order
        check_order(table, asked.used, asked.public)
    made = asked.fit(table)
    release = made.release()
    public = release.guarantee
    return {
        "tables": [plain(in_public_order(one, public.public_columns) if sort_rows else one) for one in release.tables],
        "draws": release.draws,
        "guarantee": str(public),
        "mechanism": public.mechanism,
        "scope": public.scope,
        "epsilon": public.epsilon,
        "delta": public.policy_delta,
        "m": public.m,
        "n": public.n,
        "releasable": public.releasable,
        "public": list(public.public_columns),
        "confidential": _confidential(made),
    }


def _confidential(made: Any) -> dict[str, Any] | None:
    """Weights, bounds and draws of the last fit; strict mechanisms have none."""
    realised = made.guarantee_
    if realised.strict is not None:
        return None
    last = made.trail_.fits[-1]
    theta = last.draws.theta if len(last.columns) == 1 else {}
    return {
        "guarantee": str(realised),
        "epsilon_per_draw": realised.epsilon_per_draw,
        "epsilon_total": realised.epsilon_total,
        "num_draws": realised.num_draws,
        "overall": last.lipschitz.overall,
        "by_record": numbers(last.lipschitz.by_record),
        "alpha": numbers(last.alpha),
        "theta": {name: {"shape": list(np.shape(each)), "bytes": numbers(each)} for name, each in theta.items()},
    }


def weights_from(log_lik: Any, told: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Weights from log-likelihoods, and the bounds of the fit that these are of, where there is one."""
    made = syn.weights_from(_log_lik(log_lik), rules=rule(told), **_settings(settings))
    return {
        "alpha": numbers(made.alpha),
        "n": made.n,
        "made_from": None if made.made_from is None else numbers(made.made_from),
        "before": None if made.before is None else _bounds(made.before),
    }


def bounds_from(log_lik: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Bounds of the fit that log-likelihoods are of."""
    return _bounds(syn.bounds_from(_log_lik(log_lik), **_settings(settings)))


def _log_lik(given: Any) -> Any:
    return matrix(given["rows"], given["columns"], given["parts"]) if isinstance(given, dict) else given


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a reading; those that are arrays came as bytes. Weights keep the F that they were made from."""
    taken = {
        name: np.frombuffer(one, np.float64) if isinstance(one, bytearray) else said(one) for name, one in given.items()
    }
    made_from = taken.pop("made_from", None)
    return taken if made_from is None else {**taken, "alpha": Kept(taken["alpha"], made_from)}


def _bounds(made: Any) -> dict[str, Any]:
    return {
        "largest": numbers(made.largest),
        "by_record": numbers(made.lipschitz.by_record),
        "overall": made.lipschitz.overall,
        "epsilon_per_draw": made.epsilon_per_draw,
        "num_draws": made.num_draws,
        "thresh_quantile": made.thresh_quantile,
        "weighted_fit": made.weighted_fit,
        "compared": made.compared,
        "n": made.n,
    }


def about() -> dict[str, str]:
    """The version of the Python package."""
    return {"version": syn.__version__}


VERBS: dict[str, Callable[..., Any]] = {
    "about": about,
    "columns_in": columns_in,
    "synthesize": synthesize,
    "weights_from": weights_from,
    "bounds_from": bounds_from,
}
