# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The small releases that private learning needs: counts, sums, means, histograms, quantiles, thresholds, moments.

Each is planned from public constants (a goal and bounds) and then run on data:

    Mean(PureDP(1.0, "replace_one"), bounds=(0.0, 100.0), n=1000).release(data, budget)

The bounds are enforced by clipping and never read from the data, and what is summed is exact: records become integers
on a public grid, so the sensitivity that is proved is the sensitivity of what is computed.
"""

from dperm.mechanisms.releases.count import Count as Count
from dperm.mechanisms.releases.covariance import Covariance as Covariance
from dperm.mechanisms.releases.histogram import Histogram as Histogram
from dperm.mechanisms.releases.mean import Mean as Mean
from dperm.mechanisms.releases.quantile import Quantile as Quantile
from dperm.mechanisms.releases.threshold import Cut as Cut
from dperm.mechanisms.releases.threshold import Threshold as Threshold
from dperm.mechanisms.releases.total import Sum as Sum
