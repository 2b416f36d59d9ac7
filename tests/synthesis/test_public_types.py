"""Types of a strict release are made of declarations and families: storage, gaps and fractions do not show in them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

import alphasynth as syn
from alphasynth import catalogue
from alphasynth.errors import InputError
from alphasynth.evaluation.values import conform, read_records
from alphasynth.synthesis.writing import write_table
from command_line import run

pytestmark = pytest.mark.usefixtures("alone")

FORMULAS = ["sex ~ 1", "size ~ 1", "smokes ~ 1", "half ~ 1", "age ~ 1", "weight ~ 1", "visits ~ 1"]
FAMILIES = ["bernoulli", "categorical", "bernoulli", "categorical", "normal", "normal", "poisson"]
DECLARED = {
    "sex": {"levels": ["f", "m"], "missing": "model"},
    "size": {"levels": [1, 2, 3], "missing": "model"},
    "smokes": {"levels": [False, True]},
    "half": {"levels": [0.5, 1, 1.5]},
    "age": {"limits": [0, 120], "whole": True, "missing": "model"},
    "weight": {"limits": [0, 200]},
    "visits": {},
}
ARROW = {
    "sex": pa.string(),
    "size": pa.int64(),
    "smokes": pa.bool_(),
    "half": pa.float64(),
    "age": pa.int64(),
    "weight": pa.float64(),
    "visits": pa.int64(),
}
PANDAS = dict(zip(ARROW, ["str", "Int64", "bool", "float64", "Int64", "float64", "int64"], strict=True))
POLARS = dict(zip(ARROW, ["String", "Int64", "Boolean", "Float64", "Int64", "Float64", "Int64"], strict=True))


def people(n: int = 120) -> pa.Table:
    """Every kind of column, none of them with a gap, and numbers that happen to be whole."""
    i = np.arange(n)
    sizes, ages = pa.array(i % 3 + 1), pa.array(i * 7 % 60 + 20)
    weights = pa.array((i * 11 % 50 + 50).astype(float))
    return pa.table(
        {
            "sex": pa.array(np.where(i % 2, "m", "f").tolist(), pa.string()),
            "size": sizes,
            "smokes": pa.array(i % 5 == 0),
            "half": pa.array(i % 3 / 2 + 0.5),
            "age": ages,
            "weight": weights,
            "visits": pa.array(i % 7),
        }
    )


def set_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def with_gaps(table: pa.Table) -> pa.Table:
    """A neighbour: one row has gaps, and a fraction where there were none."""
    for name in ("sex", "size", "age"):  # numbers as pandas has them then
        kind = pa.string() if name == "sex" else pa.float64()
        table = set_column(table, name, pa.array([None, *table.column(name).to_pylist()[1:]], kind))
    return set_column(table, "weight", pa.array([70.25, *table.column("weight").to_pylist()[1:]]))


def stored_otherwise(table: pa.Table) -> pa.Table:
    """The same values in other storage: narrow and wide numbers, decimals, dictionaries, long text, metadata."""
    other = {
        "sex": pa.dictionary(pa.int8(), pa.string()),
        "size": pa.int8(),
        "age": pa.float64(),
        "weight": pa.decimal128(8, 3),
        "visits": pa.float32(),
    }
    for name, kind in other.items():
        table = set_column(table, name, table.column(name).cast(kind))
    fields = [field.with_metadata({"note": "canary"}) for field in table.schema]
    return table.cast(pa.schema(fields, metadata={"note": "canary"}))


VARIANTS = {"plain": people(), "gaps": with_gaps(people()), "storage": stored_otherwise(people())}


def strict(**more) -> syn.Synthesizer:
    given = {"family": FAMILIES, "declared": DECLARED, "mechanism": "Censored", "epsilon": 60.0, "m": 1, "seed": 1}
    return syn.Synthesizer(FORMULAS, num_draws=200, **{**given, **more})


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_frames_of_every_kind(variant):
    table = VARIANTS[variant]
    made = strict().fit(table).sample()[0]
    assert made.schema == pa.schema(ARROW)
    assert made.schema.metadata is None
    assert all(field.metadata is None for field in made.schema)
    frame = strict().fit(table.to_pandas()).sample()[0]
    assert frame.dtypes.astype(str).to_dict() == PANDAS
    polars = strict().fit(pl.from_arrow(table)).sample()[0]
    assert {name: str(kind) for name, kind in polars.schema.items()} == POLARS
    assert polars.to_dict(as_series=False) == made.to_pydict(), "and the same values"


def test_a_category_with_levels_that_occur_nowhere_is_text():
    """Whatever categories pandas and polars keep with a column."""
    table = people().select(["sex"]).to_pandas()
    given = {"family": "bernoulli", "declared": {"sex": {"levels": ["f", "m"]}}, "epsilon": 60.0, "seed": 1}
    for typed in (table.astype(pd.CategoricalDtype(["canary", "f", "m"])), pl.DataFrame({"sex": table["sex"]})):
        if isinstance(typed, pl.DataFrame):
            typed = typed.cast(pl.Enum(["canary", "f", "m"]))
        made = syn.Synthesizer("sex ~ 1", mechanism="Censored", m=1, **given).fit(typed).sample()[0]
        assert "canary" not in repr(made["sex"].dtype)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "int64", "float64", "Int16", "float"])
@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
def test_counts_of_one_column_without_a_table_model(family, kind):
    table = pd.DataFrame({"y": (np.arange(60) % 9).astype(float)}).astype(kind)
    grid = {"limits": {"mean": (1.0, 20.0)}, "step": 0.02}
    made = syn.Synthesizer("y ~ 1", family=family, mechanism="Censored", epsilon=9.0, m=1, seed=1, **grid)
    for source, dtype in ((table, "int64"), (pl.from_pandas(table), "Int64"), (pa.Table.from_pandas(table), "int64")):
        (frame,) = made.fit(source).sample()
        column = frame.column("y").type if isinstance(frame, pa.Table) else frame["y"].dtype
        assert str(column) == dtype


@pytest.mark.slow
def test_a_model_of_ones_own_decides_by_its_distribution():
    """Not by how the table stores what it is fitted to."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def counts(X, y=None):
        rate = numpyro.sample("rate", dist.HalfNormal(5.0))
        numpyro.sample("y", dist.Poisson(rate * jnp.ones(X.shape[0])), obs=y)

    for kind in ("int8", "float64"):
        table = pd.DataFrame({"y": (np.arange(60) % 9).astype(kind)})
        made = syn.Synthesizer(
            "y ~ 1", family=syn.OwnModel(counts, "y"), mechanism="Censored", epsilon=9.0, m=1, seed=1
        )
        for source in (table, pl.from_pandas(table)):
            (frame,) = made.fit(source).sample()
            assert str(frame["y"].dtype).lower() == "int64"


