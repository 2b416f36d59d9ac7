"""The errors a caller can act on; each says in one sentence what was asked for and what was found."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import PurePath
from types import TracebackType
from typing import Any, cast


class InputError(ValueError):
    """What the caller gave breaks a rule: the name, the rule, what was found, never a confidential value.

    `rest` is what could be read all the same, for who looks for more that is wrong.

    >>> try:
    ...     require_whole("m", 0)
    ... except InputError as error:
    ...     print(error)
    m must be a whole number of at least 1, found 0
    """

    rest: Any = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each thing that is wrong."""
        return (str(self),)


class InputErrors(InputError):
    """Several things are wrong, each in a sentence of its own.

    >>> print(InputErrors(["m must be 1, found 0", "n must be 2, found 3"]))
    2 things are wrong:
    - m must be 1, found 0
    - n must be 2, found 3
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__(tuple(sentences))

    def __str__(self) -> str:
        return in_lines(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each thing that is wrong."""
        return cast(tuple[str, ...], self.args[0])


def in_lines(sentences: Sequence[str]) -> str:
    """One sentence as it is, several under each other."""
    if len(sentences) == 1:
        return sentences[0]
    return "\n- ".join([f"{len(sentences)} things are wrong:", *sentences])


class Gathering:
    """What is wrong, in the order in which it was found: a check in a `with` of it keeps no other from being made.

    `rest` goes with the error: what could be read all the same.
    """

    rest: Any = None

    def __init__(self) -> None:
        self._found: dict[str, InputError] = {}

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if isinstance(error, InputError):
            self.add(error)
        return isinstance(error, InputError)

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, error: InputError) -> None:
        """One or several more things that are wrong; what was said already is not said again."""
        for sentence in error.sentences:
            self._found.setdefault(sentence, error)
        self.rest = self.rest if error.rest is None else error.rest

    def say(self, sentence: str) -> None:
        """One more thing that is wrong."""
        self.add(InputError(sentence))

    def refuse(self) -> None:
        """Raise all that was found: one error as it was, several in one."""
        if not self:
            return
        alone = next(iter(self._found.values())) if len(self._found) == 1 else None
        error = InputErrors(list(self._found)) if alone is None or len(alone.sentences) > 1 else alone
        error.rest = self.rest
        raise error


@contextmanager
def gathering() -> Iterator[Gathering]:
    """Checks that are all made; at the end `InputError` says everything that is wrong at once.

    An `InputError` between checks ends them, and is said with what was found before.

    >>> with gathering() as problems:
    ...     with problems:
    ...         require_whole("m", 0)
    ...     with problems:
    ...         require_positive("epsilon", -1)
    Traceback (most recent call last):
    alphasynth.errors.InputErrors: 2 things are wrong:
    - m must be a whole number of at least 1, found 0
    - epsilon must be positive and finite, found -1
    """
    problems = Gathering()
    with problems:
        yield problems
    problems.refuse()


def found(value: object) -> str:
    """What was found, for a message: a single setting as it is, anything larger (it may hold records) by its type.

    >>> found(0.5), found([0.1, 0.7])
    ('0.5', 'a list')
    """
    if value is None or (isinstance(value, bool | int | float | str) and len(repr(value)) <= 80):
        return repr(value)
    return f"a {type(value).__name__}"


def require_whole(name: str, value: object, least: int = 1) -> int:
    """The value, if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, found {found(value)}")
    return int(value)


def require_positive(name: str, value: object) -> float:
    """The value, if it is a positive and finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < cast(float, value) <= sys.float_info.max:
        raise InputError(f"{name} must be positive and finite, found {found(value)}")
    return float(value)


def message_alone(error: BaseException) -> str:
    """What an error says that carries the best answer so far: its message, without that answer."""
    return str(error.args[0])


class DiagnosticsError(RuntimeError):
    """Draws that failed their diagnostics; `draws` carries them, for inspection and not for release.

    >>> str(DiagnosticsError("draws must pass their diagnostics before use, found R-hat 1.3", draws=None))
    'draws must pass their diagnostics before use, found R-hat 1.3'
    """

    __str__ = message_alone

    def __init__(self, message: str, draws: Any) -> None:
        super().__init__(message, draws)
        self.draws = draws


class CalibrationError(RuntimeError):
    """A search that found no usable answer; `trail` carries the nearest attempt, whose bound is above the target.

    >>> CalibrationError("no value of k goes so low", trail="the nearest attempt").trail
    'the nearest attempt'
    """

    __str__ = message_alone

    def __init__(self, message: str, trail: Any) -> None:
        super().__init__(message, trail)
        self.trail = trail


class PrivacyFault(RuntimeError):
    """A bound that a promise of privacy rests on does not hold: a fault of ours, before anything is released.

    It is no assertion, since these can be switched off.

    >>> issubclass(PrivacyFault, AssertionError)
    False
    """


class SamplerWarning(UserWarning):
    """A sampler handed over to another one; the message says which, and why.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SamplerWarning)  # for who wants draws of the first sampler or none
    """


class StrictWarning(UserWarning):
    """A strict mechanism's public inputs do not suit; its tables may be poor, its guarantee does not suffer.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", StrictWarning)  # for who knows that epsilon is small
    """


class AuditWarning(UserWarning):
    """An audit found that a claim is broken; the numbers are confidential and not in the message.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", AuditWarning)  # for who wants a run to stop there
    """


class OrderWarning(UserWarning):
    """A matrix of log-likelihoods hardly goes along with what its weights were made from, as in another order.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", OrderWarning)  # for who wants no bound then
    """


class ColumnTypeError(InputError):
    """A column is of a type that cannot be read exactly."""


class ReportWarning(UserWarning):
    """A run stands, but its pages could not be rendered."""


def place(error: Exception) -> str:
    """Where an error happened; its message may quote a confidential value, and this does not."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {PurePath(last.filename).name}, line {last.lineno}"
