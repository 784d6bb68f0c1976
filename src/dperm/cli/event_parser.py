# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parser for events on the command line.

It accepts calls of the known events, numbers, quotients of two numbers, ``*``, ``+`` and parentheses. Other Python
syntax is refused with a caret under its position.
"""

import ast
import difflib
import re
import warnings
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING

from dperm.cli.event_grammar import (
    EventCall,
    EventNode,
    EventParts,
    EventRepeat,
    EventSum,
    Placeholder,
    RunsCall,
    TextPosition,
    parameters,
)
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import SingleEvent

LONGEST = 10_000
DEEPEST = 30
PARALLEL = "parallel_parts"
RUNS = {
    "geometric": ("mean",),
    "logarithmic": ("mean",),
    "poisson": ("mean",),
    "negative_binomial": ("eta", "gamma"),
}
"""Laws of the number of runs in ``best_of``, with their parameters."""
_FOREIGN = re.compile(r"[^A-Za-z0-9_.+\-*/(),=?'\" ]")
_LONG_NUMBER = re.compile(r"[0-9.]{40,}")
_HOLE = "_"  # stands for ? while Python parses: one character for another, so that columns stay as they are
_EXAMPLE = "An event is written like poisson(gaussian(1.0), rate=0.01) * 1000."
_MEANT = {
    "noise_multiplier": ("sigma", "scale", "std", "stddev", "noise", "noise_scale", "b"),
    "rate": ("q", "p", "gamma", "sample_rate", "sampling_rate", "sampling_probability"),
    "epsilon": ("eps",),
}
"""Arguments and their names in other programs."""
_WHOLE = "the number after * must be a whole number"


def read_expression(text: str) -> EventNode:
    """Parse an expression.

    Raises
    ------
    ParameterError
        If ``text`` is not an expression; the last line of the message points at the position.
    """
    if not text.strip() or len(text) > LONGEST:
        raise ParameterError(f"an event needs 1 to {LONGEST} characters, got {len(text)}. {_EXAMPLE}")
    text = re.sub(r"\s", " ", text).strip()
    foreign = _FOREIGN.search(text)
    if foreign:
        raise TextPosition(text, foreign.start()).error(f"{foreign.group()!r} is not part of an event. {_EXAMPLE}")
    number = _LONG_NUMBER.search(text)
    if number:
        raise TextPosition(text, number.start()).error("this number has too many digits.")
    return _Reader(text, _kinds()).node(_syntax(text))


def _syntax(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings(action="ignore"):  # Python's own warnings; such text is refused below
            return ast.parse(text.replace("?", _HOLE), mode="eval").body
    except SyntaxError as error:
        column = min(max((error.offset or 1) - 1, 0), len(text))
        raise TextPosition(text, column).error(f"this is not an event: {error.msg}. {_EXAMPLE}") from None
    except (RecursionError, MemoryError, ValueError):
        raise _too_deep(TextPosition(text, 0)) from None


def _too_deep(position: TextPosition) -> ParameterError:
    return position.error(f"an event nests at most {DEEPEST} levels. Give the parts as several events.")


def _kinds() -> "dict[str, type[SingleEvent]]":
    """Return the events by their names in the grammar and in JSON."""
    from dperm import accounting

    kinds: tuple[type[SingleEvent], ...] = (
        accounting.Gaussian,
        accounting.Laplace,
        accounting.Pure,
        accounting.Approximate,
        accounting.RandomizedResponse,
        accounting.Poisson,
        accounting.WithoutReplacement,
        accounting.ReplaceOneOnly,
        accounting.PerturbedObjective,
        accounting.PerturbedSoftmax,
        accounting.BoundedRange,
        accounting.ThresholdedValues,
        accounting.ParallelParts,
        accounting.BestOf,
    )
    return {kind.kind: kind for kind in kinds}


@dataclass(frozen=True)
class _Reader:
    text: str
    kinds: "dict[str, type[SingleEvent]]"

    def node(self, tree: ast.expr, depth: int = 0) -> EventNode:
        """Return the expression of a syntax tree."""
        if depth > DEEPEST:
            raise _too_deep(self._position(tree))
        match tree:
            case ast.BinOp(op=ast.Add()):
                return EventSum(tuple(self.node(part, depth + 1) for part in _summands(tree)))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._repeat(left, right, depth)
            case ast.Call(func=ast.Name(id=name)) if name == PARALLEL:
                return self._parallel(tree, depth)
            case ast.Call(func=ast.Name(id=name)) if name in self.kinds:
                return self._call(tree, self.kinds[name], depth)
            case ast.Call():
                raise self._refusal(tree.func, f"is not an event; {self._known(tree.func)}")
        raise self._refusal(tree, f"is not an event; events are repeated with * and joined with +. {_EXAMPLE}")

    def _known(self, tree: ast.expr) -> str:
        """Return the known events with a suggestion, or the advice on shuffled batches."""
        name = tree.id.lower().replace("_", "") if isinstance(tree, ast.Name) else ""
        if "shuffl" in name:
            return (
                "dperm has no amplified event for shuffled batches, and Poisson accounting does not hold for them "
                "(T27). See docs/sharp-edges.md for alternatives."
            )
        squeezed = {kind.replace("_", ""): kind for kind in self.kinds}
        close = difflib.get_close_matches(name, squeezed, n=1)
        hint = f" Did you mean {squeezed[close[0]]}?" if close else ""
        return f"the known events are {', '.join(self.kinds)}.{hint}"

    def _repeat(self, left: ast.expr, right: ast.expr, depth: int) -> EventRepeat:
        """Parse event * count or count * event."""
        part, count = (right, left) if self._is_number(left) else (left, right)
        return EventRepeat(self.node(part, depth + 1), self._count(count), self._position(count))

    def _count(self, tree: ast.expr) -> "int | Placeholder":
        """Parse a whole number, also written like 1e3, or ``?``."""
        if _is_quotient(tree):
            raise self._position(tree).error(f"{_WHOLE}, got {self._found(tree)}. Give the result, rounded up.")
        times = self._number(tree, _WHOLE)
        if not isinstance(times, float):
            return times
        if not times.is_integer():
            raise self._position(tree).error(f"{_WHOLE}, got {self._found(tree)}.")
        return int(times)

    def _call(self, tree: ast.Call, kind: "type[SingleEvent]", depth: int) -> EventCall:
        names = [field.name for field in parameters(kind)]
        signature = f"{kind.kind}({', '.join(names)})"
        arguments: dict[str, float | str | Placeholder | EventNode | RunsCall] = {}
        for name, argument in self._named(tree, names, signature):
            arguments[name] = self._argument(name, argument, depth)
        needed = [one.name for one in parameters(kind) if one.default is MISSING and one.name != "adjacency"]
        missing = [name for name in needed if name not in arguments]
        if missing:
            raise self._position(tree).error(f"{signature} needs {', '.join(missing)}.")
        return EventCall(kind, arguments, self._position(tree))

    def _parallel(self, tree: ast.Call, depth: int) -> EventParts:
        """Parse parallel_parts(event, event, ...): one event for each part."""
        if tree.keywords:
            raise self._refusal(tree.keywords[0], f"is not an event; write {PARALLEL}(event, event, ...).")
        parts = tuple(self.node(part, depth + 1) for part in tree.args)
        return EventParts(self.kinds[PARALLEL], parts, self._position(tree))

    def _named(self, tree: ast.Call, names: list[str], signature: str) -> Iterator[tuple[str, ast.expr]]:
        """Yield the arguments by name, in order, each at most once."""
        if len(tree.args) > len(names):
            raise self._refusal(tree.args[len(names)], f"is one argument too many for {signature}.")
        yield from zip(names, tree.args, strict=False)
        open_names = names[len(tree.args) :]
        for keyword in tree.keywords:
            if keyword.arg in names and keyword.arg not in open_names:
                raise self._refusal(keyword, f"is given twice; {signature} takes each argument once.")
            if keyword.arg not in open_names:
                raise self._position(keyword).error(self._not_an_argument(keyword, names, signature))
            open_names.remove(keyword.arg)
            yield keyword.arg, keyword.value

    def _not_an_argument(self, keyword: ast.keyword, names: list[str], signature: str) -> str:
        name = (keyword.arg or self._found(keyword))[:40]
        meant = next((known for known, others in _MEANT.items() if name in others and known in names), None)
        close = [meant] if meant else difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        if close == ["noise_multiplier"]:
            hint += " It is the noise divided by the sensitivity to one record added or removed."
        return f"{name} is not an argument of {signature}.{hint}"

    def _argument(self, name: str, tree: ast.expr, depth: int) -> "float | str | Placeholder | EventNode | RunsCall":
        if name == "event":
            return self.node(tree, depth + 1)
        if name == "runs":
            return self._runs(tree)
        if name == "monotone":
            return self._truth(tree)
        if name != "adjacency":
            return self._number(tree, f"{name} must be a number")
        match tree:
            case ast.Name(id=str(word)) | ast.Constant(value=str(word)):
                return word
        raise self._refusal(tree, "is not an adjacency; write adjacency=add_remove or adjacency=replace_one.")

    def _runs(self, tree: ast.expr) -> RunsCall:
        """Parse a distribution of the number of runs, such as geometric(10)."""
        match tree:
            case ast.Call(func=ast.Name(id=law)) if law in RUNS:
                names = list(RUNS[law])
                signature = f"{law}({', '.join(names)})"
                found = {
                    name: self._number(argument, f"{name} must be a number")
                    for name, argument in self._named(tree, names, signature)
                }
                missing = [name for name in names if name not in found]
                if missing:
                    raise self._position(tree).error(f"{signature} needs {', '.join(missing)}.")
                return RunsCall(law, found, self._position(tree))
        laws = ", ".join(f"{law}({', '.join(names)})" for law, names in RUNS.items())
        raise self._refusal(tree, f"is not a distribution of the number of runs; the known ones are {laws}.")

    def _truth(self, tree: ast.expr) -> bool:
        """Parse true or false, in either spelling."""
        words = {"true": True, "false": False}
        match tree:
            case ast.Constant(value=bool(value)):
                return value
            case ast.Name(id=word) if word in words:
                return words[word]
        raise self._refusal(tree, "is neither true nor false; write monotone=true or monotone=false.")

    def _is_number(self, tree: ast.expr) -> bool:
        return isinstance(tree, ast.Constant | ast.UnaryOp | ast.Name) or _is_quotient(tree)

    def _number(self, tree: ast.expr, rule: str) -> "float | int | Placeholder":
        """Parse a number with an optional sign, a quotient of two, or ``?``."""
        position = self._position(tree)
        match tree:
            case ast.Name(id="_") if self.text[position.column] == "?":
                return Placeholder(position)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as size):
                return -self._size(size, rule)
            case ast.BinOp(left=ast.Constant() as over, op=ast.Div(), right=ast.Constant() as under):
                return self._quotient(over, under, rule)
        return self._size(tree, rule)

    def _size(self, tree: ast.expr, rule: str) -> "float | int":
        """Parse a number without a sign."""
        match tree:
            case ast.Constant(value=int(size) | float(size)) if not isinstance(size, bool):
                if isinstance(size, int) and size.bit_length() > 64:
                    raise self._position(tree).error(
                        "this number is too large. Write it like 1e20, or make it smaller."
                    )
                return size
        raise self._position(tree).error(f"{rule}, got {self._found(tree)}.")

    def _quotient(self, over: ast.Constant, under: ast.Constant, rule: str) -> float:
        """Parse a quotient of two numbers without a sign."""
        numerator, denominator = self._size(over, rule), self._size(under, rule)
        if denominator == 0:
            raise self._position(under).error(f"{rule}, and nothing can be divided by 0.")
        return numerator / denominator

    def _refusal(self, tree: "ast.expr | ast.keyword", message: str) -> ParameterError:
        return self._position(tree).error(f"{self._found(tree)} {message}")

    def _found(self, tree: "ast.expr | ast.keyword") -> str:
        """Return the text of a tree, at most 40 characters."""
        found = self.text[tree.col_offset : tree.end_col_offset]
        return found if len(found) <= 40 else f"{found[:37]}..."

    def _position(self, tree: "ast.expr | ast.keyword") -> TextPosition:
        return TextPosition(self.text, tree.col_offset)


def _is_quotient(tree: ast.expr) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)


def _summands(tree: ast.expr) -> list[ast.expr]:
    """Return the parts of a + b + c + ...; without recursion, as the chain may be long."""
    parts: list[ast.expr] = []
    while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        parts.append(tree.right)
        tree = tree.left
    return [tree, *reversed(parts)]
