"""The way in from the shell: one sentence for whatever goes wrong, an exit code, and never a traceback."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from typing import Any

import typer

from alphasynth.cli.app import app
from alphasynth.errors import (
    AuditWarning,
    CalibrationError,
    DiagnosticsError,
    InputError,
    OrderWarning,
    ReportWarning,
    SamplerWarning,
    StrictWarning,
    in_lines,
    place,
)
from alphasynth.runs.interruption import INTERRUPTED, SIGNALS, Left

BAD_INPUT, FAILED = 2, 1


def main() -> None:
    """Entry point."""
    SIGNALS.install()
    code = run_command(sys.argv[1:])
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(code)  # at once: a signal on the way out would find no one to answer it


def run_command(arguments: list[str]) -> int:
    """Run a command and return its exit code; one sentence on standard error for what goes wrong, never a traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("ignore")  # what libraries say of their own future
        for kind in (SamplerWarning, ReportWarning, StrictWarning, AuditWarning, OrderWarning):
            warnings.simplefilter("default", kind)
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        code = app(arguments, prog_name="alphasynth", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Abort:  # a question that nobody answered: the end of the input, Ctrl-C
        return _fail(f"interrupted; {Left.NOTHING.value}", INTERRUPTED)
    except typer.TyperException as error:
        sentence = _in_our_words(" ".join(error.format_message().split()))
        return _fail(sentence, BAD_INPUT) if sentence else BAD_INPUT  # a command alone has shown its help
    except InputError as error:
        return _fail(f"{in_lines([_spoken(sentence) for sentence in error.sentences])}{_spent(error)}", BAD_INPUT)
    except (DiagnosticsError, CalibrationError) as error:
        return _fail(f"{error}{_left(arguments, error)}", FAILED)
    except OSError as error:  # of files, ours or the user's; these words quote no values
        return _fail(f"{error.strerror or type(error).__name__}{_left(arguments, error)}", FAILED)
    except Exception as error:  # noqa: BLE001
        # A message from deep inside may quote a confidential value; where it happened does not.
        return _fail(f"{place(error)}, which is a fault of alphasynth's{_left(arguments, error)}", FAILED)


def _in_our_words(sentence: str) -> str:
    """What the parser says of an option with a few answers: name, rule, what was found.

    >>> _in_our_words("Invalid value for '--who': Value error, 'me' is not one of 'anyone', 'inside'.")
    "--who must be one of anyone, inside, found 'me'"
    """
    said = re.fullmatch(r"Invalid value for '(\S+).*': (?:Value error, )?(.+) is not one of (.+?)[.]?", sentence)
    if said is None:
        return sentence.replace("Value error, ", "")
    return f"{said[1]} must be one of {said[3].replace(chr(39), '')}, found {said[2]}"


def _left(arguments: list[str], error: BaseException) -> str:
    """What a run left; of other commands there is nothing to say."""
    return _spent(error) or (f"; {Left.NOTHING.value}" if arguments[:1] == ["synthesize"] else "")


def _spent(error: BaseException) -> str:
    """That a run which failed counts all the same, where it does."""
    return f"; {Left.SPENT.value}" if Left.SPENT.value in getattr(error, "__notes__", ()) else ""


def _spoken(sentence: str) -> str:
    """A sentence of the library's that begins with a setting's name, with the option's name in its place."""
    from alphasynth.runs.settings import kinds, option

    name, _, rest = sentence.partition(" must")
    name = {"num_draws": "draws"}.get(name, name)
    known = kinds().keys() - {"table"}
    return f"{option(name)} must{rest}" if name in known and rest else sentence


def _fail(sentence: str, code: int) -> int:
    typer.echo(f"alphasynth: {sentence}", err=True)
    return code


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    typer.echo(f"alphasynth: {message}", err=True)
