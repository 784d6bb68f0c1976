# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about the run: the release, its protection and the limitations of the guarantee."""

from collections.abc import Iterator, Mapping

from dperm.data.pipeline_steps import PRIVATE_STEPS, UNKNOWN
from dperm.privacy.record import Record
from dperm.report import fields as names
from dperm.report.budget_facts import budget_facts
from dperm.report.definitions import GROUP, contribution
from dperm.report.engine_facts import engine_scope, engine_security
from dperm.report.metric_facts import utility_facts
from dperm.report.schema_facts import (
    ENCODERS,
    RELEASED,
    RELEASES_LIMIT,
    RELEASES_PREPROCESSING,
    RELEASES_STATISTICS,
    SCHEMA_LIMIT,
    SCHEMA_PREPROCESSING,
    SCHEMA_STATISTICS,
    only_schemas,
    private_schemas,
    schema_sentences,
    uncharged_schemas,
)

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
    ENCODERS,
)
"""Public quantities of a fit; the other public numbers of its record describe the mechanism."""
TRANSFORMERS = "fitted_transformers"
"""Key in records for the transformers that a pipeline fitted to the data before the model."""
SCORES = "unprotected_scores"
"""Key in records for the function, class or callback that evaluated the model on the private data."""
PREPARATION = "preparation"
"""Key in records for the private preparation of the table, which the guarantee covers."""
SEARCHED = "search"
"""Key in records for the private search over settings, which the guarantee covers."""
UNNAMED = "unnamed mechanism"
FIT = "This fit only: the coefficients, and anything computed from them alone."
PREPARED_FIT = (
    "This fit only: the schema that was found privately (bins, categories, ranges and classes), the coefficients, and "
    "anything computed from them alone. One guarantee covers schema and model together."
)
EVALUATED_FIT = (
    "This fit only: the coefficients, the metrics in field 30, and anything computed from them alone. One guarantee "
    "covers model and metrics together."
)
PREPARED_EVALUATED_FIT = (
    "This fit only: the schema that was found privately (bins, categories, ranges and classes), the coefficients, the "
    "metrics in field 30, and anything computed from them alone. One guarantee covers schema, model and metrics "
    "together."
)
COINS = "one secret coin flip for each record, which makes the record an evaluation record with probability {:g}"
SPLIT = "one secret split of the records, which makes a share of {:g} of them validation records"
STAGES, METRICS, HOLDOUT = "stages", "metrics", "holdout"
"""Keys in records for the stages of a release, its metrics, and the share of records held out for them."""
PREPARED_PREPROCESSING = (
    "A private preparation found the kinds, ranges, bins and categories of the columns, and the labels of the target "
    "unless they were declared. The preparation read each cell independently of the others, and the guarantee covers "
    "the preparation. The preparation also determined the bounds and categories in field 10 and the norm and classes "
    "in field 11, except those that were declared."
)
PREPARED_STATISTICS = "The fit used no statistics of the data except the released schema, which the guarantee covers."
PREPARED_LIMIT = (
    "The guarantee relies on AES-256, on the operating system's random numbers, and on the assumption that the names "
    "of the columns and the declared quantities were not derived from the data."
)
COVERED_FIT_ONLY = "Only the fit to the prepared rows. The preparation, and therefore the release, is NOT COVERED."
ALL_ITERATES = (
    "The guarantee accounts for the noisy gradients of all steps. The coefficients after every step could therefore "
    "also be published, at no further cost."
)
FINAL_MODEL = "Intermediate values of the solver are not covered and must not be published."
SEARCH = (
    "The guarantee of one fit does not cover a search over many fits: each fit is a separate release and must be "
    "accounted for."
)
SEARCHED_FIT = (
    "The guarantee covers the search that chose the setting: all its training runs and all its scores. The other "
    "models, their scores and the number of training runs were not released."
)
SEARCH_TUNING = (
    "A private search chose the setting among {} public settings by noisy scores on validation records. The guarantee "
    "covers the search (T93). {} {}"
)
COMPOSED_RUNS = "One model was trained with each setting, and the training runs are composed."
RANDOM_RUNS = (
    "The number of training runs was random and is secret. The distribution of this number is public ({}), with a mean "
    "of {:.3g}. Each training run drew its setting uniformly and independently of all others."
)
SEARCH_SCORE = "The score of the released model is the best of several, and is therefore biased upwards."
TRAINED_BY_FUNCTION = (
    "A function supplied by the user trained the models. dperm did not check that this function meets the guarantee "
    "of one training run."
)
STEPS_COVERED = ("gradient", "sgd")
"""Methods whose event composes the noisy gradients of all their steps."""
ONE_RELEASE = (
    "This release only: the released value, and anything computed from it alone. Other releases from the same data "
    "must be accounted for together with it."
)
PREPROCESSING = (
    "The fit itself clipped the features and the norms of the rows to their public bounds; the guarantee covers this."
)
REGRESSION_PREPROCESSING = (
    "The fit itself clipped the features, the norms of the rows and the targets to their public bounds; the guarantee "
    "covers this."
)
FITTED_TRANSFORMERS = (
    names.UNCOVERED + "before the fit, a pipeline fitted {} to the private data without noise. No guarantee covers the "
    "transformers, or predictions that use them."
)
SEEDED_STEP = (
    names.UNCOVERED
    + "before the fit, a {} with a seed found the {}. Anyone who knows the seed can subtract its noise. "
    "No guarantee covers this release, or predictions that use it."
)
UNKNOWN_TRANSFORMERS = (
    names.UNCOVERED
    + "the model was fitted in a joblib worker, where a surrounding pipeline cannot be detected. No guarantee covers "
    "transformers that were fitted to the private data before the model, or predictions that use them."
)
UNPROTECTED_SCORES = (
    names.UNCOVERED_SCORES + "and predictions of {} on the private data, and the choice of models and parameters by "
    "them. The guarantee of this fit covers the coefficients, for parameters that were fixed before the data were seen."
)
STATISTICS = "The fit itself used no statistics of the data except the public quantities in field 11."
SCHEMES = {"poisson": "Poisson sampling", "without_replacement": "sampling without replacement"}
"""Sampling schemes, by type of event."""
NO_SAMPLING = "no sampling (every record is used)"
SAME_SAMPLING = "The same plan drew the samples and defined the accounted event, so the two cannot differ."
NO_DPERM_NOISE = "dperm added no noise."
EXACT = (
    "Noise is drawn exactly from a distribution on a grid. It is calibrated to the sensitivity of the value after "
    "rounding to this grid."
)
NO_ERROR = "epsilon and delta are upper bounds, rounded up; neither is understated."
LIMITS = (
    "Scores, plots and error messages computed from the private data are not covered.",
    "Running time and memory use are not covered.",
    "The guarantee relies on AES-256, on the operating system's random numbers, and on the assumption that the "
    "quantities declared public (field 11) were not derived from the data.",
)
SCORES_EXCEPT_METRICS = (
    "Scores, plots and error messages computed from the private data are not covered, except the metrics in field 30."
)
CLIPPED = {
    "logistic": (
        "The model's predicted probabilities are overconfident (too far from 1/2), because clipping the gradients "
        "reduces the influence of misclassified records. Fit with clip=1.0 for calibrated probabilities."
    ),
    "softmax": (
        "The model's predicted probabilities are not calibrated, because clipping the gradients reduces the influence "
        "of the records with the worst predictions. Fit with clip=1.0 for calibrated probabilities."
    ),
}
"""Effects of clipped gradients on predictions, by loss."""
SQUARED = (
    "Predictions do not estimate conditional means where residuals are large: gradients were clipped, so residuals "
    "beyond the clipping threshold count only linearly, as in the Huber loss, and outliers have less influence."
)
FAST = (
    "The noise is drawn in floating point (grade fast): the guarantee holds for the ideal distribution, and low-order "
    "bits may leak."
)

