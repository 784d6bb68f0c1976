# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of dperm.

::

    Exception
    └── DpermError
        ├── ParameterError (ValueError)    an argument is invalid or out of range
        │   └── LeakError                  the request would release private data without a guarantee
        ├── DataError (ValueError)         private data break a rule; the message reveals nothing about them
        │   └── DataTypeError (TypeError)  a table cell is not a number
        ├── AdjacencyError (ValueError)    a claim is not proved for the requested adjacency
        ├── AssumptionError (ValueError)   a condition of a theorem does not hold
        ├── ConversionError (ValueError)   no theorem converts one guarantee into the other
        ├── EventFormatError (ValueError)  a stored event cannot be read
        ├── ModelFormatError (ValueError)  a stored model cannot be read
        ├── BudgetError                    the budget does not cover the request
        │   └── SupersededError            another run has taken over the charge of this run
        └── LedgerError                    a ledger cannot be read, written or trusted
    UserWarning
    └── DpermWarning                       a valid request that deserves a second look
        ├── NotPrivateWarning              a seed was used, or no noise: the result is NOT PRIVATE
        └── PublicAssumptionWarning        a value taken from the data is treated as public

A message has three parts: the argument and the value received (never a private one), the rule, and the remedy. Errors
keep these parts as fields, so that each front end can spell the argument in its own way.
"""

from typing import Any, ClassVar

from dperm.presentation.spelling import Spelling, python_spelling, spell

EXTREME = "parameter-extreme"
"""Code of a ParameterError about valid arguments that floating point cannot hold together."""
NO_LEDGER = "no-ledger"
"""Code of a LedgerError about a file that holds no ledger."""


class Message:
    """Message of an error or a warning, kept in parts.

    Pass either ``argument`` and ``rule``, or a complete sentence as ``problem``. All texts may refer to arguments by
    `dperm.presentation.spelling.arg`.

    Parameters
    ----------
    problem
        Sentence that states the problem, where no single argument breaks a rule.
    argument
        Python name of the argument.
    rule
        Predicate that the argument must satisfy, starting with a verb: "must be a finite number > 0".
    got
        The value received, as text. Leave it out if the value may be private.
    remedy
        Complete sentences that tell the user how to correct the request.
    code
        Stable identifier for programs; that of the class by default.

    Examples
    --------
    >>> error = ParameterError(argument="epsilon", rule="must be positive", got="-1", remedy="Choose 1.0, for example.")
    >>> print(error)
    epsilon must be positive, got -1. Choose 1.0, for example.
    >>> print(error.describe(lambda name, value: f"--{name}"))
    --epsilon must be positive, got -1. Choose 1.0, for example.
    """

    default_code: ClassVar[str] = "error"
    args: tuple[Any, ...]

    def __init__(
        self, problem: str = "", *, argument: str = "", rule: str = "", got: str = "", remedy: str = "", code: str = ""
    ) -> None:
        self.problem, self.argument, self.rule = problem, argument, rule
        self.got, self.remedy, self.code = got, remedy, code or self.default_code
        self.args = (str(self),)

    def describe(self, spelling: Spelling = python_spelling) -> str:
        """Return the whole message, with arguments spelled by ``spelling``."""
        return " ".join(part for part in (self._problem(spelling), spell(self.remedy, spelling)) if part)

    @property
    def problem_text(self) -> str:
        """Problem without its remedy, as a sentence for Python users."""
        return self._problem(python_spelling)

    def _problem(self, spelling: Spelling) -> str:
        if not self.argument:
            return spell(self.problem, spelling)
        received = f", got {self.got}" if self.got else ""
        return f"{spelling(self.argument, None)} {spell(self.rule, spelling)}{received}."

    def __str__(self) -> str:
        """Return the message for Python users."""
        return self.describe()

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the parts when an error crosses a process boundary."""
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[Message], parts: dict[str, Any]) -> Message:
    message = kind.__new__(kind)
    message.__dict__.update(parts)
    message.args = (str(message),)
    return message


class DpermError(Message, Exception):
    """Base class of all errors that dperm raises deliberately."""


class ParameterError(DpermError, ValueError):
    """An argument is invalid or out of range."""

    default_code = "parameter"


class LeakError(ParameterError):
    """The request would release private data without a guarantee: bounds are undeclared, or there is no noise."""

    default_code = "leak"


class DataError(DpermError, ValueError):
    """Private data are invalid.

    Usually raised before any charge; otherwise the message says so. It contains no value, row or count.
    """

    default_code = "data"


class DataTypeError(DataError, TypeError):
    """A table cell is not a number. The message names the column and nothing else."""

    default_code = "data-type"


class AdjacencyError(DpermError, ValueError):
    """A claim is proved under one adjacency and was requested under the other."""

    default_code = "adjacency"


class AssumptionError(DpermError, ValueError):
    """A condition of a theorem does not hold."""

    default_code = "assumption"


class ConversionError(DpermError, ValueError):
    """No theorem converts one guarantee into the other."""

    default_code = "conversion"


class EventFormatError(DpermError, ValueError):
    """A stored event is malformed, or its format is newer than this version."""

    default_code = "event-format"


class ModelFormatError(DpermError, ValueError):
    """A file contains no model, is damaged, or its format is newer than this version."""

    default_code = "model-format"


class BudgetError(DpermError):
    """The budget does not cover the request; nothing was charged."""

    default_code = "budget"


class SupersededError(BudgetError):
    """Another run resumed from a checkpoint of this run and took over its charge. This run draws no more noise."""

    default_code = "superseded"


class LedgerError(DpermError):
    """A ledger cannot be read, written or trusted: it is damaged, replaced, rolled back or missing. Release nothing."""

    default_code = "ledger"


class DpermWarning(Message, UserWarning):
    """A valid request that deserves a second look."""

    default_code = "warning"


class NotPrivateWarning(DpermWarning):
    """Randomness came from a seed, or there was none: no guarantee holds, and the result is NOT PRIVATE."""

    default_code = "not-private"


class PublicAssumptionWarning(DpermWarning):
    """A value taken from the data is treated as public; issued once per process."""

    default_code = "public-assumption"
