"""`FILE.py:NAME`: what it names, and one sentence for what it does not."""

from __future__ import annotations

import pytest

from alphasynth.errors import InputError
from alphasynth.runs.python_file import named_in_file


def test_what_a_file_holds_is_found_and_the_file_runs_once(tmp_path):
    (tmp_path / "runs").write_text("")
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "with (Path(__file__).parent / 'runs').open('a') as runs:\n    runs.write('once ')\n"
        "def double(x):\n    return 2 * x\n"
    )
    for _ in range(2):
        assert named_in_file("--model", f"{tmp_path}/mine.py:double")(3) == 6
    assert (tmp_path / "runs").read_text() == "once "


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("double", "--model must be FILE.py:NAME, found 'double'"),
        ("mine.txt:double", "--model must be FILE.py:NAME, found 'mine.txt:double'"),
        ("mine.py:a b", "--model must be FILE.py:NAME, found 'mine.py:a b'"),
        ("none.py:double", "--model must name a file that exists, found none at 'none.py'"),
        ("bad.py:double", "--model must name a file that runs, found ZeroDivisionError: division by zero in bad.py"),
        ("wrong.py:double", "--model must name a file that runs, found SyntaxError: "),
        ("mine.py:triple", "--model must name something in mine.py, found no 'triple' there"),
    ],
)
def test_bad_addresses_are_one_sentence(address, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("double = 2\n")
    (tmp_path / "bad.py").write_text("double = 1 / 0\n")
    (tmp_path / "wrong.py").write_text("def double(:\n")
    with pytest.raises(InputError) as refused:
        named_in_file("--model", address)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)
