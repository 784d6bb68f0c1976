# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Basic releases of private learning: counts, sums, means, histograms, quantiles, thresholds, second moments.

Each release is planned from public constants (a goal and bounds) and then run on data:

    Mean(PureDP(1.0, "replace_one"), bounds=(0.0, 100.0), n=1000).release(data, budget)

Numbers and rows are clipped to the declared bounds, never to bounds computed from the data; a `Histogram` can drop
numbers outside its edges instead. Sums are exact: records become integers on a public grid, so the proved sensitivity
also applies to the computed value.
"""

from dperm.mechanisms.releases.count import Count as Count
from dperm.mechanisms.releases.covariance import Covariance as Covariance
from dperm.mechanisms.releases.histogram import Histogram as Histogram
from dperm.mechanisms.releases.mean import Mean as Mean
from dperm.mechanisms.releases.quantile import Quantile as Quantile
from dperm.mechanisms.releases.sum import Sum as Sum
from dperm.mechanisms.releases.threshold import Cut as Cut
from dperm.mechanisms.releases.threshold import Threshold as Threshold
