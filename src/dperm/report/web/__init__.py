# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The parts of the page: head, pictures, fields; every text from outside is escaped."""