def labelled(writer, more):
    """Writes a file of SPSS or Stata with labels of columns and codes, and formats of its own."""

    def write(table: pa.Table, path: Path) -> None:
        frame = table.cast(pa.schema([field.remove_metadata() for field in table.schema])).to_pandas()
        frame["sex"] = frame["sex"].astype(object).where(frame["sex"].notna(), None)
        frame["weight"] = frame["weight"].astype(float)
        labels = {"size": "How large"}
        codes = {"size": {1: "small", 3: "large", 99: "canary"}, "visits": {7: "canary"}}
        writer(frame, str(path), column_labels=labels, variable_value_labels=codes, **more)

    return write


SOURCES = {
    ".csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
    ".tsv": lambda table, path: table.to_pandas().to_csv(path, index=False, sep="\t"),
    ".parquet": pq.write_table,
    ".feather": lambda table, path: feather.write_feather(table, path),
    ".sav": labelled(pyreadstat.write_sav, {"variable_format": {"age": "F20.5", "visits": "F3.0"}}),
    ".dta": labelled(pyreadstat.write_dta, {"variable_format": {"age": "%20.5f", "visits": "%3.0f"}}),
    ".xpt": lambda table, path: pyreadstat.write_xport(
        table.to_pandas().astype({"weight": float}).assign(sex=lambda t: t["sex"].astype(object)), str(path)
    ),
}
MODEL = "".join(
    f'[[column]]\nformula = "{formula}"\nfamily = "{family}"\n'
    for formula, family in zip(FORMULAS, FAMILIES, strict=True)
)
FACTS = """
[declared_public.sex]
levels = ["f", "m"]
missing = "model"
[declared_public.size]
levels = [1, 2, 3]
missing = "model"
[declared_public.smokes]
levels = [LEVELS]
[declared_public.half]
levels = [0.5, 1, 1.5]
[declared_public.age]
limits = [0, 120]
whole = true
missing = "model"
[declared_public.weight]
limits = [0, 200]
"""


def release(table: pa.Table, suffix: str, name: str) -> Path:
    """The synthetic file of a strict run on a table stored in a file of this kind."""
    if suffix in (".sav", ".dta", ".xpt"):  # which take a gap for a text of no letters
        table = set_column(table, "sex", VARIANTS["plain"].column("sex"))
    SOURCES[suffix](table, Path(f"{name}{suffix}"))
    words = MODEL + FACTS.replace("LEVELS", "0, 1" if suffix in (".sav", ".dta", ".xpt") else "false, true")
    if suffix in (".csv", ".tsv"):
        words = words.replace("[false, true]", '["False", "True"]')
    Path(f"{name}.toml").write_text(words)
    options = ["--model", f"{name}.toml", "--mechanism", "Censored", "--epsilon", 60, "--m", 1, "--seed", 1]
    options += ["--draws", 200, "--quiet", "--no-report", "--out", name]
    assert run("synthesize", f"{name}{suffix}", *options) == 0
    return next(Path(name, "release").glob("synthetic_01.*"))


