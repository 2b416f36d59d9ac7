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
    "Records": "tables.records",
    "LkjPrior": "models.coefficient_priors",
    "NormalPrior": "models.coefficient_priors",
    "ScaleMixturePrior": "models.coefficient_priors",
    "OwnModel": "models.own_model",
    "Laplace": "inference.laplace",
    "Nuts": "inference.nuts",
    "Grid": "inference.grid",
    "PublicGrid": "inference.public_grid",
    "Automatic": "inference.automatic",
    "BetaDivergence": "inference.contribution",
    "Censored": "inference.contribution",
    "Recentred": "inference.contribution",
    "Scored": "mechanisms.scored",
    "Declared": "tables.declared",
    "ColumnModel": "models.table_model",
    "TableModel": "models.table_model",
    "BW": "mechanisms.rules",
    "CW": "mechanisms.rules",
    "LW": "mechanisms.rules",
    "SW": "mechanisms.rules",
    "Given": "mechanisms.rules",
    "Reweight": "mechanisms.rules",
    "Mechanism": "mechanisms.mechanism",
    "Trail": "mechanisms.mechanism",
    "Guarantee": "privacy.guarantee",
    "PublicGuarantee": "privacy.guarantee",
    "Release": "synthesis.release",
    "Finding": "audits.finding",
    "Synthesizer": "synthesizer",
    "open_table": "tables.opening",
    "suggest_model": "models.suggestion",
    "use_compilation_cache": "synthesis.compilation",
    "Utility": "evaluation.utility",
    "evaluate": "evaluation.utility",
    "identification_risk": "evaluation.risk",
    "comparison_page": "pages.comparison_page",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alphasynth' has no attribute {name!r}")
    return getattr(importlib.import_module(f"alphasynth.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
