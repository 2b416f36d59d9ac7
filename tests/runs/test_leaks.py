"""Canaries: planted values, weights, bounds and realised epsilons are in no byte of release/ and in no message."""

from __future__ import annotations

import base64
import json
import re
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from alphasynth import catalogue
from alphasynth.cli.entry import run_command

pytestmark = pytest.mark.usefixtures("alone")
PERSON, NOTE, COUNT, DIAGNOSIS = "CANARY-7f3a", "canary note 551", 483_911, "zq17"
# The count as a number of its own, with a comma or without: a page has thousands of digits of other numbers, which hold
# any six of them in one release of 400 by chance.
WRITTEN = re.compile(rb"(?<![0-9.])483,?911(?![0-9])")


def confidential_table(n=400):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "person": [f"{PERSON}-{i // 2}" for i in range(n)],
            "visits": rng.poisson(20, n),
            "age": rng.integers(20, 70, n),
            "diagnosis": rng.choice([DIAGNOSIS, "b"], n),
            "note": [f"{NOTE} {i}" for i in range(n)],
        }
    )
    frame.loc[7, "visits"] = COUNT
    return frame


def everything(folder: Path) -> bytes:
    """All bytes of a folder's files, their names, and what compressed files hold."""
    parts = []
    for path in sorted(folder.rglob("*")):
        parts.append(path.name.encode())
        if path.is_file():
            parts.append(path.read_bytes())
        if path.suffix == ".html":
            numbers = re.findall(rb"base64,([A-Za-z0-9+/=]+)", path.read_bytes())
            assert numbers
            parts += [base64.b64decode(number) for number in numbers]
        if path.suffix in (".parquet", ".feather", ".arrow"):
            table = pq.read_table(path) if path.suffix == ".parquet" else pf.read_table(path)
            parts += [str(table.schema).encode(), str(table.schema.metadata).encode(), str(table.to_pydict()).encode()]
    return b"\n".join(parts)


def needles(confidential: Path) -> list[bytes]:
    """What must not be found: values as text and as stored numbers, weights, bounds, draws, realised epsilons."""
    records = pq.read_table(confidential / "records.parquet").to_pandas()
    draws = pq.read_table(confidential / "draws.parquet").to_pandas()
    rounds = pq.read_table(confidential / "rounds.parquet").to_pandas()
    summary = json.loads((confidential / "summary.json").read_text())
    numbers = [*records["alpha"], *records["lipschitz"], *draws["phi"], *draws["beta[0]"], *draws["mu"]]
    numbers += [*rounds["alpha"], *rounds["lipschitz"]]
    numbers += [summary["delta"], summary["epsilon_per_draw"], summary["epsilon_total"], summary["epsilon_unit"]]
    numbers += [entry[name] for entry in summary["rounds"] for name in ("delta", "epsilon", "mean_alpha")]
    numbers += [value for search in summary["searches"] for value in (search["value"], search["reached"])]
    found = {PERSON.encode(), NOTE.encode(), DIAGNOSIS.encode(), summary["run"].encode()}
    for pattern in ("<i", "<q", "<d", "<f", ">d"):
        found.add(struct.pack(pattern, COUNT))
    for number in {float(number) for number in numbers} - {0.0, 1.0}:
        found |= {repr(number).encode()[:9], struct.pack("<d", number)} if len(repr(number)) > 7 else set()
    return sorted(found)


@pytest.mark.parametrize(
    "kind", [kind if kind == "csv" else pytest.param(kind, marks=pytest.mark.slow) for kind in catalogue.FORMATS]
)
def test_no_canary_is_in_any_byte_of_a_release(kind, capsys):
    confidential_table().to_parquet("t.parquet")
    options = ["--formula", "visits ~ age", "--family", "negative_binomial", "--mechanism", "LW_final", "--m", "2"]
    more = ["--public", "age", "--epsilon", "60", "--unit", "person", "--max-rows", "1", "--format", kind]
    assert run_command(["synthesize", "t.parquet", *options, *more, "--out", "run"]) == 0
    shown = capsys.readouterr()
    content = everything(Path("run/release"))
    assert len(content) > 1_000
    wanted = needles(Path("run/confidential"))
    assert len(wanted) > 1_000
    for text in (content, shown.out.encode(), shown.err.encode()):
        assert not WRITTEN.search(text)
    for needle in wanted:
        assert needle not in content
        assert len(needle) < 5 or needle not in (shown.out + shown.err).encode()


