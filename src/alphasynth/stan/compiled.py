"""Programs compiled by CmdStan, through CmdStanPy, and kept in the user's cache folder. They hold no data."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from alphasynth.errors import InputError

BRIDGE = Path(__file__).with_name("bridge.cpp")
# The one whose interface of a compiled program `bridge.cpp` is written for, and the only one that it was tried with.
OLDEST = (2, 27)


def compiled(code: str, folder: Path, compiling: Callable[[], None] = lambda: None) -> Path:
    """A program's executable, from the cache or made; raise `InputError`, or `ValueError` with CmdStan's words.

    Where no cache can be kept, it is in the folder. `compiling` is called before it is made.
    """
    home = cmdstan_home(folder)
    local = home / "make" / "local"  # a user's own options of the compiler
    kind = _digest(str(home), _version(home), local.read_text() if local.exists() else "", BRIDGE.read_text())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alphasynth" / f"cmdstan-{kind}"
    name = f"program-{_digest(code)}"
    if not _may_write(cache):
        return _kept(code, folder / name, folder, folder, compiling)
    with _alone_in(cache):  # two that compile at once would do all twice, and CmdStan's own parts in one place
        return _kept(code, cache / name, cache, folder, compiling)


def cmdstan_home(folder: Path) -> Path:
    """CmdStan's folder, as CmdStanPy finds it: by the environment variable CMDSTAN, or where it installs one."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)  # CmdStanPy makes a folder that a kill would leave behind
    try:
        import cmdstanpy
    finally:
        tempfile.tempdir = before
    try:
        home = Path(cmdstanpy.cmdstan_path())
    except ValueError:
        raise InputError(
            "CmdStan must be installed, by CmdStanPy's command install_cmdstan or in the folder that the environment "
            "variable CMDSTAN names, found none"
        ) from None
    version = _version(home)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        raise InputError(f"CmdStan must be of version {'.'.join(map(str, OLDEST))} or later, found {version or 'none'}")
    if shutil.which(os.environ.get("MAKE", "make")) is None:
        raise InputError("CmdStan compiles with make, found none")
    return home


def _version(home: Path) -> str:
    """What CmdStan's own makefile says."""
    makefile = home / "makefile"
    text = makefile.read_text() if makefile.exists() else ""
    line = re.search(r"^CMDSTAN_VERSION\s*:=\s*(\S+)", text, re.MULTILINE)
    return line[1] if line else ""


def _kept(code: str, program: Path, cache: Path, folder: Path, compiling: Callable[[], None]) -> Path:
    """The program where it is kept; made elsewhere and put there whole, so that nobody finds half of it."""
    if program.exists():
        return program
    compiling()
    with tempfile.TemporaryDirectory(dir=folder) as made:
        place = Path(made)
        _compile(code, place, cache)
        for source in (*place.glob("bridge*.o"), place / "program"):
            target = program if source.name == "program" else cache / source.name
            beside = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
            try:
                shutil.copy(source, beside)
                beside.replace(target)
            finally:
                beside.unlink(missing_ok=True)
    return program


def _compile(code: str, place: Path, cache: Path) -> None:
    """A program in a folder, with the bridge as its main file: compiled once, with the first program."""
    import cmdstanpy

    (place / "program.stan").write_text(code, encoding="utf-8")
    shutil.copy(BRIDGE, place)
    for bridge in cache.glob("bridge*.o"):  # its name tells some of make/local's options
        (place / bridge.name).with_suffix(".d").touch()  # else make looks whether what the bridge includes has changed
        shutil.copy(bridge, place)
    try:
        cmdstanpy.CmdStanModel(
            stan_file=str(place / "program.stan"), cpp_options={"CMDSTAN_MAIN": str(place / "bridge.cpp")}
        )
    except ValueError as error:
        said = [line for line in str(error).splitlines() if not re.match(r"\s*(make|Command|exited|Failed)\b", line)]
        raise ValueError("\n".join(said)) from None


def _may_write(cache: Path) -> bool:
    """Whether a folder is there, or can be made, and takes files."""
    with suppress(OSError), tempfile.TemporaryFile(dir=_made(cache)):
        return True
    return False


def _made(cache: Path) -> Path:
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    return cache


@contextmanager
def _alone_in(cache: Path) -> Iterator[None]:
    """Wait until no other process compiles there."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]
