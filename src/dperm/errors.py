# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every exception and warning of dperm.

::

    Exception
    └── DpermError
        ├── ParameterError (ValueError)    an argument is nonsensical or out of range
        │   └── LeakError                  what was asked would let private data out without cover
        ├── DataError (ValueError)         private data break a rule; the message says nothing about them
        │   └── DataTypeError (TypeError)  a cell of a table is no number
        ├── AdjacencyError (ValueError)    a claim under one adjacency was asked for under another
        ├── AssumptionError (ValueError)   a theorem's condition does not hold
        ├── ConversionError (ValueError)   no theorem converts one guarantee into the other
        ├── EventFormatError (ValueError)  a stored event cannot be read
        ├── ModelFormatError (ValueError)  a stored model cannot be read
        ├── BudgetError                    the budget does not cover what was asked
        │   └── SupersededError            another run took over the charge of this one
        └── LedgerError                    a ledger cannot be read, written or trusted
    UserWarning
    └── DpermWarning                       something legal that deserves a second look
        ├── NotPrivateWarning              a seed was used, or no noise: the result is NOT PRIVATE
        └── PublicAssumptionWarning        something taken from the data is taken as public

Messages say what was asked, what is true and what to do, and name the user's argument.
"""


class DpermError(Exception):
    """Base class of every error that dperm raises on purpose."""


class ParameterError(DpermError, ValueError):
    """An argument is nonsensical or out of range."""


class LeakError(ParameterError):
    """What was asked would let private data out without cover: bounds are undeclared, or there is no noise."""


class DataError(DpermError, ValueError):
    """Private data break a rule; raised before anything is charged, with no value, row or count in the message."""


class DataTypeError(DataError, TypeError):
    """A cell of a table is of a type that is no number; the message names its column and nothing else."""


class AdjacencyError(DpermError, ValueError):
    """A claim that is proved under one adjacency was asked for under another."""


class AssumptionError(DpermError, ValueError):
    """A theorem was asked for outside its conditions."""


class ConversionError(DpermError, ValueError):
    """No theorem converts the one guarantee into the other."""


class EventFormatError(DpermError, ValueError):
    """A stored event is malformed, or was written by a format this version cannot read."""


class ModelFormatError(DpermError, ValueError):
    """A file does not hold a model, is damaged, or was written by a format this version cannot read."""


class BudgetError(DpermError):
    """The budget does not cover what was asked; nothing was charged."""


class SupersededError(BudgetError):
    """Another run resumed from a checkpoint of this one and took over its charge; this run draws no more noise."""


class LedgerError(DpermError):
    """A ledger cannot be read, written or trusted: damaged, replaced, rolled back or not there; release nothing."""


class DpermWarning(UserWarning):
    """Something legal that deserves a second look."""


class NotPrivateWarning(DpermWarning):
    """Randomness followed from a seed, or there was none: no guarantee holds, and the result is NOT PRIVATE."""


class PublicAssumptionWarning(DpermWarning):
    """Something was taken from the data that the guarantee takes as public; given once in a process."""
