"""Which engine is taken, what CmdStan must be, and programs that are kept; CmdStan itself is not asked."""

from __future__ import annotations

import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.stan import cmdstan, process
from alphasynth.stan.compiled import compiled

CODE = "parameters { real x; }"


@pytest.fixture
def installed(monkeypatch):
    """Has only these modules, of the engines', be installed."""

    def only(*names):
        of_engines = {module for module, _ in process.ENGINES.values()}
        there = lambda name: find_spec("sys") if name in names else None if name in of_engines else find_spec(name)  # noqa: E731
        monkeypatch.setattr(process.importlib.util, "find_spec", there)
        monkeypatch.setattr(process.shutil, "which", lambda name: name)

    return only


@pytest.mark.parametrize(
    ("modules", "asked", "engine"),
    [
        (("httpstan", "cmdstanpy"), None, "pystan"),
        (("cmdstanpy",), None, "cmdstan"),
        (("httpstan", "cmdstanpy"), "cmdstan", "cmdstan"),
    ],
)
def test_the_engine_is_the_one_asked_for_or_the_first_that_is_there(installed, modules, asked, engine):
    installed(*modules)
    assert process.engine_of(asked) == engine


@pytest.mark.parametrize(
    ("modules", "asked", "sentence"),
    [
        ((), None, r"pip install 'alphasynth\[stan\]', or a CmdStan .*, found neither"),
        (
            ("httpstan",),
            "cmdstan",
            r"engine 'cmdstan' must be installed: pip install 'alphasynth\[cmdstan\]', found none",
        ),
        (("cmdstanpy",), "pystan", r"engine 'pystan' must be installed: pip install 'alphasynth\[stan\]', found none"),
    ],
)
def test_an_engine_that_is_not_there_gets_one_sentence(installed, modules, asked, sentence):
    installed(*modules)
    with pytest.raises(InputError, match=sentence):
        process.ask(asked, CODE, "names", {})


def test_a_compiler_must_be_there(installed, monkeypatch):
    installed("httpstan", "cmdstanpy")
    monkeypatch.setattr(process.shutil, "which", lambda name: None)
    monkeypatch.delenv("CXX", raising=False)
    for engine in process.ENGINES:
        with pytest.raises(InputError, match=r"compiles with g\+\+, found none"):
            process.engine_of(engine)


def test_an_engine_of_another_name_is_refused():
    with pytest.raises(InputError, match="engine must be one of pystan, cmdstan, found 'rstan'"):
        syn.OwnModel.from_stan("negative_binomial", engine="rstan")


class FakeCmdStan:
    """CmdStanPy with a folder of ours, which writes what compiling leaves; or fails with words of CmdStan's."""

    def __init__(self, home, monkeypatch):
        self.home, self.made, self.failing = home, [], ""
        self.version("2.27.0")
        monkeypatch.setitem(sys.modules, "cmdstanpy", SimpleNamespace(cmdstan_path=self.path, CmdStanModel=self.model))

    def version(self, number):
        (self.home / "make").mkdir(parents=True, exist_ok=True)
        (self.home / "makefile").write_text(f"# no comment\nCMDSTAN_VERSION := {number}\n")

    def path(self):
        if self.home is None:
            raise ValueError("No CmdStan installation found")
        return str(self.home)

    def model(self, stan_file, cpp_options):
        place = Path(stan_file).parent
        self.made.append((Path(stan_file).read_text(), sorted(path.name for path in place.iterdir())))
        assert Path(cpp_options["CMDSTAN_MAIN"]).parent == place
        if self.failing:
            raise ValueError(f"Failed to compile Stan model '{stan_file}'. Console:\n{self.failing}")
        for name in ("bridge.o", "program"):
            (place / name).write_text(name)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "private").mkdir()
    return FakeCmdStan(tmp_path / "home", monkeypatch)


def kept(folder):
    return sorted(path.name.split("-")[0] for path in folder.rglob("*") if path.is_file())


def test_a_program_is_compiled_once_and_its_bridge_with_the_first(fake, tmp_path):
    private = tmp_path / "private"
    first, again, other = (compiled(code, private) for code in (CODE, CODE, f"{CODE} model {{}}"))
    assert first == again != other
    assert [names for _, names in fake.made] == [
        ["bridge.cpp", "program.stan"],
        ["bridge.cpp", "bridge.d", "bridge.o", "program.stan"],
    ]
    assert kept(tmp_path / "cache") == ["bridge.o", "lock", "program", "program"]
    assert first.parent.stat().st_mode & 0o077 == 0
    assert list(private.iterdir()) == []


