"""Whole tables as their holders meet them: gaps, limits, files, model.toml, suggestions, pages, survey weights."""

from __future__ import annotations

import json
import tomllib
import warnings
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.evaluation.utility import evaluate
from alphasynth.evaluation.values import weighted_statistics
from alphasynth.inference.laplace import Laplace
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.table_model import TableModel
from alphasynth.runs.results import read_run
from alphasynth.suggestions.model import suggest_model, write_suggestion
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.declared import Declared
from alphasynth.tables.gaps import split_gaps
from alphasynth.tables.limits import outward, round_number
from alphasynth.tables.opening import open_table


def survey(n=600, seed=1) -> pd.DataFrame:
    """A table with text, categories, whole numbers, money and gaps."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    age = np.clip(np.rint(rng.normal(45, 14, n)), 18, 90)
    income = np.where(rng.random(n) < 0.3, 0.0, np.round(np.clip(rng.lognormal(7, 0.6, n), 50, 20_000), 2))
    visits = rng.poisson(rng.gamma(1.5, np.exp(0.6 + 0.02 * (age - 45) + 0.3 * (sex == "f")) / 1.5))
    size = pd.Categorical(rng.choice(["small", "medium", "large"], n), ["small", "medium", "large"], ordered=True)
    table = pd.DataFrame({"sex": sex, "age": age, "size": size, "income": income, "visits": visits})
    table.loc[rng.random(n) < 0.2, "age"] = np.nan
    return table


SMALL = {"m": 1, "seed": 1, "num_draws": 200}
STRICT = {"mechanism": "Censored", "epsilon": 20.0, **SMALL}
MODEL = """
[[column]]
formula = "sex ~ 1"
family = "bernoulli"

[[column]]
formula = "age ~ sex"
family = "normal"
budget = 2

[[column]]
formula = "size ~ sex"
family = "ordinal"

[[column]]
formula = "income ~ age + sex"
family = "two_part_log_normal"

[[column]]
formula = "visits ~ age + sex"
family = "negative_binomial"
budget = 4

[declared_public.sex]
levels = ["f", "m"]

[declared_public.age]
limits = [18, 90]
whole = true
missing = "model"

[declared_public.size]
levels = ["small", "medium", "large"]

[declared_public.income]
limits = [50, 20000]
"""


@pytest.fixture(scope="module")
def model() -> TableModel:
    return TableModel.parse(tomllib.loads(MODEL))


@pytest.fixture(scope="module")
def made(model) -> Synthesizer:
    return Synthesizer(model, mechanism="SW", epsilon=30.0, m=1, seed=5, sampler=Laplace(), num_draws=200).fit(survey())


@pytest.mark.slow
def test_gaps_are_modelled_first_and_come_back(made):
    """The share of gaps is the table's, within five standard errors of both; the indicator itself stays inside."""
    (synthetic,) = made.sample()
    assert list(synthetic) == list(survey())
    share, own = synthetic["age"].isna().mean(), survey()["age"].isna().mean()
    alpha = made.trail_.fits[-1].mean_alpha
    assert share == pytest.approx(own, abs=5 * np.sqrt(own * (1 - own) / 600 * (1 + 1 / alpha)))
    names = [entry["column"] for entry in made.guarantee_.columns]
    assert names.index("age is missing") == names.index("age") - 1
    visits = next(entry for entry in made.guarantee_.columns if entry["column"] == "visits")
    assert visits["formula"].endswith("`age is missing`")  # a gap in age is not its stand-in
    shares = {entry["column"]: entry["share_of_budget"] for entry in made.guarantee_.columns}
    assert shares["age"] == shares["age is missing"] == pytest.approx(1 / 9)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_records_with_a_gap_add_nothing_to_the_column(made):
    chain = made._outcome.bound.chain
    age = chain.blocks[chain.names.index("age")]
    last = made.trail_.fits[-1].columns[chain.names.index("age")]
    gone = np.asarray(chain.records.columns["age is missing"]).astype(bool)
    assert gone.any()
    assert (last.largest_distinct[gone] == 0).all()
    assert (last.largest_distinct[~gone] > 0).all()
    assert age.rows.size < chain.records.size


