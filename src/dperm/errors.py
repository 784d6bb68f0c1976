# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of dperm.

::

    Exception
    └── DpermError
        ├── ParameterError (ValueError)    an argument is invalid or out of range
        │   └── LeakError                  the request would release private data without a guarantee
        ├── DataError (ValueError)         private data are invalid; the message reveals nothing about them
        │   └── DataTypeError (TypeError)  private data have the wrong type
        ├── AdjacencyError (ValueError)    a claim is not proved for the requested adjacency
        ├── AssumptionError (ValueError)   a condition of a theorem does not hold
        ├── ConversionError (ValueError)   no theorem converts one guarantee into the other
        ├── EventFormatError (ValueError)  a stored event cannot be read
        ├── ModelFormatError (ValueError)  a stored model cannot be read
        ├── BudgetError                    a budget refuses a request, usually because too little is left
        │   └── SupersededError            another run has taken over the charge of this run
        └── LedgerError                    a ledger cannot be read, written or trusted
    UserWarning
    └── DpermWarning                       a valid request that may be a mistake
        ├── NotPrivateWarning              a seed was used, or no noise: the result is NOT PRIVATE
        └── PublicAssumptionWarning        a value taken from the data is treated as public

A message has three parts: the argument and the value received (never a private one), the rule, and the remedy. Errors
keep these parts as fields, so that each front end can format the argument in its own way.
"""

from typing import Any, ClassVar

from dperm.presentation.spelling import Spelling, python_spelling, spell

EXTREME = "parameter-extreme"
"""Code of a ParameterError for arguments that are valid separately but cannot be combined in floating point."""
NO_LEDGER = "no-ledger"
"""Code of a LedgerError for a file that contains no ledger."""


class Message:
    """Message of an error or a warning, stored in parts.

    Parameters
    ----------
    problem
        Sentence that states the problem; used if the problem does not concern a single argument.
    argument
        Python name of the argument.
    rule
        Rule that the argument must satisfy, starting with a verb, such as "must be a finite number > 0".
    got
        The value received, as text. Omit a value that may be private.
    remedy
        One or more sentences that tell the user how to correct the request.
    code
        Stable identifier for programs; by default, the ``default_code`` of the class.

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
        """Return the complete message.

        Parameters
        ----------
        spelling
            Function that formats a reference to an argument, given the argument's name and its value (None if there is
            no value).

        Returns
        -------
        str
            The message, with all references formatted.
        """
        return " ".join(part for part in (self._problem(spelling), spell(self.remedy, spelling)) if part)

    @property
    def problem_text(self) -> str:
        """Message without the remedy, as a sentence for Python users."""
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
    """Base class of all errors that dperm raises deliberately.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """


class ParameterError(DpermError, ValueError):
    """Raised when an argument is invalid or out of range.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "parameter"


class LeakError(ParameterError):
    """Raised when a request would release private data without a guarantee, because bounds or noise are missing.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "leak"


class DataError(DpermError, ValueError):
    """Raised when private data are invalid.

    The message contains no value, row or count. The error is usually raised before the budget is charged; otherwise the
    message states that the budget was charged.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "data"


class DataTypeError(DataError, TypeError):
    """Raised when private data have the wrong type, such as a table cell that is not a number.

    The message may name the column, but never a record or a value.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "data-type"


class AdjacencyError(DpermError, ValueError):
    """Raised when a claim is requested or compared under an adjacency for which it is not proved.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "adjacency"


class AssumptionError(DpermError, ValueError):
    """Raised when a condition of a theorem does not hold.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "assumption"


class ConversionError(DpermError, ValueError):
    """Raised when no theorem converts one guarantee into another, or when a mechanism cannot meet a guarantee.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "conversion"


class EventFormatError(DpermError, ValueError):
    """Raised when a stored event, guarantee, record or statement is malformed, or has an unsupported newer format.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "event-format"


class ModelFormatError(DpermError, ValueError):
    """Raised when a file contains no model, is damaged, or has a newer format than this version supports.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "model-format"


class BudgetError(DpermError):
    """Raised when a budget refuses a request, usually because the remaining budget is too small.

    The refused request charges nothing.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "budget"


class SupersededError(BudgetError):
    """Raised when another run has resumed from a checkpoint of this run and taken over its charge.

    This run must not draw any more noise.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "superseded"


class LedgerError(DpermError):
    """Raised when a ledger cannot be read, written or trusted.

    The ledger may be damaged, replaced, rolled back or missing. Do not release anything after this error.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "ledger"


class DpermWarning(Message, UserWarning):
    """Issued for a valid request that may be a mistake, or may have an unwanted effect.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "warning"


class NotPrivateWarning(DpermWarning):
    """Issued when the random bits came from a seed, or when no noise was added.

    No guarantee holds, and the result is NOT PRIVATE.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "not-private"


class PublicAssumptionWarning(DpermWarning):
    """Issued once per process when a value taken from the data is treated as public.

    Parameters
    ----------
    problem, argument, rule, got, remedy, code
        See `Message`.
    """

    default_code = "public-assumption"
