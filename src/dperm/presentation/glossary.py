# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Terms: readable names of keys and methods, and one-sentence definitions."""

HIDDEN = "hidden by the noise"
"""Shown instead of a metric whose interval is its whole range."""
OTHER_GROUP = "other"
"""Name of the group of all records outside the declared groups."""
TERMS = {
    "assumptions": "assumed public",
    "after": "releases before the change",
    "blocks": "maximum number of releases",
    "burned": "burned charges",
    "canonical": "values in canonical form",
    "dim": "dimension",
    "encoders": "transformers of the rows",
    "eta": "eta (log-ratio error of the noise distribution, included in the guarantee)",
    "false_positive_rate": "false-positive rate",
    "feature_norm": "bound on the norm of the features",
    "gdp_mu": "nearest Gaussian mu (an approximation, not a guarantee)",
    "hash": "entry hash",
    "invalid": "invalid values",
    "is_private": "differentially private",
    "label_range": "range of the target",
    "law": "distribution",
    "limit_changes": "limit changes",
    "most_classes": "maximum number of classes",
    "most_groups": "largest number of groups for which the rounding-error bounds hold",
    "most_rows": "largest number of records for which the rounding-error bounds hold",
    "n": "number of records",
    "n_features": "number of features",
    "n_groups": "number of groups",
    "open": "open charges",
    "opening_limit": "initial limit",
    "physical_batch_size": "records per micro-batch",
    "prepared": "columns prepared privately",
    "releases": "releases so far",
    "seeded": "charged runs with a seed",
    "seq": "entry",
    "supplied": "parameters set by the encoder",
    "surprise": "probability with which the posterior bound may be exceeded",
    "tau": "tau (total-variation error of the noise distribution, included in the guarantee)",
    "true_positive_rate": "largest true-positive rate",
    "true_positive_rates": "attacks",
}
"""Readable names of keys in records and statements; other keys are shown with spaces for underscores."""

METHODS = {
    "bolt_on": "output perturbation after a fixed number of descent steps",
    "finite": "exponential mechanism over a finite class of models",
    "gradient": "noisy gradient descent",
    "none": "no noise",
    "objective": "objective perturbation: a random linear term in the minimized objective",
    "output": "output perturbation: noise added to the fitted coefficients",
    "posterior": "a sample from a posterior distribution",
    "sgd": "noisy gradient descent on random samples (DP-SGD)",
    "sufficient": "noise added to the sums of squares and products",
}
"""Methods of private learning."""

CHANGES = {"replace_one": "replaced by another", "add_remove": "added or removed"}
"""Change of one record between neighbouring data sets, by adjacency."""
GUARANTEES = {
    "PureDP": "epsilon-DP",
    "ApproxDP": "(epsilon, delta)-DP",
    "ZCDP": "zCDP",
    "GDP": "GDP",
    "RDP": "Renyi DP",
}
"""Kinds of guarantees."""

DEFINITIONS = {
    "adjacency": "Relation between data sets that differ in one record: one added or removed, or one replaced.",
    "delta": "Additive term: the probability of a result on a data set exceeds e^epsilon times its probability on a "
    "neighbour by at most delta.",
    "epsilon": "Bound on the privacy loss of one record; smaller is more private.",
    "guarantee": "Statement about the privacy loss, with its adjacency.",
    "privacy profile": "Smallest delta for every epsilon.",
    "sensitivity": "Largest change of a statistic between neighbouring data sets.",
}
"""One-sentence definitions of the terms a statement uses."""


def term(key: object) -> str:
    """Return the readable name of a key, such as "number of records" for ``n``."""
    return TERMS.get(str(key), str(key).replace("_", " "))


def guarantee_name(kind: object) -> str:
    """Return the name of a kind of guarantee, such as "(epsilon, delta)-DP" for ``ApproxDP``."""
    return GUARANTEES.get(str(kind), str(kind))


def method_description(name: object) -> str:
    """Return the description of a method or mechanism, such as "noisy gradient descent" for ``gradient``."""
    return METHODS.get(str(name), term(name))
