# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every exception and warning of dperm.

::

    Exception
    └── DpermError
        ├── ParameterError (ValueError)    an argument is nonsensical or out of range
        ├── DataError (ValueError)         private data break a rule; the message says nothing about them
        ├── AdjacencyError (ValueError)    a claim under one adjacency was asked for under another
        ├── AssumptionError (ValueError)   a theorem's condition does not hold
        ├── ConversionError (ValueError)   no theorem converts one guarantee into the other
        ├── EventFormatError (ValueError)  a stored event cannot be read
        └── BudgetError                    the budget does not cover what was asked
    UserWarning
    └── DpermWarning                       something legal that deserves a second look
        └── NotPrivateWarning              a seed was used: the result is NOT PRIVATE

Messages say what was asked, what is true and what to do, and name the user's argument.
"""


class DpermError(Exception):
    """Base class of every error that dperm raises on purpose."""


class ParameterError(DpermError, ValueError):
    """An argument is nonsensical or out of range."""


class DataError(DpermError, ValueError):
    """Private data break a rule; raised before anything is charged, with no value, row or count in the message."""


class AdjacencyError(DpermError, ValueError):
    """A claim that is proved under one adjacency was asked for under another."""


class AssumptionError(DpermError, ValueError):
    """A theorem was asked for outside its conditions."""


class ConversionError(DpermError, ValueError):
    """No theorem converts the one guarantee into the other."""


class EventFormatError(DpermError, ValueError):
    """A stored event is malformed, or was written by a format this version cannot read."""


class BudgetError(DpermError):
    """The budget does not cover what was asked; nothing was charged."""


class DpermWarning(UserWarning):
    """Something legal that deserves a second look."""


class NotPrivateWarning(DpermWarning):
    """Randomness followed from a seed: whoever knows it can subtract the noise, and the result is NOT PRIVATE."""
