"""alphasynth: synthetic tables from confidential microdata under a privacy budget."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# What type checkers see; `_HOME` is what is done.
if TYPE_CHECKING:
    from alphasynth import datasets as datasets
    from alphasynth.audits.finding import Finding as Finding
    from alphasynth.errors import AuditWarning as AuditWarning
    from alphasynth.errors import CalibrationError as CalibrationError
    from alphasynth.errors import DiagnosticsError as DiagnosticsError
    from alphasynth.errors import InputError as InputError
    from alphasynth.errors import OrderWarning as OrderWarning
    from alphasynth.errors import SamplerWarning as SamplerWarning
    from alphasynth.errors import StrictWarning as StrictWarning
    from alphasynth.evaluation.risk import identification_risk as identification_risk
    from alphasynth.evaluation.utility import Utility as Utility
    from alphasynth.evaluation.utility import evaluate as evaluate
    from alphasynth.exact.public_grid import PublicGrid as PublicGrid
    from alphasynth.inference.automatic import Automatic as Automatic
    from alphasynth.inference.contribution import BetaDivergence as BetaDivergence
    from alphasynth.inference.contribution import Censored as Censored
    from alphasynth.inference.contribution import Recentred as Recentred
    from alphasynth.inference.grid import Grid as Grid
    from alphasynth.inference.laplace import Laplace as Laplace
    from alphasynth.inference.nuts import Nuts as Nuts
    from alphasynth.likelihoods.weights import bounds_from as bounds_from
    from alphasynth.likelihoods.weights import weights_from as weights_from
    from alphasynth.mechanisms.mechanism import Mechanism as Mechanism
    from alphasynth.mechanisms.mechanism import Trail as Trail
    from alphasynth.mechanisms.rules import BW as BW
    from alphasynth.mechanisms.rules import CW as CW
    from alphasynth.mechanisms.rules import LW as LW
    from alphasynth.mechanisms.rules import SW as SW
    from alphasynth.mechanisms.rules import Given as Given
    from alphasynth.mechanisms.rules import Reweight as Reweight
    from alphasynth.mechanisms.scored import Scored as Scored
    from alphasynth.models.coefficient_priors import LkjPrior as LkjPrior
    from alphasynth.models.coefficient_priors import NormalPrior as NormalPrior
    from alphasynth.models.coefficient_priors import ScaleMixturePrior as ScaleMixturePrior
    from alphasynth.models.column_model import ColumnModel as ColumnModel
    from alphasynth.models.own_model import OwnModel as OwnModel
    from alphasynth.models.table_model import TableModel as TableModel
    from alphasynth.pages.comparison_page import comparison_page as comparison_page
    from alphasynth.planning.plan import Plan as Plan
    from alphasynth.planning.plan import plan as plan
    from alphasynth.privacy.guarantee import Guarantee as Guarantee
    from alphasynth.privacy.guarantee import PublicGuarantee as PublicGuarantee
    from alphasynth.raking.columns import Columns as Columns
    from alphasynth.suggestions.columns import suggest_columns as suggest_columns
    from alphasynth.suggestions.model import suggest_model as suggest_model
    from alphasynth.synthesis.compilation import use_compilation_cache as use_compilation_cache
    from alphasynth.synthesis.release import Release as Release
    from alphasynth.synthesizer import Synthesizer as Synthesizer
    from alphasynth.tables.csv_files import TextFormat as TextFormat
    from alphasynth.tables.declared import Declared as Declared
    from alphasynth.tables.opening import open_table as open_table
    from alphasynth.tables.records import Records as Records

__version__ = "0.1.0"

# Loaded when first asked for: importing the package stays light.
_HOME = {
    "CalibrationError": "errors",
    "DiagnosticsError": "errors",
    "InputError": "errors",
    "AuditWarning": "errors",
    "StrictWarning": "errors",
    "OrderWarning": "errors",
    "SamplerWarning": "errors",
    "Records": "tables.records",
    "LkjPrior": "models.coefficient_priors",
    "NormalPrior": "models.coefficient_priors",
    "ScaleMixturePrior": "models.coefficient_priors",
    "OwnModel": "models.own_model",
    "Laplace": "inference.laplace",
    "Nuts": "inference.nuts",
    "Grid": "inference.grid",
    "PublicGrid": "exact.public_grid",
    "Automatic": "inference.automatic",
    "BetaDivergence": "inference.contribution",
    "Censored": "inference.contribution",
    "Recentred": "inference.contribution",
    "Scored": "mechanisms.scored",
    "Declared": "tables.declared",
    "ColumnModel": "models.column_model",
    "TableModel": "models.table_model",
    "BW": "mechanisms.rules",
    "CW": "mechanisms.rules",
    "LW": "mechanisms.rules",
    "SW": "mechanisms.rules",
    "Given": "mechanisms.rules",
    "Reweight": "mechanisms.rules",
    "Mechanism": "mechanisms.mechanism",
    "bounds_from": "likelihoods.weights",
    "weights_from": "likelihoods.weights",
    "Columns": "raking.columns",
    "suggest_columns": "suggestions.columns",
    "Plan": "planning.plan",
    "plan": "planning.plan",
    "Trail": "mechanisms.mechanism",
    "Guarantee": "privacy.guarantee",
    "PublicGuarantee": "privacy.guarantee",
    "Release": "synthesis.release",
    "Finding": "audits.finding",
    "Synthesizer": "synthesizer",
    "open_table": "tables.opening",
    "TextFormat": "tables.csv_files",
    "suggest_model": "suggestions.model",
    "use_compilation_cache": "synthesis.compilation",
    "Utility": "evaluation.utility",
    "evaluate": "evaluation.utility",
    "identification_risk": "evaluation.risk",
    "comparison_page": "pages.comparison_page",
}

# Modules that are public by themselves.
_MODULES = ("datasets",)

__all__ = ["__version__", *_MODULES, *_HOME]


if not TYPE_CHECKING:  # else any name at all would type-check

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"alphasynth.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'alphasynth' has no attribute {name!r}")
        return getattr(importlib.import_module(f"alphasynth.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