TRAINING_METHODS = {"dp-sgd": "DP-SGD of a PyTorch model", "dp-svrg": "DP-SVRG of a PyTorch model"}
"""Descriptions of the training methods, by their names in records."""
TRAINING_PUBLIC = ("assumed_public", "model", "trained_parameters", "unit", "records_per_group")
"""Public quantities of a training run, in addition to those of any fit."""
TRAINING_COVERED = (
    "This training run only: the trained parameters of the model, and anything computed from them alone. The "
    "guarantee accounts for all planned steps, even if training stopped early. The parameters after every step could "
    "therefore also be published, at no further cost."
)
TRAINING_PREPROCESSING = (
    "The run itself clipped the gradient of each record, and a record whose gradient is not finite contributed "
    "nothing; the guarantee covers this. dperm cannot inspect the transforms of the data set or the training loop; "
    "they must process each record independently of the others."
)
TRAINING_STATISTICS = (
    "The run itself used no statistics of the data except the public quantities in field 11. dperm cannot know which "
    "statistics the training loop computed."
)
LOOP = (
    "Losses, metrics and other values that the training loop computed from batches are not covered. Buffers of the "
    "model that changed with the data are not covered."
)
MIXING = (
    "Independence of the examples' gradients was tested, not proved. A data set, training loop or loss that mixes "
    "examples is not covered."
)
TRAINING_EXACT = (
    "Clipped gradients are summed in double precision with a proved bound on their rounding error, which the event "
    "accounts for (T46b)."
)
ROUNDING = (
    "Rounding of other examples' gradients is not covered: when one example is added or removed, the computer may "
    "round the gradients of the others differently, and the proved bound on rounding errors does not include this "
    "effect."
)
TRAINING_FAST = (
    "Noise is drawn in single precision, and rounding errors of sums are not accounted for (grade fast): the guarantee "
    "holds for ideal arithmetic, and low-order bits may leak."
)
_GROUP_NAMES = {"n": "n_groups", "most_rows": "most_groups", "batch_size": "groups_in_a_batch"}
_SECURITY = {"exact": EXACT, "fast": FAST}


