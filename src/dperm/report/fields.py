# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The fields of a statement: what a reader of a private release should be told, in this order.

`dperm.report.tiers` groups them into the 31 numbered fields of a page, and has the hints for those that are missing.
"""

NOT_STATED = "not stated"
"""Marks what only the user can know and has not said: a gap."""
NOTHING = "nothing"
NONE = "none"

FIELDS = {
    "status": "Privacy",
    "meaning": "What that means",
    "curator": "Curator",
    "intended_use": "Intended use",
    "product": "What is released",
    "publication_date": "Date of publication",
    "links": "Links",
    "goal": "What was asked for",
    "flavour": "Flavour of differential privacy",
    "parameters": "Its parameters",
    "unit_of_privacy": "Unit of privacy",
    "trust_model": "Model of trust",
    "adjacency": "Adjacency",
    "data_domain": "Domain of the data",
    "public_quantities": "Taken as public",
    "contribution_bound": "Records per unit of privacy",
    "composition": "Composition and post-processing",
    "covered": "What is covered",
    "implementation": "Implementation",
    "security": "Security",
    "reasons": "Reasons for epsilon and the other choices",
    "mechanism": "Mechanism",
    "sampling": "Sampling",
    "steps": "Steps",
    "accountant": "Accountant",
    "profile": "Privacy profile",
    "tuning": "Tuning runs",
    "preprocessing": "Pre-processing",
    "nonprivate_statistics": "Statistics of the data used without privacy",
    "noise_source": "Source of the noise",
    "code_version": "Versions",
    "time": "Time of the run",
    "ledger_entry": "Entry in the ledger",
    "retries": "Failed and repeated runs",
    "audit": "Audits",
    "utility": "Usefulness",
    "limits": "Limits",
}
"""Every field, with the words that a reader sees."""

STATED_BY_THE_USER = (
    "curator",
    "intended_use",
    "product",
    "publication_date",
    "links",
    "data_domain",
    "contribution_bound",
    "reasons",
    "tuning",
    "preprocessing",
    "nonprivate_statistics",
    "ledger_entry",
    "retries",
    "utility",
)
"""Fields that the user may state; all others follow from the release, and cannot be overwritten."""

PARTLY_KNOWN = ("contribution_bound", "data_domain", "reasons", "tuning", "preprocessing", "nonprivate_statistics")
"""Fields of which the run knows a part at most, and the user has to state the rest."""

BESIDE = (*PARTLY_KNOWN, "ledger_entry", "retries")
"""Fields in which the words of the user stand beside what the run knows, and never replace it."""

REQUIRED = ("curator", "contribution_bound", "reasons", "tuning", "preprocessing", "nonprivate_statistics")
"""Fields without which the protection of a person is not rated.

