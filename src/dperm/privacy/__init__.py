# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy guarantees: adjacency, profiles, conversions, group privacy, and their meaning for an attacker."""

from dperm.privacy.adjacency import Adjacency as Adjacency
from dperm.privacy.adjacency import Direction as Direction
from dperm.privacy.convert import convert as convert
from dperm.privacy.explain import Explanation as Explanation
from dperm.privacy.explain import explain as explain
from dperm.privacy.group import GroupProfile as GroupProfile
from dperm.privacy.group import group as group
from dperm.privacy.group import group_profile as group_profile
from dperm.privacy.group import replace_one_from_add_remove as replace_one_from_add_remove
from dperm.privacy.group import replace_one_profile as replace_one_profile
from dperm.privacy.guarantee import GDP as GDP
from dperm.privacy.guarantee import RDP as RDP
from dperm.privacy.guarantee import ZCDP as ZCDP
from dperm.privacy.guarantee import ApproxDP as ApproxDP
from dperm.privacy.guarantee import Guarantee as Guarantee
from dperm.privacy.guarantee import PureDP as PureDP
from dperm.privacy.profile import PrivacyProfile as PrivacyProfile
from dperm.privacy.profile import tradeoff_from_delta as tradeoff_from_delta
from dperm.privacy.record import Record as Record
from dperm.privacy.record import Release as Release

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Adjacency",
    "ApproxDP",
    "Direction",
    "Explanation",
    "GroupProfile",
    "Guarantee",
    "PrivacyProfile",
    "PureDP",
    "Record",
    "Release",
    "convert",
    "explain",
    "group",
    "group_profile",
    "replace_one_from_add_remove",
    "replace_one_profile",
    "tradeoff_from_delta",
]
