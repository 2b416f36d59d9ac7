"""JAX's compilation cache on disk: a new process starts on programs compiled by an earlier one."""

from __future__ import annotations

import os
from pathlib import Path


def use_compilation_cache(folder: str | os.PathLike[str] | None = None) -> Path:
    """Keep compiled programs in a folder (default: alphasynth in the user's cache folder), and return it.

    The programs hold no data: records, weights and keys are their arguments. An `OwnModel` whose function closes over
    data would put those into its programs; pass data through the table instead. Sets JAX options for the whole process.

    >>> import jax, tempfile
    >>> before = jax.config.jax_compilation_cache_dir
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     use_compilation_cache(folder) == Path(folder)
    True
    >>> jax.config.update("jax_compilation_cache_dir", before)  # as it was
    """
    import jax

    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alphasynth"
    path = Path(folder) if folder is not None else default
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = {
        "jax_compilation_cache_dir": str(path),
        # Programs compile in a second or less each; JAX would keep only those that take longer.
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in options.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    return path
