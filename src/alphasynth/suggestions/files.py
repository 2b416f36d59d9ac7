"""Suggestions as new files, which their owner alone reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alphasynth.errors import InputError


def write_new(
    path: Path, content: str, left_out: Sequence[tuple[str, str]], doubts: Sequence[tuple[str, str]] = ()
) -> None:
    """Write a suggestion to a new file that its owner alone reads; raise `InputError` where there is one."""
    lines = [f"# left out: {on_one_line(name)} ({on_one_line(why)})\n" for name, why in left_out]
    lines += [f"# look at: {on_one_line(name)} ({on_one_line(why)})\n" for name, why in doubts]
    try:
        with path.open("x", encoding="utf-8") as stream, _whole(path):
            path.chmod(0o600)
            stream.write("".join([content, *(["\n", *lines] if lines else [])]))
            stream.flush()
    except FileExistsError:
        raise InputError(
            f"the suggestion must go to a new file, found one at {str(path)!r}: delete it or take another name"
        ) from None
    except OSError as error:
        raise InputError(f"the suggestion must go to a file that can be written, found {error.strerror}") from None


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """A new file that is removed where it cannot be written to its end: the disk is full, say."""
    try:
        yield
    except BaseException:
        path.unlink()
        raise


def on_one_line(text: str) -> str:
    r"""Text with columns' names in it as it may stand in a comment, which a line break would end, and on a terminal.

    >>> on_one_line(chr(10) + "[column.x]")
    '\\n[column.x]'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