def test_another_cmdstan_has_programs_of_its_own(fake, tmp_path):
    one = compiled(CODE, tmp_path / "private")
    fake.version("2.36.0")
    other = compiled(CODE, tmp_path / "private")
    (fake.home / "make" / "local").write_text("O=0\n")
    assert len({one, other, compiled(CODE, tmp_path / "private")}) == 3


def test_a_program_that_does_not_compile_is_not_kept(fake, tmp_path):
    fake.failing = "Semantic error\nIdentifier 'x' not in scope.\nmake: *** [make/program:50: it] Error 1\n"
    with pytest.raises(ValueError, match="not in scope") as refused:
        compiled(CODE, tmp_path / "private")
    assert process._brief(str(refused.value)) == "Semantic error"
    assert kept(tmp_path) == ["lock", "makefile"]
    fake.failing = ""
    assert compiled(CODE, tmp_path / "private").exists()


def test_a_cache_that_cannot_be_written_does_not_matter(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert compiled(CODE, tmp_path / "private").parent == tmp_path / "private"


def test_no_cmdstan_an_old_one_and_no_make_get_one_sentence_each(fake, tmp_path, monkeypatch):
    fake.version("2.26.1")
    with pytest.raises(InputError, match=r"version 2\.27 or later, found 2\.26\.1"):
        compiled(CODE, tmp_path)
    fake.version("2.27.0")
    monkeypatch.setenv("MAKE", "no-such-make")
    with pytest.raises(InputError, match="compiles with make, found none"):
        compiled(CODE, tmp_path)
    (fake.home / "makefile").unlink()
    with pytest.raises(InputError, match=r"version 2\.27 or later, found none"):
        compiled(CODE, tmp_path)
    fake.home = None
    with pytest.raises(InputError, match="environment variable CMDSTAN names, found none"):
        compiled(CODE, tmp_path)
    assert fake.made == []


LINES = [
    "# a comment\n",
    "lp__,beta.1,beta.2,betas,log_lik.1\n",
    "# Adaptation\n",
    "1,2,3,4,5\n",
    "1.5,-1e-300,nan,4,5\n",
]


@pytest.mark.parametrize("last", [[], ["1,2"], ["# Elapsed\n"]])
def test_columns_are_those_asked_for_of_whole_lines(last):
    columns = cmdstan._columns([*LINES, *last], {"beta"})
    assert list(columns) == ["lp__", "beta.1", "beta.2"]
    np.testing.assert_array_equal(columns["beta.1"], [2, -1e-300])
    np.testing.assert_array_equal(columns["beta.2"], [3, np.nan])
    assert cmdstan._columns(LINES[:3], {"beta"}) == {}


@pytest.mark.parametrize("said", ["", "one\ntwo\n" * 50_000])
def test_a_pipe_ends_with_its_writer_whether_that_wrote_or_not(tmp_path, said):
    def write(path, end):
        if said:
            path.write_text(said)
        end()

    with cmdstan._pipe(tmp_path / "pipe") as (lines, end):
        threading.Thread(target=write, args=(tmp_path / "pipe", end)).start()
        assert "".join(lines) == said


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [("kill -9 $$", "that its process died"), ("echo 'n must be positive' >&2; exit 1", "positive")],
)
def test_a_process_that_dies_is_no_point_that_cannot_be_computed(tmp_path, ends, sentence):
    program = object.__new__(cmdstan.Program)
    program.folder, program.executable = tmp_path, tmp_path / "ends"
    program.executable.write_text(f"#!/bin/sh\n{ends}\n")
    program.executable.chmod(0o700)
    with pytest.raises(RuntimeError, match=sentence):
        program.log_prob({}, np.zeros((5, 2)), True)
    program.executable.write_text(f"#!/bin/sh\nhead -c 24 >/dev/null; exit {cmdstan.REFUSED}\n")
    assert np.isnan(program.log_prob({}, np.zeros((5, 2)), True)).all()
    with pytest.raises(RuntimeError):
        program.log_prob({}, np.zeros((5, 2)))


def test_coordinates_go_through_no_file(tmp_path):
    """Of what a request is given only its data are in the folder in which it runs, and that goes with it."""
    program = object.__new__(cmdstan.Program)
    program.folder, program.executable = tmp_path, tmp_path / "lists"
    program.executable.write_text("#!/bin/sh\ncat >/dev/null; ls; pwd")
    program.executable.chmod(0o700)
    files, place = program._ask("entries", {"n": 1}, b"coordinates", 1, 0, 1).decode().split()
    assert files == "data.json"
    assert Path(place).parent == tmp_path
    assert not Path(place).exists()
    program.executable.write_text("#!/bin/sh\nexit 3")
    with pytest.raises(RuntimeError, match="that its process died"):
        program.coordinates({"n": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["lists"]
