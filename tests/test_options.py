"""One list of mechanisms' options: rules, front, settings, commands and documents all say the same of them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from pathlib import Path

import pytest
import typer

import alphasynth as syn
from alphasynth import catalogue
from alphasynth.audits.audit import MOST_ROWS
from alphasynth.catalogue import (
    MECHANISMS,
    OF_COLUMNS,
    OPTIONS,
    PARTS,
    TAKES,
    MechanismOptions,
    described,
    options_of,
    shown,
)
from alphasynth.cli.app import app
from alphasynth.cli.compare import DECIDED
from alphasynth.cli.entry import run_command
from alphasynth.evaluation.values import QUANTILES
from alphasynth.exact.axes import DEFAULTS
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.mechanisms.named import CONTRIBUTIONS, RULES
from alphasynth.models.families import FAMILIES
from alphasynth.pages.confidential_page import RADII
from alphasynth.raking.settings import Raked
from alphasynth.runs.compare import ENTRANTS, OF_ROWS
from alphasynth.runs.from_settings import mechanism_options, synthesizer_of
from alphasynth.runs.settings import Settings, read_config
from alphasynth.synthesis.request import Request
from alphasynth.tables.csv_files import TextFormat

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
CLASSES = {**RULES, **CONTRIBUTIONS, "PublicGrid": PublicGrid}
READ = {"Given"}  # its weights are by record, so that an option names their file
# A budget weight's bound is half of what epsilon leaves for a draw, and no option.
SETTLED = {("BW", "bound")}
HINTS = typing.get_type_hints(MechanismOptions)
# Options that a part holds in another form than who asks gives them.
MADE = {"radius", "within", "limits", "distance", "match", "by"}


def default_of(field):
    """A field's default; None for what holds nothing, and for what must be given."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory() or None
    return None if field.default in (dataclasses.MISSING, ()) else field.default


@pytest.mark.parametrize("part", sorted(set(CLASSES) - READ))
def test_the_options_are_the_fields(part):
    fields = {field.name: field for field in dataclasses.fields(CLASSES[part]) if (part, field.name) not in SETTLED}
    assert set(fields) == set(options_of(part))
    hints = typing.get_type_hints(CLASSES[part])
    for name, field in fields.items():
        option = OPTIONS[name]
        found, needed = default_of(field), field.default is field.default_factory is dataclasses.MISSING
        assert (found, type(found), needed) == (option.default, type(option.default), option.needed)
        assert name in MADE or hints[name] | None == HINTS[name]


def test_every_part_and_mechanism_is_known():
    assert {part for parts in PARTS.values() for part in parts} == {*CLASSES, *OF_COLUMNS}
    assert {part for option in OPTIONS.values() for part in option.of} <= {*CLASSES, *OF_COLUMNS}
    assert list(PARTS) == list(MECHANISMS) == list(TAKES)
    assert set(ENTRANTS) == {*MECHANISMS, "Histogram"} - {*OF_COLUMNS, *OF_ROWS}
    assert set(options_of("Raked")) <= {field.name for field in dataclasses.fields(Raked)}


def commands():
    found = typer.main.get_command(app).commands
    return {name: {p.name: p for p in command.params} for name, command in found.items()}


def test_commands_take_every_option():
    for command, left in {"synthesize": (), "audit": (), "compare": DECIDED}.items():
        parameters = commands()[command]
        for name in OPTIONS:
            assert (name in parameters) == (name not in left)
            if name in parameters:
                assert parameters[name].help == described(name)
                assert parameters[name].default is None