def run_facts(record: Record) -> dict[str, object]:
    """Return the fields of a statement for the record of a run."""
    return {
        "contribution_bound": contribution(record),
        **_release_facts(record),
        **_budget_facts(record),
        "implementation": f"dperm {record.versions.get('dperm', '')}".strip(),
        "security": _security(record),
        "sampling": _sampling(record),
        "steps": record.public.get("steps", 1),
        "accountant": {"name": "dperm", "theorems": record.theorems, "error": NO_ERROR},
        "noise_source": {"law": record.noise, "grade": record.grade, "eta": record.eta, "tau": record.tau},
        "code_version": record.versions or names.NOT_RECORDED,
        "time": names.NOT_RECORDED if record.timestamp is None else record.timestamp,
        "limits": _limits(record),
        **_tuning(record),
    }


def is_searched(record: Record) -> bool:
    """Whether a private search over settings chose the release."""
    return isinstance(record.public.get(SEARCHED), Mapping)


def search_sentence(record: Record) -> str:
    """Return the sentences on the private search that chose a setting."""
    search = record.public[SEARCHED]
    assert isinstance(search, Mapping)
    law = search["runs"]
    if law is None:
        runs = COMPOSED_RUNS
    else:
        numbers = ", ".join(f"{name} = {value:.4g}" for name, value in law.items() if name != "law")
        runs = RANDOM_RUNS.format(f"{str(law['law']).replace('_', ' ')}, {numbers}", search["mean_trials"])
    function = f" {TRAINED_BY_FUNCTION}" if search.get("function") else ""
    return SEARCH_TUNING.format(len(search["settings"]), runs, SEARCH_SCORE) + function


def _tuning(record: Record) -> dict[str, str]:
    if uncovered_scores(record):
        return {"tuning": " ".join(uncovered_scores(record))}
    if not is_searched(record):
        return {}
    others = _budget_facts(record).get("tuning")
    return {"tuning": " ".join((search_sentence(record), *([str(others)] if others else [])))}


def _budget_facts(record: Record) -> dict[str, object]:
    facts, uncharged = budget_facts(record.ledger, seeded=record.seeded), uncharged_schemas(record)
    return {**facts, "composition": f"{facts['composition']} {uncharged}"} if uncharged else facts


def is_training(record: Record) -> bool:
    """Return whether the record belongs to the training of a neural network (T46)."""
    return record.public.get("method") in TRAINING_METHODS


def _release_facts(record: Record) -> dict[str, object]:
    """Return the facts for the kind of run: training, fit or any other release."""
    if is_training(record):
        return _training_facts(record)
    return _fit_facts(record) if "estimator" in record.public else _other_facts(record)


