# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the library says, for those who type options: its arguments are called as they are on the command line."""

import re

_PHRASES = (
    (r"\baccount must be given: ", "--account is missing: "),
    (r"Use Ledger\(location, account=('[^']*')\)", r"Charge to it with --account \1, or give another name"),
    (r"use Ledger\(\.\.\., request_id=\.\.\.\) with an id", "use --request-id with an id"),
    (r"\brequest_id=", "request id "),
    (r"\ba new request_id\b", "a new --request-id"),
    (r"With parents=\['([^']*)'\]", r"With --parent \1"),
    (r"\bgive other=True\b", "declare other = true for it in the schema"),
    (r"\bDeclare impute=, a public value\b", "Declare impute = ... for it in the schema, a public value"),
    (r"\bGive clip=1\.0 for", "Give --clip 1 for"),
    (r"\(epsilon=inf\)", "(--epsilon inf)"),
    (r"\bLeave out ledger\b", "Leave out --ledger"),
    (r"\bfollows from random_state\b", "follows from --seed"),
    (r"\bLeave out random_state\b", "Leave out --seed"),
    (
        r"\bn=(\d+) was declared, and X has another number of rows\b",
        r"--n is \1, and the file has another number of records",
    ),
    (r"\bn is the number of rows of X: leave n out\b", "n is the number of records in the file: leave --n out"),
    (r"\bn must be given: under", "--n is missing: under"),
    (r"<Adjacency\.\w+: '(\w+)'>", r"\1"),
    (r"\b(true_positives|false_positives|non_members)\b", lambda found: f"--{found[1].replace('_', '-')}"),
    (r"\(target_excess\)", "(--target-excess)"),
    (r"\(simulate=False\)", "(--no-trials)"),
    (r"\badjacency=(REPLACE_ONE|ADD_REMOVE)\b", lambda found: f"adjacency={found[1].lower()}"),
)
_STORED = (
    (
        r"\bDeclare impute=, a public value that stands for missing ones\.",
        "Fill the gap in the file: the model was fitted without impute for this column.",
    ),
    (
        r"\bDeclare the category, or give other=True: all others then share one feature\.",
        "Correct it in the file: the model was fitted without other = true for this column.",
    ),
)


def for_stored_schema(text: str) -> str:
    """The text for predictions, whose schema is a part of the model and cannot be changed."""
    for found, said in _STORED:
        text = re.sub(found, said, text)
    return text


def as_typed(text: str) -> str:
    """The text in words that fit the command line."""
    for found, said in _PHRASES:
        text = re.sub(found, said, text)
    return text
