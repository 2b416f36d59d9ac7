"""What drivers of databases and damaged files say, in our words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from alphasynth.errors import InputError

# What Arrow says of a file that is damaged: names that are no text are met as they are read.
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)


@contextmanager
def translated(rule: str) -> Iterator[None]:
    """What a driver says, in our words: each has errors of its own, and their messages quote values and addresses."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001
        raise InputError(f"{rule}, found {type(error).__name__}") from None


def look_through(file: Path, data: pa.Table | None, places: Sequence[int]) -> None:
    """Raise `InputError` where columns of an Arrow file, or of a stream's `data`, are not what their type says.

    Nothing else looks: lengths of text that are out of place would make a scan take all the memory there is. Columns go
    by their places, since names may be doubled.
    """
    try:
        if data is not None:
            for place in places:
                data.column(place).validate(full=True)
            return
        with pa.memory_map(str(file)) as mapped:
            reader = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=list(places)))
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)
    except UNREADABLE:
        raise InputError(f"{file.name} must be a whole Arrow file, found one that is damaged") from None
