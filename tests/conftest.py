# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole suite."""

from hypothesis import settings

# No deadline: the first call of an engine imports scipy. On CI hypothesis's own profile is the parent: fixed examples.
settings.register_profile("dperm", deadline=None)
settings.load_profile("dperm")
