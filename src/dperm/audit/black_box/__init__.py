# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Black-box audit: run a training many times on two neighbouring data sets, guess the data set, and bound epsilon."""

from dperm.audit.black_box.additive import of_mechanism as of_mechanism
from dperm.audit.black_box.audit import audit as audit
from dperm.audit.black_box.output_statistics import low_bits as low_bits
from dperm.audit.black_box.output_statistics import projection as projection
from dperm.audit.black_box.output_statistics import step_differences as step_differences
from dperm.audit.black_box.output_statistics import low_order_bits as low_order_bits
from dperm.audit.black_box.neighbours import Neighbours as Neighbours
from dperm.audit.black_box.plans import of_plan as of_plan
from dperm.audit.black_box.repeated_training import repeated as repeated
from dperm.audit.black_box.sample import Sample as Sample
from dperm.audit.black_box.statistics import Fixed as Fixed
from dperm.audit.black_box.statistics import Selected as Selected
from dperm.audit.black_box.statistics import Statistic as Statistic
from dperm.audit.black_box.subject import Drawn as Drawn
from dperm.audit.black_box.subject import Subject as Subject
