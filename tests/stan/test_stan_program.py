"""What a Stan program must have, as far as its text tells; Stan itself is not asked."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.stan import process as process_module
from alphasynth.stan import worker
from alphasynth.stan.program import SHIPPED, StanProgram
from alphasynth.stan.pystan import Program

CODE = SHIPPED["negative_binomial"].read_text()


def without(word, other=""):
    return CODE.replace(word, other)


BAD = {
    "no weights": (without("vector<lower=0>[n] weights;"), {}, "declare 'weights' in its data block"),
    "weights in a comment alone": (
        without("vector<lower=0>[n] weights;", "// weights\n/* weights */"),
        {},
        "declare 'weights' in its data block",
    ),
    "weights not used": (without("weights[i] * "), {}, "multiply log-likelihoods by 'weights'"),
    "in pieces": ("#include other.stan\n" + CODE, {}, "in one piece, found an #include"),
    "no log_lik": (without("log_lik"), {}, "must have 'log_lik', one log-likelihood per record"),
    "no y_rep": (without("y_rep"), {}, "must have 'y_rep', one new record beside each"),
    "no y": (without("array[n] int<lower=0> y;"), {}, "declare 'y' in its data block"),
    "y given": (CODE, {"data": {"y": [1, 2]}}, "leave to the table what comes from it, found y"),
    "data that nothing reads": (CODE, {"data": {"zzz": 1}}, "data block declares, found zzz"),
    "data of a type's name": (CODE, {"data": {"lower": 1}}, "data block declares, found lower"),
    "text in data": (CODE, {"data": {"a": "b"}}, "numbers and lists of numbers"),
    "names of what is not": (CODE, {"names": {"z": "q"}}, "names must be of n, K, y"),
    "no file": ("nowhere.stan", {}, "must be a Stan file, found none"),
    "no code": ("poisson", {}, "one of negative_binomial, found 'poisson'"),
    "a number": (7, {}, "found 7"),
}


@pytest.mark.parametrize("case", BAD)
def test_programs_that_cannot_be_weighted_get_one_sentence(case):
    program, options, sentence = BAD[case]
    with pytest.raises(InputError, match=sentence):
        syn.OwnModel.from_stan(program, **options)


def test_rows_become_the_programs_data():
    code = without("vector<lower=0>[n] weights;", "vector<lower=0>[n] weights; vector[2] prior; int<lower=1> degree;")
    program = StanProgram.of(code, {"prior": np.array([1.5, 2.0]), "degree": 3}, {"y": "y"})
    data = program.data_for(np.array([3.0, 4.0]), np.ones((2, 1)), np.array([0.5, 1.0]))
    assert data == {
        "n": 2,
        "K": 1,
        "y": [3, 4],
        "X": [[1.0], [1.0]],
        "weights": [0.5, 1.0],
        "prior": [1.5, 2.0],
        "degree": 3,
    }
    assert all(isinstance(value, int) for value in data["y"])


def test_parts_that_a_program_does_not_declare_are_not_given():
    code = without("matrix[n, K] X;").replace("X * beta", "rep_vector(beta[1], n)").replace("int<lower=1> K;", "")
    data = StanProgram.of(code, None, None).data_for(np.ones(2), np.ones((2, 1)), np.ones(2))
    assert sorted(data) == ["n", "weights", "y"]


def test_compiling_leaves_nothing_in_the_folder_that_it_is_called_from(monkeypatch, tmp_path):
    """The compiler writes a folder `build` where it stands."""
    models = pytest.importorskip("httpstan.models")
    built = []

    def found(name):
        if not built:
            raise KeyError(name)
        return SimpleNamespace(of="compiled")

    async def build(code):
        Path("build").mkdir()
        built.append(code)

    monkeypatch.setattr(models, "import_services_extension_module", found)
    monkeypatch.setattr(models, "build_services_extension_module", build)
    monkeypatch.setattr("httpstan.cache.fit_path", None)  # which is of this process, and put back
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert Program(CODE, tmp_path).module.of == "compiled"
    assert built == [CODE]
    assert Path.cwd() == here
    assert list(here.iterdir()) == []


def test_compiling_is_said_once_on_standard_error(monkeypatch, tmp_path, capsys):
    """By the worker before it compiles, and to who asks as a line."""

    class Compiled:
        def __init__(self, code, folder, compiling):
            compiling()

        def coordinates(self, data):
            return 2

    monkeypatch.setitem(worker.PROGRAMS, "pystan", Compiled)
    requests, answers = io.BytesIO(), io.BytesIO()
    for _ in range(2):
        pickle.dump(("pystan", CODE, "coordinates", ({},)), requests)
    requests.seek(0)
    worker.serve(requests, answers, tmp_path)
    answers.seek(0)
    process = process_module._Process()
    monkeypatch.setattr(process, "_start", lambda: SimpleNamespace(stdin=io.BytesIO(), stdout=answers))
    assert [process.ask("pystan", CODE, "coordinates", {}) for _ in range(2)] == [2, 2]
    assert capsys.readouterr().err == "alphasynth: compiling the Stan program, once; some minutes\n"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "ValueError: Exception: x_namespace: y[sym1__] is -1, but must be greater than or equal to 0 (in 'x')",
            "'y' with a value that is not greater than or equal to its limit in the program",
        ),
        ("RuntimeError: rate is 3, but must be less than 1", "'rate' with a value that is not less than its limit"),
    ],
)
def test_a_value_beyond_its_limit_is_said_in_words(said, sentence):
    found = process_module._brief(said)
    assert found.startswith(sentence)
    assert not any(digit in found for digit in "0123456789")