def test_synthetic_rows_keep_what_is_declared(made):
    (synthetic,) = made.sample()
    age = synthetic["age"].dropna()
    assert age.between(18, 90).all()
    assert (age == np.rint(age)).all()
    assert set(synthetic["sex"]) <= {"f", "m"}
    assert isinstance(synthetic["size"].dtype, pd.CategoricalDtype)
    assert synthetic["size"].cat.ordered
    assert list(synthetic["size"].cat.categories) == ["small", "medium", "large"]
    positive = synthetic.loc[synthetic["income"] != 0, "income"]
    assert positive.between(50, 20_000).all()
    assert (synthetic["income"] == 0).mean() > 0.1
    assert synthetic["visits"].dtype == survey()["visits"].dtype


@pytest.mark.slow
def test_a_wild_draw_keeps_the_limits_too():
    """Strict at a tiny epsilon: parameters are all but the prior's, and still no value is beyond."""
    declared = {"age": {"limits": [18, 90], "whole": True}, "income": {"limits": [50, 20_000]}}
    families = ["normal", "two_part_log_normal"]
    options = {"mechanism": "Censored", "epsilon": 0.05, "m": 1, "num_draws": 200}
    for seed in range(3):
        with warnings.catch_warnings(action="ignore"):  # the prior decides, and says so
            wild = Synthesizer(["age ~ 1", "income ~ 1"], family=families, declared=declared, seed=seed, **options)
            (synthetic,) = wild.fit(survey().dropna()).sample()
        assert synthetic["age"].between(18, 90).all()
        assert synthetic.loc[synthetic["income"] != 0, "income"].between(50, 20_000).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_come_back_as_their_own_kind(model, kind):
    frame = survey()
    table = {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame)}[kind]
    options = {"mechanism": "Unweighted", "m": 1, "seed": 2, "num_draws": 200, "sampler": Laplace()}
    (synthetic,) = Synthesizer(model, **options).fit(table).sample()
    assert type(synthetic) is type(table)
    back = synthetic if kind == "pandas" else synthetic.to_pandas()
    assert back["age"].isna().any()
    assert set(back["sex"]) <= {"f", "m"}
    assert back["visits"].dtype.kind == "i"


@pytest.mark.slow
def test_gaps_can_be_dropped_or_public(model):
    table = survey()
    table["region"] = np.arange(len(table)) % 3
    for what, rows in [("drop", int(table["age"].notna().sum())), ("public", len(table))]:
        declared = {**model.declared, "age": Declared(limits=(18.0, 90.0), whole=True, missing=what)}
        one = Synthesizer(
            model.with_declared(declared), mechanism="Unweighted", m=1, seed=2, public=["region"], num_draws=200
        ).fit(table)
        (synthetic,) = one.sample()
        assert len(synthetic) == rows == one.guarantee_.n
        if what == "public":  # row by row where the table has them
            assert (synthetic["age"].isna() == table["age"].isna()).all()
            assert synthetic["region"].tolist() == table["region"].tolist()
        else:
            assert synthetic["region"].tolist() == table.loc[table["age"].notna(), "region"].tolist()
        assert "age is missing" not in [e["column"] for e in one.guarantee_.columns]


def test_gaps_that_nobody_declared(model):
    """Modelled, and said so in the guarantee; refused of a strict mechanism, which must not learn of them."""
    declared = {**model.declared, "age": Declared(limits=(18.0, 90.0), whole=True)}
    silent = model.with_declared(declared)
    one = Synthesizer(silent, mechanism="Unweighted", m=1, seed=2, num_draws=200, sampler=Laplace()).fit(survey())
    assert one.guarantee_.public().declared_public["age"]["read_off_the_table"] == ["missing"]
    with pytest.raises(InputError, match="has gaps, and a strict mechanism must be told so beforehand"):
        Synthesizer(silent, mechanism="Censored", epsilon=4.0, m=1).fit(survey())


