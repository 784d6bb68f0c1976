# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What to expect of a private model before there is one: proved bounds, and trials on made-up data."""
