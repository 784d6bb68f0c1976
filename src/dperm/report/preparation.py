# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Preparation of the data before a fit that its guarantee does not cover."""

from dperm.data.pipeline_steps import UNKNOWN
from dperm.privacy.record import Record
from dperm.report import fields as words

KEY = "fitted_transformers"
"""How records name the transformers that a pipeline fitted to the data before the model."""


def uncovered(record: Record) -> tuple[str, ...]:
    """What the guarantee does not cover, in sentences; nothing for most fits."""
    found = record.public.get(KEY)
    listed = list(map(str, found)) if isinstance(found, list) else []
    known = ", ".join(name for name in listed if name != UNKNOWN)
    fitted = (words.FITTED_TRANSFORMERS.format(known),) if known else ()
    return (*fitted, words.UNKNOWN_TRANSFORMERS) if UNKNOWN in listed else fitted


def preprocessing(record: Record, usual: str) -> str:
    """The known part of the field "preprocessing": ``usual``, unless a part of the preparation is not covered."""
    return " ".join((*uncovered(record), usual))