def test_public_gaps_of_a_file_need_the_rows_in_order(model, tmp_path):
    survey().to_parquet(tmp_path / "t.parquet")
    declared = {**model.declared, "age": Declared(limits=(18.0, 90.0), whole=True, missing="public")}
    options = {"mechanism": "Unweighted", "m": 1, "seed": 2, "num_draws": 200, "sampler": Laplace()}
    one = Synthesizer(model.with_declared(declared), **options)
    with pytest.raises(InputError, match="needs the rows in their order"):
        one.fit(open_table(str(tmp_path / "t.parquet")))
    (synthetic,) = one.fit(open_table(str(tmp_path / "t.parquet"), in_order=True)).sample()
    assert synthetic.column("age").is_null().to_pylist() == survey()["age"].isna().tolist()


def test_rows_in_the_order_of_any_synthesized_column_are_refused(tmp_path):
    table = survey().dropna().assign(region=lambda t: np.arange(len(t)) % 4).sort_values("income")
    table.to_parquet(tmp_path / "t.parquet")
    model = TableModel.of([ColumnModel.of("visits ~ region", "poisson"), ColumnModel.of("income ~ 1", "poisson")])
    with pytest.raises(InputError, match="sorted, or nearly so, by 'income'"):
        Synthesizer(model, mechanism="LW", m=1, public=["region"]).fit(open_table(str(tmp_path / "t.parquet")))


def test_rows_with_gaps_are_dropped_from_a_file_without_public_columns(tmp_path):
    pd.DataFrame({"age": [3.0, np.nan, 4.0, 5.0] * 40, "y": range(160)}).to_csv(tmp_path / "t.csv", index=False)
    declared = {"age": {"missing": "drop"}}
    front = Synthesizer(
        "age ~ 1", family="poisson", declared=declared, mechanism="Unweighted", m=1, seed=2, num_draws=200
    )
    assert front.fit(open_table(tmp_path / "t.csv")).guarantee_.n == 120


def test_a_strict_mechanism_drops_no_rows(model):
    declared = {**model.declared, "age": Declared(limits=(18.0, 90.0), missing="drop")}
    with pytest.raises(InputError, match="must not drop rows with gaps"):
        Synthesizer(model.with_declared(declared), mechanism="Censored", epsilon=4.0, m=1).fit(survey())


def test_no_record_stands_in_for_another_ones_gap():
    """Decimals too: what fills a gap is public, and the same whatever the others hold."""
    facts = {"x": Declared(limits=(0.0, 10.0), missing="model")}
    for smallest in (Decimal("1.00"), Decimal("5.00")):
        column = pa.array([smallest, None, Decimal("9.00")], pa.decimal128(10, 2))
        assert split_gaps(pa.table({"x": column}), facts).column("x").to_pylist() == [float(smallest), 0.0, 9.0]
    shares = {"x": Declared(limits=(0.1, 0.9), missing="model")}
    assert split_gaps(pa.table({"x": [0.5, None]}), shares).column("x").to_pylist() == [0.5, 0.1]


@pytest.mark.slow
def test_levels_that_occur_do_not_shape_a_strict_design():
    """Declared numbers as a pandas category, and their dummies: the same terms whether or not every level occurs."""
    sizes = []
    for term, values in product(["g", "C(g)"], ([1, 2, 2, 3, 3, 2] * 20, [2, 2, 3, 3, 2, 2] * 20)):
        table = pd.DataFrame({"g": pd.Categorical(values), "y": np.arange(120) % 7})
        one = Synthesizer(
            ["g ~ 1", f"y ~ {term}"],
            family=["categorical", "poisson"],
            declared={"g": {"levels": [1, 2, 3]}},
            **STRICT,
        ).fit(table)
        sizes.append(one.trail_.fits[-1].columns[1].draws.u.shape[1])
        assert set(one.sample()[0]["g"]) <= {1, 2, 3}
    assert sizes == [2, 2, 3, 3]


def test_levels_of_a_column_with_gaps_are_its_own():
    table = pd.DataFrame({"g": [1.0, 2.0, np.nan, 2.0] * 40, "y": np.arange(160) % 5})
    one = Synthesizer(["g ~ 1"], family=["bernoulli"], declared={"g": {}}, mechanism="LW", m=1, seed=1, num_draws=200)
    assert one.fit(table).guarantee_.declared_public["g"]["levels"] == [1.0, 2.0]
    assert set(one.sample()[0]["g"].dropna()) <= {1.0, 2.0}