def test_the_search_for_canaries_finds_what_is_there():
    """The test above can fail: the confidential folder has what it looks for."""
    confidential_table().to_csv("t.csv", index=False)
    options = ["--formula", "visits ~ 1", "--family", "negative_binomial", "--mechanism", "CW", "--radius", "1000000"]
    assert run_command(["synthesize", "t.csv", *options, "--m", "1", "--out", "run", "--quiet"]) == 0
    content, summary = everything(Path("run/confidential")), Path("run/confidential/summary.json").read_bytes()
    assert WRITTEN.search(content)
    assert all(WRITTEN.search(text) for text in (b"a 483911.0", b",483,911\n", b"-483911]", b"483911"))
    assert not any(WRITTEN.search(text) for text in (b"0.483911", b"1483911", b"4839112"))
    assert json.dumps(json.loads(summary)["delta"])[:9].encode() in content
    assert any(needle in content for needle in needles(Path("run/confidential")) if len(needle) == 8)


def test_a_release_can_be_zipped_and_stands_alone(tmp_path):
    import shutil
    import zipfile

    confidential_table().to_csv("t.csv", index=False)
    options = ["--formula", "visits ~ 1", "--family", "negative_binomial", "--mechanism", "LW", "--m", "3"]
    assert run_command(["synthesize", "t.csv", *options, "--out", "run", "--quiet"]) == 0
    archive = shutil.make_archive("published", "zip", "run/release")
    names = sorted(zipfile.ZipFile(archive).namelist())
    tables = ["synthetic_01.csv", "synthetic_02.csv", "synthetic_03.csv"]
    assert names == ["guarantee.json", "report.html", *tables]
    assert str(tmp_path).encode() not in everything(Path("run/release"))


def test_messages_hold_no_values(capsys):
    """Whatever is wrong with the confidential column."""
    bad = {
        "text": [f"{COUNT}x", "5", "6"],
        "negative": [str(-COUNT), "5", "6"],
        "fraction": [f"{COUNT}.5", "5", "6"],
        "huge": [f"{COUNT}000000000", "5", "6"],
        "endless": [f"{COUNT}e400", "5", "6"],
        "gap": ["", str(COUNT), "6"],
    }
    for name, values in bad.items():
        pd.DataFrame({"y": values, "x": "a"}).to_csv(f"{name}.csv", index=False)
        options = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "LW", "--m", "1", "--out", "run"]
        assert run_command(["synthesize", f"{name}.csv", *options]) == 2, name
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "column 'y' must" in shown.err
        assert str(COUNT) not in shown.err
        assert not Path("run").exists()


def test_what_arrow_keeps_beside_the_columns_does_not_travel():
    schema = pa.schema([pa.field("y", pa.int64(), metadata={"secret": NOTE})], metadata={"author": PERSON})
    table = pa.table({"y": np.random.default_rng(0).poisson(9, 200)}).cast(schema)
    pq.write_table(table, "t.parquet")
    pf.write_feather(table, "t.feather")
    options = [
        "--formula",
        "y ~ 1",
        "--family",
        "poisson",
        "--mechanism",
        "SW",
        "--alpha",
        "0.5",
        "--m",
        "1",
        "--quiet",
    ]
    for name in ("t.parquet", "t.feather"):
        assert run_command(["synthesize", name, *options, "--out", f"run-{name}"]) == 0
        content = everything(Path(f"run-{name}/release"))
        assert NOTE.encode() not in content
        assert PERSON.encode() not in content