They say who answers for the release and why epsilon was chosen, how many records a person has, and what else was
learned from the same data.
"""

NONE_IS_AN_ANSWER = ("tuning", "preprocessing", "nonprivate_statistics")
"""Required fields in which "none" states a fact; elsewhere it is a placeholder."""

FLAVOURS = {
    "PureDP": "pure: epsilon-DP",
    "ApproxDP": "approximate: (epsilon, delta)-DP",
    "ZCDP": "zero-concentrated: rho-zCDP",
    "GDP": "Gaussian: mu-GDP",
    "RDP": "Renyi DP",
}

TAKEN_AS_PUBLIC = (
    "assumptions",
    "estimator",
    "n",
    "most_rows",
    "n_features",
    "columns",
    "schema_digest",
    "feature_norm",
    "bounds",
    "intercept",
    "classes",
    "class_weight",
    "label_range",
    "invalid",
)
"""What a fit takes as public; the other public numbers of its record describe the mechanism."""

SEEDED = (
    "NOT PRIVATE: the noise follows from a seed, and whoever knows the seed can subtract it. Nothing is promised; the "
    "same run without a seed would have met what was asked for."
)
NO_NOISE = "NOT PRIVATE: epsilon = inf was asked for, no noise was added, and there is no guarantee."
PRIVATE = "PRIVATE, as far as is stated below."
REFUTED = (
    "REFUTED BY AN AUDIT: what is claimed below and what an audit has measured cannot both be true. Rely on nothing "
    "that is promised here until that is explained."
)
PROMISING = (PRIVATE, REFUTED)
"""Statuses of statements that claim something."""

CONTRIBUTION = "one record: taken for granted, not checked. k records of one person are protected as a group of k."
ONE_GROUP = "one group (all records with one key, of which at most {} are used)"
GROUP_CONTRIBUTION = (
    "at most {}, the first ones of a group in the order of the data set: enforced, others are left out. That all "
    "records of a person are in one group follows from the keys, which are not checked."
)
NO_COMPOSITION = "one release. Post-processing costs nothing; further releases add up."
NOT_RECORDED = "not recorded"
DECLARED = "columns, as declared"
"""What a schema says of the data, in the field of their domain."""
UNNAMED = "the one of the event"
TRUST = "central: whoever runs the fit sees the data; the release is protected."
FIT = "this fit only: the coefficients, and whatever is computed from them alone."
ALL_ITERATES = (
    "Every step of the descent is covered too: the event counts the noisy gradient of each, so that all iterates could "
    "be published at no further cost."
)
FINAL_MODEL = "The final model only: what the solver held on its way there is not covered, and must not be published."
SEARCH = (
    "A search over many fits is not covered by the guarantee of one: every fit is a release of its own and has to be "
    "accounted for."
)
STEPS_COVERED = ("gradient", "sgd")
"""Methods whose event composes the noisy gradients of all their steps."""
ONE_RELEASE = (
    "this release only: the released value, and whatever is computed from it alone. Other releases from the same data "
    "have to be accounted for together with it."
)
PREPROCESSING = (
    "inside the fit, and covered: rows and columns, and the labels of a regression, were brought within their public "
    "bounds."
)
UNCOVERED = "NOT COVERED: "
"""How a fact begins for which no statement of the user makes up."""
FITTED_TRANSFORMERS = (
    UNCOVERED + "before the fit a pipeline fitted {} to the private data, without noise. No guarantee covers the "
    "transformers, nor predictions that use them."
)
UNKNOWN_TRANSFORMERS = (
    UNCOVERED
    + "the model was fitted in a joblib worker, where a pipeline around it cannot be seen. No guarantee covers "
    "transformers that were fitted to the private data before the model, nor predictions that use them."
)
STATISTICS = "inside the fit: none, but for what is taken as public."
SCHEMES = {"poisson": "Poisson sampling", "without_replacement": "sampling without replacement"}
"""Kinds of events that sample, in words."""
NO_SAMPLING = "none: every record is used"
SAME_SAMPLING = "The plan that drew the samples also made the event that was accounted for: they cannot differ."
NO_NOISE_OF_OURS = "No noise of dperm was used."
EXACT = "Noise is drawn on a grid, exactly, and calibrated to the rounded value."
NO_ERROR = "none on the unsafe side: every epsilon and delta is an upper bound, rounded up."
LIMITS = (
    "Scores, plots and error messages computed from the private data are not covered.",
    "Running time and memory are not covered.",
    "The guarantee rests on AES-256, on the operating system's randomness, and on what is taken as public.",
)
CLIPPED = {
    "logistic": (
        "Probabilities are overconfident, too far from 1/2: gradients were clipped, which mutes the records on the "
        "wrong side of the boundary. Fit with clip=1.0 for calibrated ones."
    ),
    "softmax": (
        "Probabilities are not calibrated: gradients were clipped, which mutes the records that are predicted worst. "
        "Fit with clip=1.0 for calibrated ones."
    ),
}
"""What clipped gradients do to the predictions, by the loss."""
SQUARED = (
    "Predictions are no means where residuals are large: gradients were clipped, so residuals beyond the clip count "
    "linearly, as in the Huber loss, and outliers and long tails pull less."
)
FAST = (
    "The noise is in floating point (grade fast): the guarantee is that of the ideal law, and low-order bits may leak."
)
