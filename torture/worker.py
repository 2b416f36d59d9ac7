"""A process that spoils files and puts them through the commands, one case after another; it may die of one."""

from __future__ import annotations

import functools
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
import tomllib
import traceback
from pathlib import Path

import typer

from torture.accounts import LEDGER, accounts
from torture.counts import Counts
from torture.formats import TABLE
from torture.judged import judge_words
from torture.mutations import declaration_of, file_of
from torture.processes import FRESH, Ended
from torture.tables import COLUMNS, EXACT, RAKED, SCORED, lay

SPENT = "its epsilon counts as spent"
MEMORY = 16 << 30  # bytes of addresses; libraries reserve some
# Most runs are of whole tables, which need no other library: few columns, since every file is run.
WAYS = (*(RAKED,) * 10, EXACT, SCORED)
FEW = "".join(f"[column.{part}" for part in COLUMNS.split("[column.")[3:])


def main() -> None:
    """Numbers of cases on standard input; what was found of each, in a line, where standard output was."""
    seed, root = sys.argv[1], Path(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a file must not take the machine's
    typer.main.get_command = functools.cache(typer.main.get_command)  # the same commands for every file
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        kind, number = line.split()
        counts = Counts(kind)
        begin, used = time.perf_counter(), _used()
        case_of(counts, f"{kind} {seed}:{number}", kind, root / "case")
        counts.wall, counts.cpu = time.perf_counter() - begin, _used() - used
        answers.write(json.dumps(counts.plain()) + "\n")
        answers.flush()


def case_of(counts: Counts, case: str, kind: str, folder: Path) -> None:
    """One spoilt file, made from the name of its case and nothing else, and what becomes of it."""
    source = random.Random(case)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lay(folder)
    (folder / "columns.toml").write_text(FEW)
    os.chdir(folder)
    if kind == "toml":
        name, content = declaration_of(source)
        address = "people.csv"
        asked = ["--model" if name == "model.toml" else "--columns", name]
        asked += ["--delta", "1e-6"] if name == "columns.toml" else []
    else:
        suffix, content = file_of(source)
        name = f"t{suffix}"
        address, asked = name + TABLE.get(suffix, ""), list(source.choice(WAYS))
    (folder / name).write_bytes(content)
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    call = _apart if kind == "fresh" else _here
    if kind != "toml":
        asked = _inspect(counts, case, address, asked, source.random() < 0.15, call)
    there |= {path.name: path.read_bytes() for path in folder.glob("suggested.toml")}
    pages = ["--no-report"] if source.random() < 0.98 else []
    words = ["synthesize", address, *asked, "--epsilon", "2", "--m", "1", "--out", "run", "--quiet", *pages]
    ended = call(words)
    judge_words(counts, f"{case} {name} synthesize", ended)
    _judge_folder(counts, f"{case} {name}", folder, there, ended)
    counts.notes[f"synthesized {name if kind == 'toml' else ''}".strip() if not ended.code else "refused"] += 1


def _inspect(counts: Counts, case: str, address: str, asked: list[str], suggest: bool, call: object) -> list[str]:
    """Inspect the table, or take what is to be declared from a suggestion; return the options of the run."""
    ended = call(["inspect", address, *(["--suggest", "suggested.toml"] if suggest else [])])
    if "cnry" in (ended.out + ended.err).casefold():
        ended = _without_names(address, ended)
    judge_words(counts, f"{case} {address} inspect", ended)
    counts.notes["inspected" if not ended.code else "not inspected"] += 1
    made = Path("suggested.toml")
    if made.exists() != (suggest and not ended.code):
        counts.add("half", case, "a suggestion that should not be there, or none that should")
    if not made.exists():
        return asked
    try:
        tomllib.loads(made.read_text(encoding="utf-8"))
    except ValueError as error:
        counts.add("half", case, f"a suggestion that is no TOML ({type(error).__name__})")
    return ["--columns", "suggested.toml", "--confirm-public", "all", "--delta", "1e-6"]


def _without_names(address: str, ended: Ended) -> Ended:
    """What was said but for the columns' names: without a header they are a record, and `inspect` shows them."""
    from alphasynth.tables.opening import open_table

    out = ended.out
    for name in sorted(open_table(address).column_names, key=len, reverse=True):
        out = out.replace(name, "NAME") if name else out
    return Ended(ended.code, out, ended.err, ended.seconds, ended.cpu)


def _judge_folder(counts: Counts, case: str, folder: Path, there: dict[str, bytes], ended: Ended) -> None:
    """A whole run and its charge, or neither; and what was there before as it was."""
    if any((folder / name).read_bytes() != content for name, content in there.items()):
        counts.add("half", case, "a file that was there is changed")
    more = {path.name for path in folder.iterdir()} - there.keys() - {LEDGER}
    if more != ({"run"} if not ended.code else set()):
        counts.add("half", case, f"exit code {ended.code} and {sorted(more)}")
    if not ended.code and "run" in more:
        stated = json.loads((folder / "run" / "release" / "guarantee.json").read_text())
        if not all((folder / "run" / "release" / each["file"]).stat().st_size for each in stated["tables"]):
            counts.add("half", case, "an empty table")
    states = [account.state for account in accounts(folder / LEDGER).values()] if (folder / LEDGER).exists() else []
    wanted = ["released"] if not ended.code else ["lost"] if SPENT in ended.err else ["cleared"]
    if states != wanted and not (ended.code and states == []):
        counts.add("ledger", case, f"exit code {ended.code} and {states}")


def _here(words: list[str]) -> Ended:
    """A command in this process, by the command line's own way in; what it says is taken as it leaves the process."""
    from alphasynth.cli.entry import run_command

    said, kept = [os.memfd_create("out"), os.memfd_create("err")], [os.dup(1), os.dup(2)]
    begin, used = time.perf_counter(), _used()
    os.dup2(said[0], 1)
    os.dup2(said[1], 2)
    try:
        code = run_command(words)
    except BaseException:  # noqa: BLE001 - what the way in lets through is what this program looks for
        traceback.print_exc()
        code = 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
    texts = [os.pread(handle, 1 << 24, 0).decode(errors="replace") for handle in said]
    for handle in (*said, *kept):
        os.close(handle)
    return Ended(code, *texts, time.perf_counter() - begin, _used() - used)


def _apart(words: list[str]) -> Ended:
    """A command in a process of its own, as from the shell."""
    begin, used = time.perf_counter(), _used()
    done = subprocess.run([sys.executable, "-c", FRESH, *words], capture_output=True, check=False)
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Ended(done.returncode, out, err, time.perf_counter() - begin, _used() - used)


def _used() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


if __name__ == "__main__":
    main()