def test_defaults_in_help_texts_are_those_of_the_code():
    """Every number in brackets at the end of a help text, and what it is."""
    front = inspect.signature(Request).parameters
    of_code = {
        "draws": front["num_draws"].default,
        "thresh": front["thresh"].default,
        "tables_per_draw": front["tables_per_draw"].default,
        "neighbours": MOST_ROWS,
        "radius": ",".join(f"{radius:g}" for radius, relative in RADII if relative),
        "encoding": TextFormat().encoding,
        "weights": front["weights"].default,
    }
    of_code |= {"csv_safe": "csv-safe", "report": "report"}
    assert Settings.csv_safe
    assert Settings.report
    stated = set()
    for command, parameters in commands().items():
        for name, parameter in parameters.items():
            told = re.search(r"\(([^()]*)\)\.?$", parameter.help or "")
            # `weights` has words of its own, with these numbers.
            own = command == "weights" and not re.search(r"\d", told[1] if told else "")
            if name in OPTIONS and command != "evaluate" and not own:
                assert (told[1] if told else "") == shown(name)
            elif told and name in of_code:
                stated.add(name)
                assert told[1].split(";")[0] == (
                    of_code[name] if isinstance(of_code[name], str) else f"{of_code[name]:g}"
                )
            else:
                assert not told or not re.search(r"\d", told[1]), (command, name)
    assert stated == set(of_code)
    assert f"{QUANTILES[0]:g},{QUANTILES[1]:g} unless told" in commands()["evaluate"]["quantiles"].help


def test_defaults_inside_of_lines_are_those_of_the_code():
    mean, phi = (f"{name}={DEFAULTS[name].low:g}:{DEFAULTS[name].high:.0f}" for name in ("mean", "phi"))
    assert f"of counts {mean},{phi} unless told" in OPTIONS["limits"].line
    assert all(
        family.cut == OPTIONS["cut"].default for family in FAMILIES.values() if not family.levels and not family.above
    )
    assert {family.cut for family in FAMILIES.values() if family.levels} == {5.0}
    assert "5 + log(levels / 2) of categories" in OPTIONS["cut"].line


def test_settings_hold_the_defaults_of_the_front():
    front = inspect.signature(Request).parameters
    for name in ("num_draws", "thresh", "rows", "tables_per_draw", "seed", "weights", "epsilon", "public"):
        assert getattr(Settings, {"num_draws": "draws"}.get(name, name)) == front[name].default


def test_every_parameter_is_described():
    described_there = " ".join(inspect.getdoc(syn.Synthesizer.__init__).split())
    parameters = inspect.signature(syn.Synthesizer).parameters
    assert set(OPTIONS) < set(parameters)
    for name in parameters:
        line = f" {name}: {described(name)}" if name in OPTIONS else f" {name}: "
        assert line in described_there


def test_what_is_no_parameter_is_refused():
    with pytest.raises(TypeError, match=r"Synthesizer\(\) got an unexpected keyword argument 'nonsense'"):
        syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=1, nonsense=3)


def test_the_documents_have_the_table():
    assert catalogue.options_table() in (ROOT / "docs" / "command-line.md").read_text()


def test_the_guide_names_each_mechanisms_options():
    guide = (ROOT / "docs" / "guide.md").read_text()
    for mechanism, taken in TAKES.items():
        (line,) = re.findall(rf"^\| `{mechanism}` \|.*\|$", guide, re.MULTILINE)
        assert tuple(re.findall(r"`(\w+)`", line.split("|")[3])) == taken


BASE = {"table": "t.csv", "formula": "y ~ 1", "family": "poisson", "m": 1, "out": "run"}
VALUES = {
    "scale": 0.5,
    "shift": 0.1,
    "radius": ["age=5", "income=1000"],
    "distance": "gower",
    "relative": True,
    "within": ["sex"],
    "k": "auto",
    "keep_zeros": True,
    "alpha": 0.5,
    "match": "CW:radius=0.3",
    "by": "formula",
    "given": "weights.csv",
    "cap": 0.7,
    "cut": 9.0,
    "share": 0.4,
    "reach": 1.0,
    "beta": 0.2,
    "bound": 0.9,
    "rounds": 2,
    "clip": 3.0,
    "limits": ["mean=1:1000"],
    "step": ["0.01"],
    "response": ["visits"],
    "response_share": 0.6,
    "interactions": ["age:sex"],
}
COLUMNS = {"table": "t.csv", "columns": "columns.toml", "m": 1, "out": "run"}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_file_keeps_every_option(name, tmp_path):
    """Flat, as it always was."""
    (mechanism, *_) = catalogue.takers(name)
    base = COLUMNS if mechanism in OF_COLUMNS else BASE
    settings = Settings.of({**base, "mechanism": mechanism, name: VALUES[name]})
    (tmp_path / "run.toml").write_text(settings.toml())
    kept = read_config(tmp_path / "run.toml")
    assert kept[name] == VALUES[name]
    assert Settings.of(kept) == settings
    wrong = 5 if isinstance(settings.options[name], str) else "five"
    if not isinstance(OPTIONS[name].kept, types.UnionType):
        with pytest.raises(syn.InputError, match=f"{name} must be"):
            Settings.of({**base, "mechanism": mechanism, name: wrong})


