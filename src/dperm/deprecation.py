# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old names of public objects, which work with a DeprecationWarning until 1.0."""

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def deprecated_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` that resolves old names.

    Parameters
    ----------
    module
        ``__name__`` of the module that defined the old names.
    names
        Mapping from each old name to its new location, "package.module:Name".

    Returns
    -------
    Callable[[str], Any]
        Function that returns the object for an old name and issues a DeprecationWarning.

    Raises
    ------
    AttributeError
        Raised by the returned function if a name is unknown.

    Examples
    --------
    ``__getattr__ = deprecated_names(__name__, {"Shape": "dperm.planner:TableShape"})``
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].partition(":")
        warnings.warn(
            f"{module}.{name} is deprecated and will be removed in 1.0; use {home}.{new}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(home), new)

    return get