def _fit_facts(record: Record) -> dict[str, object]:
    public = dict(record.public)
    why = {"reasons": public.pop("why")} if "why" in public else {}
    taken = {name: public.pop(name) for name in TAKEN_AS_PUBLIC if name in public}
    method = public.pop("method", UNNAMED)
    metrics = public.pop(METRICS, None)
    utility = {"utility": utility_facts(metrics, public.get(HOLDOUT))} if isinstance(metrics, Mapping) else {}
    return {
        "public_quantities": taken,
        "mechanism": {"name": method, **public, "event": record.event},
        "covered": COVERED_FIT_ONLY
        if uncovered_transformers(record)
        else " ".join((_covered_by_fit(method, record), *engine_scope(record), *schema_sentences(record))),
        **utility,
        "preprocessing": _preprocessing(record, _usual_preprocessing(record)),
        "nonprivate_statistics": _usual_statistics(record),
        **why,
    }


def _usual_preprocessing(record: Record) -> str:
    if is_prepared(record):
        return PREPARED_PREPROCESSING
    own = _of_preparations(record, "", SCHEMA_PREPROCESSING, RELEASES_PREPROCESSING)
    clipped = REGRESSION_PREPROCESSING if "label_range" in record.public else PREPROCESSING
    return " ".join((*([own] if own else []), clipped))


def _usual_statistics(record: Record) -> str:
    if is_prepared(record):
        return PREPARED_STATISTICS
    return _of_preparations(record, STATISTICS, SCHEMA_STATISTICS, RELEASES_STATISTICS)


def is_prepared(record: Record) -> bool:
    """Whether a private preparation of the table is a stage of the release."""
    return PREPARATION in record.public


def has_late_header(public: Mapping[str, object]) -> bool:
    """Whether the ledger binds a model by its committed digest, which covers schema, parameters and public facts too.

    This holds for releases of several stages: their public facts are known only after the earlier stages. Models with
    a private preparation from before the stages were recorded have the same digest.
    """
    return PREPARATION in public or STAGES in public or SEARCHED in public


def _covered_by_fit(method: object, record: Record) -> str:
    texts = {
        (False, False): FIT,
        (False, True): EVALUATED_FIT,
        (True, False): PREPARED_FIT,
        (True, True): PREPARED_EVALUATED_FIT,
    }
    fit = texts[is_prepared(record), METRICS in record.public]
    if is_searched(record):
        return " ".join((fit, SEARCHED_FIT, FINAL_MODEL))
    return " ".join((fit, SEARCH, ALL_ITERATES if method in STEPS_COVERED else FINAL_MODEL))


def _training_facts(record: Record) -> dict[str, object]:
    public = {_public_name(record, key): value for key, value in record.public.items() if value is not None}
    method = TRAINING_METHODS[str(public.pop("method"))]
    keys = (*TAKEN_AS_PUBLIC, *TRAINING_PUBLIC, *_GROUP_NAMES.values())
    taken = {name: public.pop(name) for name in keys if name in public and name != _GROUP_NAMES["batch_size"]}
    return {
        "public_quantities": taken,
        "mechanism": {"name": method, **public, "event": record.event},
        "covered": f"{TRAINING_COVERED} {SEARCHED_FIT if is_searched(record) else SEARCH}",
        "preprocessing": _preprocessing(record, TRAINING_PREPROCESSING),
        "nonprivate_statistics": TRAINING_STATISTICS,
    }


def _public_name(record: Record, key: str) -> str:
    """Return the displayed key of a public number; numbers of groups have separate names."""
    return _GROUP_NAMES.get(key, key) if record.unit == GROUP else key


def _other_facts(record: Record) -> dict[str, object]:
    name = record.public.get("release", record.public.get("mechanism", UNNAMED))
    public = dict(record.public)
    metrics = public.pop(METRICS, None)
    return {
        "public_quantities": public,
        **({"utility": utility_facts(metrics)} if isinstance(metrics, Mapping) else {}),
        "mechanism": {"name": name, "event": record.event},
        "covered": f"{ONE_RELEASE} {SEARCHED_FIT}" if is_searched(record) else ONE_RELEASE,
    }


