# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exposure (A10): how much easier a sequence model makes it to guess a secret from its training data.

Carlini et al. 2019, "The Secret Sharer". A random secret from a known space is planted in the training data, and the
model ranks the whole space. Any model works: a `SequenceModel`, or a function that scores whole sequences.
`CharacterModel` is a small example, trained with and without a guarantee.
"""

from dperm.audit.exposure.character_model import CharacterModel as CharacterModel
from dperm.audit.exposure.character_model import train as train
from dperm.audit.exposure.character_model import train_private as train_private
from dperm.audit.exposure.exposure import CHANCE as CHANCE
from dperm.audit.exposure.exposure import Exposure as Exposure
from dperm.audit.exposure.exposure import all_log_probabilities as all_log_probabilities
from dperm.audit.exposure.exposure import exact_exposure as exact_exposure
from dperm.audit.exposure.exposure import exposure_among as exposure_among
from dperm.audit.exposure.exposure import extrapolated_exposure as extrapolated_exposure
from dperm.audit.exposure.exposure import sampled_exposure as sampled_exposure
from dperm.audit.exposure.scoring import SequenceModel as SequenceModel
from dperm.audit.exposure.space import SecretSpace as SecretSpace
