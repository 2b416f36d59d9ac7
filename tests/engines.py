"""Real engines for the tests: a PostgreSQL server, Spark in local mode, readstat; CI must have them all."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def need(found: object, reason: str) -> None:
    """Skip where an engine is missing, with the reason; on continuous integration, fail."""
    if found:
        return
    if os.environ.get("CI"):
        pytest.fail(f"continuous integration must not skip: {reason}")
    pytest.skip(reason)


def has_module(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A server of our own on a free port of this machine; yields its address."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    need(tools, "no PostgreSQL server (Debian: apt-get install postgresql)")
    need(has_module("ibis", "psycopg"), "no driver (pip install 'alphasynth[postgres]')")
    binaries, data = tools[-1].parent, folder / "data"
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        shutil.chown(folder, user)
    for parent in (folder, *folder.parents):
        if os.geteuid() == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)  # pytest's folders are closed to others

    def call(tool: str, *arguments: str) -> None:
        extra = {"user": user} if os.geteuid() == 0 else {}
        command = [str(binaries / tool), "-D", str(data), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120, **extra)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call("initdb", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgres://tester@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "-m", "immediate", "stop")


def need_spark() -> None:
    need(shutil.which("java"), "no Java (Debian: apt-get install openjdk-17-jre-headless)")
    need(has_module("ibis", "pyspark"), "no Spark (pip install 'alphasynth[spark]')")


def need_cmdstan() -> None:
    need(has_module("cmdstanpy"), "no CmdStanPy (pip install 'alphasynth[cmdstan]')")
    import cmdstanpy

    try:
        home = cmdstanpy.cmdstan_path()
    except ValueError:
        home = ""
    need(
        home and shutil.which("make") and shutil.which("g++"),
        "no CmdStan (CMDSTAN=$(.ci/cmdstan) makes one), or no g++",
    )


def wait_for(holds: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)