def schema_of(path: Path) -> object:
    """All that a file says of its columns beside their values."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            return (
                str(file.schema).split("\n")[1:],
                file.schema_arrow.to_string(show_schema_metadata=True),
                file.metadata.metadata,
            )
    if path.suffix in (".arrow", ".feather"):
        return pa.ipc.open_file(path).schema.to_string(show_field_metadata=True, show_schema_metadata=True)
    if path.suffix in (".csv", ".tsv"):
        kinds = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        return path.read_text().splitlines()[0], kinds
    reader = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}[path.suffix]
    meta = vars(reader(str(path))[1])
    return {name: value for name, value in meta.items() if "time" not in name}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SOURCES)
def test_files_of_every_kind(suffix):
    """A gap, a fraction or another storage changes nothing of what a release says of its columns."""
    variants = ["plain", "gaps"] + (["storage"] if suffix in (".parquet", ".feather") else [])
    files = {name: release(VARIANTS[name], suffix, name) for name in variants}
    for name in variants[1:]:
        assert schema_of(files[name]) == schema_of(files["plain"])
    if "storage" in files:
        assert files["storage"].read_bytes() == files["plain"].read_bytes()
        assert pa.ipc.open_file(files["plain"]).schema == pa.schema(ARROW) if suffix == ".feather" else True
    assert not any(b"canary" in path.read_bytes() for path in files.values())


@pytest.fixture(scope="module")
def simulations(tmp_path_factory):
    """A synthetic table of each variant in a Parquet file."""
    folder, made = tmp_path_factory.mktemp("types"), []
    for name, table in VARIANTS.items():
        pq.write_table(table, folder / f"{name}.parquet")
        made += strict().fit(syn.open_table(folder / f"{name}.parquet")).simulations()
    return made


@pytest.mark.slow
@pytest.mark.parametrize("suffix", list(catalogue.FORMATS.values()))
def test_every_format_that_is_written(simulations, suffix):
    files = [Path(f"{name}{suffix}") for name in VARIANTS]
    for simulation, path in zip(simulations, files, strict=True):
        write_table(simulation, path)
    first, *others = [schema_of(path) for path in files]
    assert others == [first, first]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labels_are_those_of_declared_levels(suffix):
    """What a column is called is in the file's schema; of its codes, those that are declared have their words."""
    path = release(VARIANTS["plain"], suffix, "plain")
    meta = (pyreadstat.read_sav if suffix == ".sav" else pyreadstat.read_dta)(str(path))[1]
    assert meta.column_names_to_labels["size"] == "How large"
    assert meta.variable_value_labels == {"size": {1: "small", 3: "large"}}
    assert not any("20.5" in (shown or "") for shown in meta.original_variable_types.values())


@pytest.mark.slow
def test_databases_too():
    with duckdb.connect("store.duckdb") as store:
        for name in ("plain", "gaps"):
            variant = VARIANTS[name]  # noqa: F841
            store.execute(f"CREATE TABLE {name} AS SELECT * REPLACE (age::TINYINT AS age) FROM variant")
    for name in ("plain", "gaps"):
        (made,) = strict().fit(syn.open_table(f"duckdb://store.duckdb::{name}")).sample()
        assert made.schema == pa.schema(ARROW)


def test_a_mechanism_that_is_not_strict_keeps_the_tables_types():
    given = {"declared": {"age": DECLARED["age"]}, "mechanism": "SW", "alpha": 0.5, "m": 1, "seed": 1}
    table = VARIANTS["storage"].select(["sex", "age"])
    made = syn.Synthesizer(["sex ~ 1", "age ~ 1"], family=["bernoulli", "normal"], **given).fit(table).sample()[0]
    assert pa.types.is_dictionary(made.schema.field("sex").type)
    assert made.schema.field("age").type == pa.float64()


@pytest.mark.parametrize("released", [[True, False, True], ["true", "false", "true"]])
def test_truth_values_declared_of_zeros_and_ones_are_compared_with_them(released):
    confidential = read_records(pd.DataFrame({"y": [0, 1, 1]}), ["y"])
    made = conform(confidential, read_records(pd.DataFrame({"y": released}), ["y"]))
    assert dict(zip(made.columns["y"].tolist(), made.counts.tolist(), strict=True)) == {0.0: 1, 1.0: 2}
    with pytest.raises(InputError, match="'y' must hold numbers"):
        conform(confidential, read_records(pd.DataFrame({"y": ["true", "perhaps"]}), ["y"]))
