# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``python -m dperm``: the ``dperm`` command."""

from dperm.cli import main

if __name__ == "__main__":
    main()
