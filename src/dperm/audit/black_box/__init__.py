# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Black-box audit: repeat a training run on two neighbouring data sets, guess the data set, and bound epsilon."""

from dperm.audit.black_box.additive import of_mechanism as of_mechanism
from dperm.audit.black_box.audit import audit as audit
from dperm.audit.black_box.neighbours import Neighbours as Neighbours
from dperm.audit.black_box.output_statistics import low_bits as low_bits
from dperm.audit.black_box.output_statistics import low_order_bits as low_order_bits
from dperm.audit.black_box.output_statistics import projection as projection
from dperm.audit.black_box.output_statistics import step_differences as step_differences
from dperm.audit.black_box.plans import of_plan as of_plan
from dperm.audit.black_box.repeated_training import repeated as repeated
from dperm.audit.black_box.sample import RunSample as RunSample
from dperm.audit.black_box.statistics import FixedThreshold as FixedThreshold
from dperm.audit.black_box.statistics import SelectedThreshold as SelectedThreshold
from dperm.audit.black_box.statistics import Statistic as Statistic
from dperm.audit.black_box.subject import BatchSubject as BatchSubject
from dperm.audit.black_box.subject import Subject as Subject
from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "Drawn": "dperm.audit.black_box:BatchSubject",
        "Fixed": "dperm.audit.black_box:FixedThreshold",
        "Sample": "dperm.audit.black_box:RunSample",
        "Selected": "dperm.audit.black_box:SelectedThreshold",
    },
)
