"""alphasynth: synthetic tables from confidential microdata under a privacy budget."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Loaded when first asked for: importing the package stays light.
_HOME = {
    "CalibrationError": "errors",
    "DiagnosticsError": "errors",
    "InputError": "errors",
    "AuditWarning": "errors",
    "StrictWarning": "errors",
    "SamplerWarning": "errors",
    "Records": "records",
    "LkjPrior": "priors",
    "NormalPrior": "priors",
    "ScaleMixturePrior": "priors",
    "OwnModel": "own_model",
    "Laplace": "laplace",
    "Nuts": "nuts",
    "Grid": "grid",
    "PublicGrid": "public_grid",
    "Automatic": "automatic",
    "BetaDivergence": "contribution",
    "Censored": "contribution",
    "Recentred": "contribution",
    "Scored": "scored",
    "Declared": "declared",
    "ColumnModel": "table_model",
    "TableModel": "table_model",
    "BW": "weights",
    "CW": "weights",
    "LW": "weights",
    "SW": "weights",
    "Given": "weights",
    "Reweight": "weights",
    "Mechanism": "mechanism",
    "Trail": "mechanism",
    "Guarantee": "guarantee",
    "PublicGuarantee": "guarantee",
    "Release": "release",
    "Finding": "finding",
    "Synthesizer": "synthesizer",
    "open_table": "tables",
    "suggest_model": "suggestion",
    "use_compilation_cache": "compilation",
    "Utility": "utility",
    "evaluate": "utility",
    "identification_risk": "risk",
    "comparison_page": "comparison",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alphasynth' has no attribute {name!r}")
    return getattr(importlib.import_module(f"alphasynth.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
