"""Build the site: `python docs/_site/build.py site`. It appears whole, or not at all where anything is amiss."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from links import faults
from sphinx.cmd.build import main as sphinx

SOURCE = Path(__file__).resolve().parents[1]
MADE = "objects.inv"  # a file that every site has, and hardly another folder
STRICT = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--fresh-env", "--builder", "html"]


def build(source: Path, out: Path) -> int:
    """Make the site of a folder of pages, in place of one that was made before; return an exit code."""
    if not may_go(out):
        sys.stderr.write(f"the site's folder must be empty or hold a site, found other files in {out}\n")
        return 2
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=out.parent) as scratch:  # from where it can be renamed
        made = Path(scratch, "site").resolve()
        code = sphinx([*STRICT, "--doctree-dir", str(Path(scratch, "doctrees")), str(source), str(made)])
        found = faults(made) if code == 0 else []
        sys.stderr.writelines(f"{fault}\n" for fault in found)
        if code or found:
            return 1
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)
    return 0


def may_go(out: Path) -> bool:
    """Whether nothing is lost when a folder is replaced: it is not there, empty, or a site."""
    return not out.exists() or (out.is_dir() and (not any(out.iterdir()) or (out / MADE).exists()))


def main() -> int:
    """The way in from the shell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder to make")
    parser.add_argument("source", type=Path, nargs="?", default=SOURCE, help="the folder of pages; docs/ unless told")
    given = parser.parse_args()
    code = build(given.source, given.out)
    if code == 0:
        sys.stdout.write(f"{given.out / 'index.html'}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