@pytest.mark.parametrize("radius", [["age=5"], ["0.3"], 0.3])
def test_one_radius_comes_back_as_it_was(radius, tmp_path):
    settings = Settings.of({**BASE, "mechanism": "CW", "radius": radius})
    (tmp_path / "run.toml").write_text(settings.toml())
    again = Settings.of(read_config(tmp_path / "run.toml"))
    assert mechanism_options(again) == mechanism_options(settings)
    assert mechanism_options(again) == {"radius": {"age": 5.0} if radius == ["age=5"] else 0.3}


def test_words_become_what_the_front_takes():
    words = {name: VALUES[name] for name in ("radius", "limits", "step", "within", "k")}
    assert mechanism_options(Settings.of({**BASE, "mechanism": "CW_final", **words})) == {
        "radius": {"age": 5.0, "income": 1000.0},
        "limits": {"mean": (1.0, 1000.0)},
        "step": 0.01,
        "within": ("sex",),
        "k": "auto",
    }


EARLIER = """\
table = "/data/salaries.csv"
mechanism = "CW_final"
m = 2
out = "/data/run"
formula = "salary ~ 1"
family = "negative_binomial"
weights = "record"
within = ["field"]
public = ["field"]
radius = 0.3
relative = true
scale = 0.9
k = 0.95
sampler = "automatic"
draws = 1000
thresh = 1.0
tables_per_draw = 1
encoding = "utf-8"
csv_safe = true
by_row = false
sort_rows = false
ledger = "/data/alphasynth-ledger.sqlite"
report = true
"""


def test_a_run_file_of_an_earlier_run_is_read(tmp_path):
    (tmp_path / "run.toml").write_text(EARLIER)
    first, last = synthesizer_of(Settings.of(read_config(tmp_path / "run.toml"))).mechanism.rules
    assert first == syn.CW(0.3, relative=True, within=("field",), scale=0.9)
    assert last == syn.Reweight(k=0.95)


TWIN = ["--twin", "mean=20,phi=5,rows=300", "--formula", "y ~ 1", "--family", "negative_binomial", "--m", "1"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")
@pytest.mark.parametrize(
    ("options", "standing"),
    [
        (["--share", "0.4", "--limits", "mean=2:200,phi=0.5:50", "--step", "0.03"], ["Recentred", "Censored"]),
        (["--rounds", "1", "--prior", "normal:2"], ["Scored"]),
    ],
)
def test_options_go_to_the_mechanisms_that_take_them(options, standing, alone, capsys):
    command = ["compare", *TWIN, *options, "--mechanisms", ",".join(standing), "--epsilon", "4", "--repeats", "2"]
    assert run_command([*command, "--out", "league"]) == 0, capsys.readouterr().err
    results = json.loads(Path("league/results.json").read_text())
    assert [line["label"] for line in results["standings"]] == standing
    assert all(line["kept"] and not line["failed"] for line in results["standings"])


def test_an_option_that_nobody_takes_is_refused(alone, capsys):
    command = ["compare", *TWIN, "--share", "0.4", "--rounds", "1", "--mechanisms", "Censored,BW", "--out", "league"]
    assert run_command(command) == 2
    assert "taken by one of the mechanisms compared, found --rounds, --share" in capsys.readouterr().err
    assert not Path("league").exists()
