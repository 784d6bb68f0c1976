# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The fields of a statement that only the training of a network has (T46)."""

from collections.abc import Mapping

from dperm.privacy.record import Record
from dperm.report import fields as words
from dperm.report.preparation import preprocessing
from dperm.report.unit import GROUP

METHODS = {"dp-sgd": "DP-SGD of a PyTorch model", "dp-svrg": "DP-SVRG of a PyTorch model"}
"""How records name the methods, and what a reader is told."""
TAKEN_AS_PUBLIC = ("assumed_public", "model", "trained_parameters", "unit", "records_per_group")
"""What a training takes as public, beside what any fit does."""
COVERED = (
    "this training only: the trained parameters of the model, and whatever is computed from them alone. The event "
    "counts the noisy gradients of all planned steps, also if the training was stopped before: the parameters after "
    "every step could be published at no further cost."
)
PREPROCESSING = (
    "inside the run, and covered: gradients were clipped, record by record, and a record whose gradient is not finite "
    "contributes nothing. What the data set, its transforms and the training loop do to records is not known here: it "
    "has to look at each record alone."
)
STATISTICS = (
    "inside the run: none, but for what is taken as public. What the training loop looked at is not known here."
)
LOOP = (
    "Losses, metrics and whatever else the training loop computed from batches are not covered, nor are buffers of the "
    "model that changed with the data."
)
MIXING = (
    "That no example acts on the gradient of another was tried out, not proved; a data set, a loop or a loss that "
    "mixes examples is not covered."
)
EXACT = (
    "Clipped gradients are summed in double precision with a proved bound on their rounding error, which the event "
    "accounts for (T46b)."
)
ROUNDING = (
    "Last digits of the computation are not covered: with one example more or less, the computer may round the "
    "gradients of the other examples differently, and the proved bound on rounding errors does not include that."
)
FAST = (
    "Noise is drawn in single precision, and rounding errors of sums are not accounted for (grade fast): the guarantee "
    "is that of ideal arithmetic, and low-order bits may leak."
)
_OF_GROUPS = {"n": "n_groups", "most_rows": "most_groups", "batch_size": "groups_in_a_batch"}


def is_training(record: Record) -> bool:
    """Whether the record is that of a network's training."""
    return record.public.get("method") in METHODS


def training_facts(record: Record) -> dict[str, object]:
    """What only a training has."""
    public = {_name(record, key): value for key, value in record.public.items() if value is not None}
    method = METHODS[str(public.pop("method"))]
    names = (*words.TAKEN_AS_PUBLIC, *TAKEN_AS_PUBLIC, *_OF_GROUPS.values())
    taken = {name: public.pop(name) for name in names if name in public and name != _OF_GROUPS["batch_size"]}
    return {
        "public_quantities": taken,
        "mechanism": {"name": method, **public, "event": record.event},
        "covered": f"{COVERED} {words.SEARCH}",
        "preprocessing": preprocessing(record, PREPROCESSING),
        "nonprivate_statistics": STATISTICS,
    }


def training_limits(record: Record) -> tuple[str, ...]:
    """What is not covered of a training; what grade "fast" means comes first."""
    return (FAST, LOOP, MIXING) if record.grade == "fast" else (LOOP, MIXING, ROUNDING)


def training_security(record: Record) -> str:
    """How sums and noise were made."""
    return FAST if record.grade == "fast" else f"{words.EXACT} {EXACT}"


def of_groups(sampling: Mapping[str, str], record: Record) -> dict[str, str]:
    """What was sampled, where that is groups."""
    if record.unit != GROUP:
        return dict(sampling)
    return {name: text.replace("sampling at", "sampling of groups at") for name, text in sampling.items()}


def _name(record: Record, key: str) -> str:
    """Numbers that count groups are called so."""
    return _OF_GROUPS.get(key, key) if record.unit == GROUP else key
