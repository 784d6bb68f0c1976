# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of private empirical risk minimisation. Each method plans from public constants, then runs on the data."""

from dperm.methods.bolt_on import BoltOn as BoltOn
from dperm.methods.choose import choose as choose
from dperm.methods.finite import FiniteClass as FiniteClass
from dperm.methods.fixed_event import declare_event as declare_event
from dperm.methods.fixed_event import plan_from_event as plan_from_event
from dperm.methods.gradient import GradientPerturbation as GradientPerturbation
from dperm.methods.objective import ObjectivePerturbation as ObjectivePerturbation
from dperm.methods.optimizers import Adam as Adam
from dperm.methods.optimizers import AdamW as AdamW
from dperm.methods.optimizers import Momentum as Momentum
from dperm.methods.output import OutputPerturbation as OutputPerturbation
from dperm.methods.plan import Method as Method
from dperm.methods.plan import Plan as Plan
from dperm.methods.posterior import PosteriorSampling as PosteriorSampling
from dperm.methods.sampled_gradient import SampledGradient as SampledGradient
from dperm.methods.sufficient import SufficientStatistics as SufficientStatistics
