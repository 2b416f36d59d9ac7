"""Random bits that no one can predict: a cryptographic stream from a key, which the operating system made or a seed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Key = np.random.SeedSequence
# Bytes of the stream that are made at a time; of what a key without a seed hides.
CHUNK, HIDDEN = 1 << 13, 32


class Unseeded(np.random.SeedSequence):
    """A key of the operating system's entropy, and more of it that `Stream` reads and generators of NumPy's do not.

    These are not cryptographic: who sees enough of their numbers may come to the entropy that they were made from, and
    must not come to the noise.
    """

    def __init__(
        self, entropy: int | Sequence[int] | None = None, spawn_key: tuple[int, ...] = (), hidden: bytes = b""
    ) -> None:
        """A new key, or a child of one."""
        super().__init__(entropy, spawn_key=spawn_key)
        self.hidden = hidden or secrets.token_bytes(HIDDEN)


def key_of(seed: int | None) -> Key:
    """The key of a seed; without one, a new key that nobody knows."""
    return Unseeded() if seed is None else np.random.SeedSequence(seed)


@dataclass
class Stream:
    """SHAKE-256 of a key, read from front to back. A key without a seed holds entropy of the operating system.

    >>> stream = Stream(np.random.SeedSequence(1))
    >>> stream.bits(8) < 256, stream.below(10) < 10
    (True, True)
    """

    key: np.random.SeedSequence = field(repr=False)
    _number: int = field(default=0, repr=False)
    _held: bytes = field(default=b"", repr=False)

    def bits(self, number: int) -> int:
        """A whole number of so many random bits."""
        size = -(-number // 8)
        while len(self._held) < size:
            self._held += self._next_chunk()
        taken, self._held = self._held[:size], self._held[size:]
        return int.from_bytes(taken, "big") >> (8 * size - number)

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1, each as likely: bits are drawn until they make one."""
        size = (bound - 1).bit_length()
        while (drawn := self.bits(size)) >= bound:
            pass
        return drawn

    def words(self, number: int) -> np.ndarray:
        """Whole numbers (number,) of 64 random bits each."""
        size, taken = 8 * number, bytearray(self._held)
        while len(taken) < size:
            taken += self._next_chunk()
        self._held = bytes(taken[size:])
        return np.frombuffer(bytes(taken[:size]), ">u8").astype(np.uint64)

    def _next_chunk(self) -> bytes:
        # The words are told apart by their number and width, so no two keys make the same input.
        hidden = [self.key.hidden] if isinstance(self.key, Unseeded) else []
        words = [*hidden, self.key.entropy, *self.key.spawn_key, self._number]
        self._number += 1
        return hashlib.shake_256(repr(words).encode()).digest(CHUNK)


def without_hidden(key: Key) -> Key:
    """The same for generators, but noise cannot be had from it again: for what is kept once noise was added."""
    return np.random.SeedSequence(key.entropy, spawn_key=key.spawn_key)


def child(key: Key, *path: int) -> Key:
    """A key derived from another; nothing is consumed, so it can be derived again."""
    spawn_key = (*key.spawn_key, *path)
    if isinstance(key, Unseeded):
        return Unseeded(key.entropy, spawn_key, key.hidden)
    return np.random.SeedSequence(key.entropy, spawn_key=spawn_key)
