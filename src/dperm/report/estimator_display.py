# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private estimators in notebooks: the diagram of scikit-learn with the privacy facts, alone and in a pipeline."""

from collections.abc import Iterator
from typing import Any

from dperm.presentation.glossary import method_description
from dperm.presentation.notebook import (
    Badge,
    DiagramBlock,
    Html,
    guarantee_rows,
    notebook_card,
    notebook_fold,
    notebook_list,
    notebook_table,
)
from dperm.presentation.numbers import format_parameters
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.report.fields import PRIVATE
from dperm.report.statement import Statement


class EstimatorDisplay:
    """HTML representation of a private estimator.

    Before a fit it shows the declared parameters; afterwards guarantee, method and the reasons of the plan. It reads
    ``guarantee_``, ``statement_``, ``record_`` and ``plan_`` only, never data.
    """

    epsilon: Any
    delta: Any
    adjacency: Any
    guarantee_: Any
    plan_: Any
    record_: Any

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the fit."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return scikit-learn's diagram, and below it a card with the privacy facts."""
        from sklearn.utils import estimator_html_repr

        card = self._privacy_card()
        diagram = str(estimator_html_repr(self)).replace(card, "")  # the diagram of a pipeline keeps it
        return f"<div>{diagram}{card}</div>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text and HTML representations for notebooks; text alone with ``set_config(display="text")``."""
        from sklearn import get_config

        text = {"text/plain": repr(self)}
        return {**text, "text/html": self._repr_html_()} if get_config()["display"] == "diagram" else text

    def _sk_visual_block_(self) -> DiagramBlock:
        """Return the block of scikit-learn's diagrams, with the guarantee below the name."""
        return DiagramBlock(self, type(self).__name__, str(self), self._caption())

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        """Return scikit-learn's table of parameters, with the privacy facts below it."""
        found = super()._get_params_html(*args, **kwargs)  # type: ignore[misc]  # of BaseEstimator, from version 1.7
        parameters, card = found._repr_html_inner, self._privacy_card()
        found._repr_html_inner = lambda: parameters() + card
        return found

    def _read_statement(self) -> Statement | None:
        """Return the statement of the fit; None before a fit."""
        return self.statement_ if hasattr(self, "guarantee_") else None

    def _caption(self) -> str:
        """Return one line: the guarantee of a fit, or the requested one."""
        fields = self._read_statement()
        if fields is None:
            return f"not fitted; requested epsilon={self.epsilon!r}, delta={self.delta!r}"
        badge, status = self._badge(fields)
        return f"{badge}: {format_parameters(guarantee_as_dict(self.guarantee_))}" if status == "good" else badge

    def _badge(self, fields: Statement | None) -> Badge:
        if fields is None:
            return "NOT FITTED", "neutral"
        if self.guarantee_ is not None:
            return "PRIVATE", "good"
        return ("NOT COVERED" if fields["status"] == PRIVATE else "NOT PRIVATE"), "bad"

    def _privacy_card(self) -> Html:
        fields = self._read_statement()
        facts = notebook_table(self._requested_rows() if fields is None else self._privacy_rows(fields))
        reasons = notebook_list(getattr(getattr(self, "plan_", None), "why", ()))
        return notebook_card("Privacy", facts, notebook_fold("reasons of the plan", reasons), badge=self._badge(fields))

    def _requested_rows(self) -> Iterator[tuple[str, object]]:
        yield "requested", f"epsilon={self.epsilon!r}, delta={self.delta!r}"
        yield "adjacency", getattr(self.adjacency, "value", self.adjacency)
        method = getattr(self, "method", "sgd")  # PrivateTorchClassifier has one method
        yield "method", method if isinstance(method, str) else repr(method)
        yield "status", "not fitted: nothing was released"

    def _privacy_rows(self, fields: Statement) -> Iterator[tuple[str, object]]:
        guarantee, record = self.guarantee_, self.record_
        if guarantee is None:
            yield "guarantee", "none"
            yield "adjacency", fields["adjacency"]
        else:
            yield from guarantee_rows(guarantee_as_dict(guarantee), record.unit)
        if not fields.is_private:
            yield "status", fields.displayed_status if fields["status"] == PRIVATE else fields["status"]
        public = {} if record is None else record.public
        if "method" in public:
            yield "method", method_description(public["method"])
        if record is not None and record.ledger:
            yield "charged to", record.ledger.get("account") or "the budget of this process"
        yield "covered", fields["covered"]
