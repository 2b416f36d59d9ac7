"""Files spoilt: bytes flipped, cut and doubled, and text as no program should write it."""

from __future__ import annotations

import random

from torture import formats
from torture.tables import COLUMNS, MODEL

WORDS = (
    *("nan", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "9" * 400, "-" + "9" * 19, "0x1F", "1_000", "+5"),
    *(
        "1,5",
        "1.5",
        "007",
        "NA",
        "null",
        ".",
        "None",
        "",
        " ",
        '""',
        '"',
        "'",
        '"a\nb"',
        "a\rb",
        "\x00",
        "\x1a",
        "\x1b[0m",
    ),
    *(
        "\u202e",
        "\ufeff",
        "\u0661\u0662",
        "\U0001d7d7",
        "=1+1",
        "-0",
        "-5",
        "true",
        "2024-13-45",
        "1e5",
        "[red]",
        "{x}",
        "%s",
    ),
    *(
        "x" * 5_000,
        "9" * 5_000,
        "\\N",
        "\\",
        "#",
        "\u2028",
        "\t",
        "é",
        "1e308",
        "4.9e-324",
        "\u221e",
        "0.1" + "0" * 300,
    ),
)
NAMES = (
    *(
        "",
        "visits",
        "VISITS",
        "count",
        "k0",
        "c0",
        "id",
        "`",
        '"',
        "a b",
        "[bold]",
        "{}",
        "%d",
        "\x00",
        "1",
        "~",
        "e\u0301",
    ),
    *("x" * 10_000, "a\tb", "nan", "'", ";", "visits ", "__class__", "sum(visits)", "=1+1", "\u202e"),
)
SEPARATORS = (",", ";", "\t", "|", " ", "\x1f")


def file_of(source: random.Random) -> tuple[str, bytes]:
    """A spoilt file: its suffix and its bytes."""
    (suffix,) = source.choices(list(formats.SHARES), list(formats.SHARES.values()))
    if suffix in formats.TEXT:
        content = formats.text(source, suffix)
        for _ in range(source.choice([0, 1, 1, 1, 2])):
            content = source.choice(SPOILS)(source, content)
        content = formats.compressed(content, suffix)
        outside = suffix.endswith((".gz", ".zst")) and source.random() < 0.5
        return suffix, _bytes(source, content) if outside else content
    odd = suffix in formats.TYPED and source.random() < 0.6
    content = formats.binary(source, suffix, odd)
    return suffix, content if odd and source.random() < 0.9 else _bytes(source, content)


def declaration_of(source: random.Random) -> tuple[str, bytes]:
    """A spoilt columns.toml or model.toml: its name and its bytes."""
    name, content = source.choice([("columns.toml", COLUMNS), ("model.toml", MODEL)])
    spoilt = formats.toml(source, content)
    return name, _bytes(source, spoilt) if source.random() < 0.4 else spoilt


def _bytes(source: random.Random, content: bytes) -> bytes:
    """Bytes changed, cut out, doubled or put in, a few times."""
    for _ in range(source.choice([1, 1, 2, 5])):
        content = source.choice(BLIND)(source, content)
    return content


def _flip(source: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(source.choice([1, 3, 20])):
        if changed:
            changed[source.randrange(len(changed))] = source.randrange(256)
    return bytes(changed)


def _slice(source: random.Random, content: bytes) -> tuple[int, int]:
    first = source.randrange(len(content) + 1)
    return first, min(len(content), first + source.choice([1, 4, 50, 2_000]))


def _truncate(source: random.Random, content: bytes) -> bytes:
    return content[: _slice(source, content)[0]]


def _cut(source: random.Random, content: bytes) -> bytes:
    first, end = _slice(source, content)
    return content[:first] + content[end:]


def _double(source: random.Random, content: bytes) -> bytes:
    first, end = _slice(source, content)
    return content[:end] + content[first:]


def _zeros(source: random.Random, content: bytes) -> bytes:
    first, end = _slice(source, content)
    return content[:first] + bytes(end - first) + content[end:]


def _insert(source: random.Random, content: bytes) -> bytes:
    first, _ = _slice(source, content)
    return content[:first] + source.randbytes(source.choice([1, 8, 100])) + content[first:]


BLIND = (_flip, _flip, _truncate, _cut, _double, _zeros, _insert)


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def _cells(source: random.Random, content: bytes) -> bytes:
    """A few cells, or a whole column, replaced by a word."""
    lines = [line.split(b",") for line in _lines(content)]
    word = source.choice(WORDS).encode("utf-8", "surrogatepass")
    column, whole = source.randrange(5), source.random() < 0.3
    for line in lines[1:]:
        if len(line) > column and (whole or source.random() < 0.05):
            line[column] = word
    return b"\n".join(b",".join(line) for line in lines)


def _header(source: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    names = lines[0].split(b",")
    kind = source.choice(["name", "name", "name", "none", "alone", "twice", "empty", "open"])
    if kind == "name":
        names[source.randrange(len(names))] = source.choice(NAMES).encode()
        return b"\n".join([b",".join(names), *lines[1:]])
    if kind == "none":
        return b"\n".join(lines[1:])
    if kind == "twice":
        return b"\n".join([lines[0], *lines])
    if kind == "open":
        return b'"' + content
    return lines[0] + b"\n" if kind == "alone" else source.choice([b"", b"\n", b"\n\n\n", b"\xef\xbb\xbf", b","])


def _ragged(source: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    for _ in range(source.choice([1, 5])):
        place = source.randrange(len(lines))
        lines[place] = source.choice([lines[place] + b",7", lines[place].rpartition(b",")[0], b"", b",,,,", b'"'])
    return b"\n".join(lines)


def _separators(source: random.Random, content: bytes) -> bytes:
    return content.replace(b",", source.choice(SEPARATORS).encode(), source.choice([-1, 50]))


def _ends(source: random.Random, content: bytes) -> bytes:
    return content.replace(b"\n", source.choice([b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x00\n"]), source.choice([-1, 20]))


def _marks(source: random.Random, content: bytes) -> bytes:
    marks = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"sep=,\n", b"\x00", b"#", b"PK\x03\x04"]
    return source.choice(marks) + content


def _recode(source: random.Random, content: bytes) -> bytes:
    return content.decode("utf-8", "replace").encode(
        source.choice(["utf-16", "utf-16-be", "utf-32", "cp037", "utf-7"]), "replace"
    )


def _long(source: random.Random, content: bytes) -> bytes:
    """A line beyond what the engine takes, or very many columns or rows."""
    lines = _lines(content)
    kind = source.choice(["line", "columns", "rows", "one"])
    if kind == "line":
        lines.insert(len(lines) // 2, b"x" * 3_000_000)
    if kind == "columns":
        lines = [line + b",".join([b"", *(b"%d" % i for i in range(60))]) for line in lines]
    if kind == "rows":
        lines = [*lines[:-1], *lines[1:] * 20]
    return b"\n".join(lines[:2] if kind == "one" else lines)


# Most are such that there is still a table to be read.
SPOILS = (
    *(_cells,) * 6,
    *(_header,) * 3,
    *(_bytes, _ragged, _separators, _ends, _marks, _recode, _long),
)
