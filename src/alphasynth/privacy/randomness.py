"""Random bits that no one can predict: a cryptographic stream from a key, which the operating system made or a seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

Key = np.random.SeedSequence
# Bytes of the stream that are made at a time.
CHUNK = 1 << 13


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
        words = [self.key.entropy, *self.key.spawn_key, self._number]
        self._number += 1
        return hashlib.shake_256(repr(words).encode()).digest(CHUNK)


def child(key: Key, *path: int) -> Key:
    """A key derived from another; nothing is consumed, so it can be derived again."""
    return np.random.SeedSequence(key.entropy, spawn_key=(*key.spawn_key, *path))