def test_weights_per_column_keep_the_rules_names_and_their_words():
    one = Synthesizer(
        ["sex ~ 1", "visits ~ sex"],
        family=["bernoulli", "poisson"],
        mechanism="LW",
        weights="column",
        **SMALL,
    ).fit(survey())
    public = one.guarantee_.public()
    assert public.rules == ("LW",)
    assert "exact audits of LW" in public.promise


def test_an_ordinal_column_needs_an_intercept():
    with pytest.raises(InputError, match="must have an intercept"):
        Synthesizer(["visits ~ 1", "size ~ 0 + visits"], family=["poisson", "ordinal"], mechanism="LW", m=1).fit(
            survey()
        )


@pytest.mark.parametrize("value", [2.3, 0.29, 0.57, 77.0, 1.0, -3.14, 123456.0])
def test_suggested_limits_are_never_a_records_own(value):
    assert outward(value, value + 7)[0] < value < outward(value - 7, value)[1]
    if value > 0:
        assert round_number(value, True) < value < round_number(value, False)


def test_gaps_are_split_and_filled_with_a_public_value():
    table = pa.table({"x": [1.5, None, float("nan")], "y": ["b", None, "a"]})
    facts = {"x": Declared(limits=(0.5, 3.0), missing="model"), "y": Declared(levels=("a", "b"), missing="public")}
    split = split_gaps(table, facts)
    assert split.column_names == ["x", "y", "x is missing", "y is missing"]
    assert split.column("x").to_pylist() == [1.5, 1.0, 1.0]
    assert split.column("y").to_pylist() == ["b", "a", "a"]
    assert split.column("x is missing").to_pylist() == [False, True, True]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('family = "bernoulli"', 'family = "bernouli"'), "did you mean bernoulli"),
        (("budget = 2", "budget = 0"), "budget of 'age' must be positive"),
        (("budget = 2", "bugdet = 2"), "a formula, a family and a budget, found 'bugdet' for 'age ~ sex'"),
        (("limits = [18, 90]", "limits = [90, 18]"), "limits of 'age' must be two numbers, low < high"),
        (("[declared_public.sex]", "[declared_public.sx]"), "columns in the model, found 'sx'"),
        (('formula = "sex ~ 1"', ""), "must have a formula, found none"),
        (('[[column]]\nformula = "sex ~ 1"', '[colum]\nformula = "sex ~ 1"'), "found 'colum'"),
        (('formula = "sex ~ 1"', 'formula = "sex ~ visits"'), "in a circle"),
        (("formula", "formula ="), "must be TOML"),
    ],
)
def test_a_model_file_with_a_mistake_gets_one_sentence(tmp_path, change, words):
    path = tmp_path / "model.toml"
    path.write_text(MODEL.replace(*change, 1))
    with pytest.raises(InputError, match=words) as caught:
        TableModel.read(path)
    assert "\n" not in str(caught.value)


