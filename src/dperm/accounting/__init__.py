# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy accounting: events, their composition, and the resulting privacy profile."""

from dperm.accounting.account import account as account
from dperm.accounting.best_of import BestOf as BestOf
from dperm.accounting.bounded_range import BoundedRange as BoundedRange
from dperm.accounting.budget import Budget as Budget
from dperm.accounting.budget import Reservation as Reservation
from dperm.accounting.budget import charged as charged
from dperm.accounting.calibrate import calibrate as calibrate
from dperm.accounting.events import Approximate as Approximate
from dperm.accounting.events import Gaussian as Gaussian
from dperm.accounting.events import Laplace as Laplace
from dperm.accounting.events import Pure as Pure
from dperm.accounting.events import RandomizedResponse as RandomizedResponse
from dperm.accounting.memory_budget import MemoryBudget as MemoryBudget
from dperm.accounting.objective import PerturbedObjective as PerturbedObjective
from dperm.accounting.parallel import ParallelParts as ParallelParts
from dperm.accounting.replace_only import ReplaceOneOnly as ReplaceOneOnly
from dperm.accounting.runs import Runs as Runs
from dperm.accounting.sampled import Poisson as Poisson
from dperm.accounting.sampled import WithoutReplacement as WithoutReplacement
from dperm.accounting.serialize import event_from_json as event_from_json
from dperm.accounting.serialize import event_to_json as event_to_json
from dperm.accounting.softmax import PerturbedSoftmax as PerturbedSoftmax
from dperm.accounting.thresholded import ThresholdedValues as ThresholdedValues