def uncovered_transformers(record: Record) -> tuple[str, ...]:
    """Return sentences about preparation of the data that the guarantee does not cover; empty for most fits."""
    found = record.public.get(TRANSFORMERS)
    listed = list(map(str, found)) if isinstance(found, list) else []
    known = ", ".join(name for name in listed if name not in (UNKNOWN, *PRIVATE_STEPS))
    seeded = (SEEDED_STEP.format(name, RELEASED[name]) for name in listed if name in PRIVATE_STEPS)
    fitted = (*((FITTED_TRANSFORMERS.format(known),) if known else ()), *seeded)
    return (*fitted, UNKNOWN_TRANSFORMERS) if UNKNOWN in listed else fitted


def uncovered_scores(record: Record) -> tuple[str, ...]:
    """Return the sentence about scores on the private data that the guarantee does not cover; empty for most fits."""
    source = record.public.get(SCORES)
    return (UNPROTECTED_SCORES.format(source),) if source else ()


def _preprocessing(record: Record, usual: str) -> str:
    return " ".join((*uncovered_transformers(record), usual))


def _security(record: Record) -> str:
    if is_training(record):
        return TRAINING_FAST if record.grade == "fast" else f"{EXACT} {TRAINING_EXACT}"
    return " ".join((_SECURITY.get(record.grade, NO_DPERM_NOISE), *engine_security(record)))


def _limits(record: Record) -> tuple[str, ...]:
    """Return the limitations of a release, those of grade "fast" before the others of a training run."""
    if is_training(record):
        own = (TRAINING_FAST, LOOP, MIXING) if record.grade == "fast" else (LOOP, MIXING, ROUNDING)
        return (*uncovered_transformers(record), *uncovered_scores(record), *LIMITS, *own)
    return (
        *uncovered_transformers(record),
        *uncovered_scores(record),
        *schema_sentences(record),
        SCORES_EXCEPT_METRICS if METRICS in record.public else LIMITS[0],
        *LIMITS[1:-1],
        _assumed(record),
        *_clipping_effects(record),
        *((FAST,) if record.grade == "fast" else ()),
    )


def _assumed(record: Record) -> str:
    """Return the last limitation: the assumptions of the guarantee."""
    if is_prepared(record):
        return PREPARED_LIMIT
    return _of_preparations(record, LIMITS[-1], SCHEMA_LIMIT, RELEASES_LIMIT)


def _of_preparations(record: Record, without: str, schema: str, others: str) -> str:
    """Return the sentence for a record without separate private preparations, with schemas alone, or with others."""
    found = private_schemas(record)
    if not found:
        return without
    return schema if only_schemas(found) else others


def _clipping_effects(record: Record) -> tuple[str, ...]:
    share, loss = record.public.get("clip_share"), str(record.public.get("loss"))
    if loss == "squared" and share is not None:
        return (SQUARED,)
    return (CLIPPED[loss],) if loss in CLIPPED and isinstance(share, float) and share < 1 else ()


def _sampling(record: Record) -> dict[str, str]:
    """Return the accounted sampling and the sampling of the run, which are the same."""
    scheme = ", ".join(dict.fromkeys(_schemes(record.event)))
    if is_searched(record):
        split = SPLIT.format(record.public[SEARCHED]["validation"])  # type: ignore[index]  # a mapping
        scheme = f"{split}; {scheme} of the training records" if scheme else split
    elif record.public.get(HOLDOUT):
        coins = COINS.format(record.public[HOLDOUT])
        scheme = f"{coins}; {scheme} of the training records" if scheme else coins
    if not scheme:
        return {"assumed": NO_SAMPLING, "run": NO_SAMPLING}
    if record.unit == GROUP:
        scheme = scheme.replace("sampling at", "sampling of groups at")
    return {"assumed": scheme, "run": scheme, "why": SAME_SAMPLING}


def _schemes(data: object) -> Iterator[str]:
    """Yield the description of every sampling step inside the JSON of an event."""
    if isinstance(data, Mapping):
        if data.get("type") in SCHEMES:
            yield f"{SCHEMES[str(data['type'])]} at rate {data.get('rate')}"
        for value in data.values():
            yield from _schemes(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _schemes(value)