def test_a_model_survives_its_file(model, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(model.toml())
    assert TableModel.read(path) == model
    with pytest.raises(InputError, match="must be readable"):
        TableModel.read(tmp_path / "none.toml")


def test_a_suggestion_reads_types_and_no_associations(tmp_path):
    """Columns shuffled one by one give the same suggestion; identifiers and constants are left out."""
    rng = np.random.default_rng(0)
    table = survey().assign(person=np.arange(600), constant=1, few=rng.choice([0.5, 1.5, 2.5], 600))
    table["note"] = [f"text {i}" for i in range(600)]
    path, other = tmp_path / "t.parquet", tmp_path / "s.parquet"
    table.to_parquet(path)
    pd.DataFrame(
        {name: column.sample(frac=1, random_state=i).array for i, (name, column) in enumerate(table.items())}
    ).to_parquet(other)
    one, two = (suggest_model(open_table(str(p))) for p in (path, other))
    assert one.model == two.model
    assert dict(one.left_out) == {
        "person": "every value differs: an identifier?",
        "constant": "it has one value",
        "note": "every value differs: an identifier?",
    }
    families = {column.name: column.family for column in one.model.columns}
    assert families == {
        "sex": "bernoulli",
        "few": "categorical",
        "size": "categorical",
        "age": "normal",
        "income": "two_part_log_normal",
        "visits": "negative_binomial",
    }
    formulas = {column.name: column.formula.text for column in one.model.columns}
    assert "C(few)" in formulas["age"], "numbers with few levels take a coefficient each"
    assert one.model.declared["age"].missing == "model"
    low, high = one.model.declared["age"].limits
    assert low < table["age"].min()
    assert high > table["age"].max()
    write_suggestion(one, tmp_path / "model.toml")
    assert TableModel.read(tmp_path / "model.toml") == one.model
    assert (tmp_path / "model.toml").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="new file"):
        write_suggestion(one, tmp_path / "model.toml")
    with_public = suggest_model(open_table(str(path)), ["sex"])
    assert "sex" not in with_public.model.names
    assert with_public.model.inputs == ("sex",)


