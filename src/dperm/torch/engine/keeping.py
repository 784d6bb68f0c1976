# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a model keeps anything of the examples it has seen: in buffers, or in attributes and the lists among them.

The model is run on two batches that have no row in common, each time from its first state. Parameters and buffers must
not change at all. Other attributes may, if both batches leave the same behind, and one more run leaves it as it is: a
mask or a table of positions that is made in the first run is nobody's data.
"""

from torch import nn

from dperm.errors import AssumptionError
from dperm.torch.engine.held import Held
from dperm.torch.engine.influence import EXAMPLES
from dperm.torch.engine.synthetic import Examples
from dperm.torch.engine.untouched import seeded


def check_kept(model: nn.Module, examples: Examples, start: Held) -> None:
    """Refuse a model that keeps something of examples; ``start`` is what it held before it was run at all."""
    one = _left(model, examples, start, shift=0)
    other = _left(model, examples, start, shift=1)
    seeded()
    args, kwargs = examples.batch(EXAMPLES)
    model(*args, **kwargs)
    again = Held.by(model, attributes_only=True)
    # Where the rows of both batches are not all different, nothing is shown by what they leave.
    before = other if examples.telling(EXAMPLES) else start
    name = before.differing(one) or other.differing(again)
    if name is not None:
        raise AssumptionError(
            f"the attribute {name!r} is changed by the forward pass (a tensor, or a list or dict with other contents): "
            f"it would hold private data, without noise, and carry examples from one batch into the next. Keep it in a "
            f"local variable, or return it; what depends on no example, make in __init__."
        )


def check_registered(model: nn.Module, start: Held) -> None:
    """Refuse a model whose parameters or buffers are not what they were."""
    name = start.changed(model)
    if name is not None:
        raise AssumptionError(
            f"the buffer or parameter {name!r} is changed by the forward pass: it would hold private data, without "
            f"noise, and carry examples from one batch into the next. Use a layer without running statistics "
            f"(track_running_stats=False, nn.GroupNorm), or put it into eval mode; keep nothing of a batch in a buffer."
        )


def _left(model: nn.Module, examples: Examples, start: Held, *, shift: int) -> Held:
    """What a run leaves behind."""
    start.restore()
    seeded()
    args, kwargs = examples.batch(EXAMPLES, shift=shift)
    model(*args, **kwargs)
    check_registered(model, start)
    return Held.by(model, attributes_only=True)