def run(*words: str) -> int:
    return run_command([str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a whole table by the command line, strict, with its pages."""
    folder = tmp_path_factory.mktemp("whole")
    survey().to_csv(folder / "survey.csv", index=False)
    (folder / "model.toml").write_text(MODEL)
    code = run(
        "synthesize",
        folder / "survey.csv",
        "--model",
        folder / "model.toml",
        "--mechanism",
        "Censored",
        "--epsilon",
        "30",
        "--m",
        "1",
        "--seed",
        "4",
        "--out",
        folder / "run",
        "--draws",
        "200",
        "--quiet",
    )
    assert code == 0
    return folder


def test_a_run_of_a_model_file_is_a_run_folder(folder):
    stated = json.loads((folder / "run" / "release" / "guarantee.json").read_text())
    assert stated["scope"] == "target", "columns with covariates are drawn by Markov chains"
    assert stated["epsilon"] == 30
    assert [entry["column"] for entry in stated["columns"]] == [
        *("sex", "age is missing", "age", "size", "income is not 0", "income", "visits")
    ]
    assert sum(entry["epsilon_per_draw"] for entry in stated["columns"]) <= 30
    assert stated["declared_public"]["age"] == {"limits": [18.0, 90.0], "whole": True, "missing": "model"}
    assert "no privacy is promised" in stated["promise"]
    synthetic = pd.read_csv(folder / "run" / "release" / "synthetic_01.csv")
    assert list(synthetic) == list(survey())
    assert synthetic["age"].isna().any()
    results = read_run(folder / "run")
    assert results.records.response == "visits"
    assert "age is missing" in results.tables[0].columns


def test_rendering_the_pages_of_a_whole_table_again_gives_the_same(folder):
    """Columns with gaps and categories among them, a round of several columns, statements with lists in them."""
    paths = [folder / "run" / part / "report.html" for part in ("confidential", "release")]
    before = [path.read_bytes() for path in paths]
    assert run("report", folder / "run") == 0
    assert [path.read_bytes() for path in paths] == before


def test_the_pages_show_every_column_and_leak_nothing(folder):
    public = (folder / "run" / "release" / "report.html").read_text()
    confidential = (folder / "run" / "confidential" / "report.html").read_text()
    for name in survey():
        assert name in public
        assert name in confidential
    assert "Associations of pairs of columns" in confidential
    assert 'class="map"' in confidential
    assert "Associations" not in public
    assert "negative binomial" in confidential
    assert "Shares of levels by column" in confidential
    assert "What a record adds, by column" in public
    summary = json.loads((folder / "run" / "confidential" / "summary.json").read_text())
    parts = {"age is missing", "income is not 0"}
    assert set(summary["rounds"][0]["diagnostics"]) == {"sex", "age", "size", "income", "visits"} | parts


@pytest.mark.slow
def test_a_run_can_be_repeated_from_its_own_model(folder):
    (folder / "model.toml").rename(folder / "moved.toml")
    code = run(
        "synthesize",
        "--config",
        folder / "run" / "confidential" / "run.toml",
        "--out",
        folder / "again",
        "--quiet",
        "--no-report",
    )
    assert code == 0
    first, second = ((folder / name / "release" / "synthetic_01.csv").read_text() for name in ("run", "again"))
    assert first == second


@pytest.mark.slow
def test_several_formulas_make_a_chain_on_the_command_line(folder, capsys):
    words = [
        "synthesize",
        folder / "survey.csv",
        "--formula",
        "sex ~ 1",
        "--family",
        "bernoulli",
        "--formula",
        "visits ~ sex",
        "--family",
        "poisson",
        "--levels",
        "sex=f|m",
        "--mechanism",
        "BW",
        "--epsilon",
        "12",
        "--m",
        "2",
        "--draws",
        "200",
        "--out",
        folder / "two",
        "--weights",
        "column",
    ]
    assert run(*words) == 0
    assert "whole row" in capsys.readouterr().out.replace("\n", " ")
    stated = json.loads((folder / "two" / "release" / "guarantee.json").read_text())
    assert stated["weights"] == "column"
    assert [entry["family"] for entry in stated["columns"]] == ["bernoulli", "poisson"]
    assert (folder / "two" / "confidential" / "weights_by_column.parquet").exists()
    assert run("report", folder / "two") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "m.toml", "--formula", "a ~ 1"], "--model states the columns' models, found --formula beside it"),
        (["--model", "none.toml"], "the model file must be readable"),
        (["--formula", "sex ~ 1"], "a run needs --family, found none"),
        (["--formula", "sex ~ 1", "--family", "normal", "--range", "sex=a:b"], "--range must be NAME=LOW:HIGH"),
        (["--formula", "sex ~ 1", "--family", "bernoulli", "--survey-weights", "w"], "declared public"),
        (["--formula", "visits ~ 1", "--family", "categorical", "--missing", "visits=maybe"], "model, drop, public"),
    ],
)
def test_bad_words_get_one_sentence(folder, words, said, capsys):
    code = run("synthesize", folder / "survey.csv", *words, "--mechanism", "LW", "--m", "1", "--out", folder / "bad")
    assert code == 2
    error = capsys.readouterr().err
    assert said in error.replace("\n", " ")
    assert not (folder / "bad").exists()


def test_inspect_suggests(folder, capsys):
    assert run("inspect", folder / "survey.csv", "--suggest", folder / "a-Model.toml") == 0
    assert "check that they may be told" in capsys.readouterr().out
    assert {column.name for column in TableModel.read(folder / "a-Model.toml").columns} == set(survey())


@pytest.mark.slow
def test_survey_weights_can_be_synthesized_or_weight_the_measures(tmp_path):
    table = survey()[["sex", "visits"]].assign(w=np.random.default_rng(0).choice([0.5, 1.5, 4.0], 600))
    table.to_csv(tmp_path / "t.csv", index=False)
    code = run(
        "synthesize",
        tmp_path / "t.csv",
        "--formula",
        "visits ~ sex",
        "--family",
        "poisson",
        "--public",
        "sex,w",
        "--survey-weights",
        "w",
        "--mechanism",
        "LW",
        "--m",
        "1",
        "--draws",
        "200",
        "--out",
        tmp_path / "run",
        "--quiet",
    )
    assert code == 0
    assert "weighted by the survey weights" in (tmp_path / "run" / "confidential" / "report.html").read_text()
    synthetic = pd.read_csv(tmp_path / "run" / "release" / "synthetic_01.csv")
    assert synthetic["w"].tolist() == table["w"].tolist()
    utility = evaluate(table, [synthetic], public=["sex", "w"], survey_weights="w")
    weighted = {(w.column, w.statistic): w for w in utility.weighted}
    assert weighted["visits", "mean"].confidential == pytest.approx(np.average(table["visits"], weights=table["w"]))
    assert weighted["visits", "mean"].synthetic == pytest.approx(np.average(synthetic["visits"], weights=table["w"]))
    with pytest.raises(InputError, match="numbers of at least 0, not all 0"):
        evaluate(table, [synthetic], survey_weights="sex")
    rest = Synthesizer(
        ["w ~ 1", "visits ~ np.log(w)"],
        family=["log_normal", "poisson"],
        declared={"w": {"limits": [0.1, 10]}},
        mechanism="SW",
        epsilon=8.0,
        **SMALL,
    ).fit(table)
    assert rest.sample()[0]["w"].between(0.1, 10).all()


def test_weighted_statistics_are_those_of_repeated_rows():
    values, weights = np.array([3.0, 1.0, 7.0]), np.array([2.0, 5.0, 3.0])
    rows = np.repeat(values, weights.astype(int))
    found = weighted_statistics(values, weights, [0.15, 0.9])
    assert found["mean"] == pytest.approx(rows.mean())
    assert found["sd"] == pytest.approx(rows.std())
    for name, share in [("median", 0.5), ("q15", 0.15), ("q90", 0.9)]:
        assert found[name] == np.quantile(rows, share, method="inverted_cdf")


def test_negative_binomial_regressions_are_statsmodels():
    """Coefficients and standard errors beside those of its own likelihood, which has rows and no counts."""
    import statsmodels.api as sm

    from alphasynth.evaluation.associations import regress
    from alphasynth.evaluation.values import read_records

    table = survey()[["visits", "sex"]].assign(x=np.random.default_rng(3).integers(0, 4, 600))
    table["visits"] = np.random.default_rng(4).negative_binomial(1, 0.3, 600) + table["x"]
    records = read_records(table, ["visits", "x"])
    found = regress("negative binomial: visits ~ x", records, [records])
    assert found.kind == "negative binomial"
    own = sm.NegativeBinomial(table["visits"], sm.add_constant(table[["x"]].astype(float))).fit(disp=0)
    np.testing.assert_allclose(found.coefficients[0], own.params.iloc[:-1], rtol=1e-3)
    np.testing.assert_allclose(found.variances[0] ** 0.5, own.bse.iloc[:-1], rtol=0.02)


@pytest.mark.slow
def test_eighty_categories_work_and_three_hundred_are_refused():
    rng = np.random.default_rng(0)
    for number in (80, 300):
        levels = [f"code {i:03}" for i in range(number)]
        table = pd.DataFrame({"code": rng.choice(levels, 20_000)})
        options = {"mechanism": "Unweighted", "m": 1, "seed": 1, "num_draws": 200}
        one = Synthesizer("code ~ 1", family="categorical", declared={"code": {"levels": levels}}, **options)
        if number == 300:
            with pytest.raises(InputError, match="merge rare levels"):
                one.fit(table)
            continue
        with warnings.catch_warnings(action="ignore"):  # of the sampler that took over
            (synthetic,) = one.fit(table).sample()
        own, new = (t["code"].value_counts(normalize=True).sort_index() for t in (table, synthetic))
        # Two samples of 20,000 and a posterior of as many: five standard errors of a share of 1 / 80.
        np.testing.assert_allclose(new, own, atol=5 * np.sqrt(2 / 80 / 20_000))


def test_columns_in_the_tables_order_whatever_the_models(made):
    model = TableModel.of([ColumnModel.of("visits ~ 1", "poisson"), ColumnModel.of("sex ~ visits", "bernoulli")])
    one = Synthesizer(model, mechanism="Unweighted", m=1, seed=1, num_draws=200).fit(survey())
    assert list(one.sample()[0]) == ["sex", "visits"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["visits", "size"])
def test_types_of_a_strict_release_tell_of_no_gap(name):
    """Pandas turns whole numbers into fractions where one is missing."""
    table = survey()[["sex"]].assign(visits=np.arange(600) % 7, size=np.arange(600) % 3 + 1)
    declared = {"visits": {"missing": "model"}, "size": {"levels": [1, 2, 3], "missing": "model"}}
    types = []
    for gap in (False, True):
        gapped = table.copy()
        if gap:
            gapped[name] = gapped[name].astype(float)
            gapped.loc[0, name] = np.nan
        made = Synthesizer(
            ["visits ~ 1", "size ~ 1"],
            family=["poisson", "categorical"],
            declared=declared,
            **STRICT,
        ).fit(gapped)
        types.append(made.sample()[0].dtypes.astype(str).to_dict())
    assert types[0] == types[1] == {"visits": "Int64", "size": "Int64"}


def test_fractions_are_refused_where_whole_numbers_were_declared():
    table = pd.DataFrame({"age": [30.0, 41.0, 33.5, 50.0] * 10})
    one = Synthesizer(
        ["age ~ 1"], family="normal", declared={"age": {"limits": [0, 99], "whole": True}}, mechanism="LW", m=1
    )
    with pytest.raises(InputError, match="'age' must hold whole numbers, as was declared, found fractions"):
        one.fit(table)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "limits", "share"),
    [("two_part_normal", [1, 10], None), ("hurdle_poisson", [1, 20], 0.5), ("zero_inflated_poisson", [2, 20], 0.5)],
)
def test_zeros_of_their_own_stand_beside_the_limits(family, limits, share):
    """They are kept as often as they come, and no other value becomes one."""
    rng = np.random.default_rng(0)
    values = np.clip(rng.poisson(4, 2_000), limits[0], 10) * (rng.random(2_000) < (share or 1.1))
    values[:2] = 0
    declared = {"y": {"limits": limits, "whole": True}}
    given = {"family": family, "declared": declared, "mechanism": "Unweighted", "m": 1, "seed": 1}
    made = Synthesizer(["y ~ 1"], **given).fit(pd.DataFrame({"y": values})).sample()[0]["y"]
    expected = np.mean(values == 0)
    assert np.mean(made == 0) == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) * 2 / 2_000) + 1e-3)
    assert made[made != 0].between(*limits).all()
    values[5] = 99
    with pytest.raises(InputError, match="'y' must lie within its declared limits"):
        Synthesizer(["y ~ 1"], **given).fit(pd.DataFrame({"y": values}))


def test_whole_numbers_brought_to_fractional_limits_stay_within():
    declared = Declared(limits=(1.5, 8.5), whole=True)
    assert declared.within(np.array([-3, 20])).tolist() == [2, 8]
    assert Declared(limits=(0.5, 3.0)).within(np.array([-1.0])).tolist() == [0.5]


@pytest.mark.parametrize("limits", [[-20, 110], [0, 110]])
def test_terms_must_be_finite_within_declared_limits(limits):
    table = pd.DataFrame({"age": np.arange(18, 98) * 1.0, "y": np.arange(80) % 5})
    one = Synthesizer(
        ["age ~ 1", "y ~ np.log(age)"],
        family=["normal", "poisson"],
        declared={"age": {"limits": limits}},
        mechanism="LW",
        m=1,
        num_draws=200,
    )
    with pytest.raises(InputError, match=r"terms of 'y ~ np.log\(age\)' must be finite wherever"):
        one.fit(table)


def test_radii_are_of_columns_that_have_numbers():
    for radius, name in (({"age": 5.0, "foo": 1.0}, "foo"), ({"age": 5.0, "sex": 1.0}, "sex")):
        with pytest.raises(InputError, match=f"found one for '{name}', which is none"):
            Synthesizer(
                ["sex ~ 1", "age ~ sex"],
                family=["bernoulli", "normal"],
                declared={"age": {"limits": [0, 99]}},
                mechanism="CW",
                radius=radius,
                m=1,
            )
    with pytest.raises(InputError, match="distance must be left out with weights per column"):
        Synthesizer(
            ["sex ~ 1", "visits ~ sex"],
            family=["bernoulli", "poisson"],
            mechanism="CW",
            radius=0.2,
            distance="gower",
            weights="column",
            m=1,
        )


def test_a_column_model_takes_what_is_declared_in_words():
    column = ColumnModel.of("sex ~ 1", "bernoulli", declared={"levels": ["f", "m"]})
    assert column.declared == Declared(levels=("f", "m"))
    with pytest.raises(InputError, match="one of levels, labels, limits, whole, decimals, missing, found 'level'"):
        ColumnModel.of("sex ~ 1", "bernoulli", declared={"level": ["f", "m"]})
