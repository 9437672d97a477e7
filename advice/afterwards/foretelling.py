"""What the server will report about an object once it can be read, foretold while it cannot.

The server stops at what it cannot read, so mistakes come to light one after another. Here the mistakes that are known are
fixed and the object is sent again. Where a mistake can be fixed in several ways, several are tried, and only what the
server reports in all of them is foretold: it may leave something out, but does not say what will not come.

How much is done for it is counted in what was looked at, so that it is the same on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from advice.afterwards import gaps
from advice.afterwards.fixed import Fixed, indent, rename, reshape, unwrap
from advice.afterwards.gaps import REMOVED, size_of, with_value
from advice.findings import Finding, Result
from advice.interpreter import STRICT_DECODING, problems_of, strict_error
from advice.lints.table import LINTS
from resourceapi.decoding import MAX_PROBLEMS, DecodingError, StrictError, all_errors
from resourceapi.field_errors import Path, render
from resourceapi.manifests import MISSING, value_at
from resourceapi.request_body import schemas_of
from validation.requests import WRONG_TYPE

if TYPE_CHECKING:
    from advice.interpreter import Interpreter
    from advice.lints import Warning
    from documents.manifest import Manifest
    from resourceapi.schema import Schema
    from validation.requests import Answer


# Even the review of a small object takes about as long as looking at so many values.
_REVIEW = 50


class Effort:
    """The effort for one object, or for all of a run.

    :ivar values: how many values were looked at.
    """

    def __init__(self) -> None:
        self.values = 0

    def add_review(self, size: int) -> None:
        """Count the review of an object of this size."""
        self.values += _REVIEW + size

    def add_search(self, mistakes: int, size: int) -> None:
        """Count the search for what is meant by some mistakes in an object of this size."""
        self.values += mistakes * size


# Rule or lint, field and message: what tells whether two objects have the same mistake.
Mistake = tuple[str, str, str]
# The mistakes that are found in an object that can be read; of others than the wanted ones some may be missing.
Review = Callable[[dict[str, Any], set[Mistake]], Iterable[Mistake]]

_MOST_ROUNDS = 5
_MOST_MISTAKES = 50
_MOST_TEXTS = 16
_MOST_TRIED_ALONE = 8
_RANDOM_TRIES = 6
_LARGEST = 100_000
"""How large all objects together may be which are tried, or searched for the place of a field."""


# What is not closed is passed over as a whole: looking for its end from every quote in it takes quadratic time.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)("|\\?\Z)|(?<= value: )-?\d+', re.DOTALL)


class Unreadable(NamedTuple):
    """What cannot be read in an object, after what was found before has been fixed."""

    fixed: Fixed
    errors: list[DecodingError]
    problems: list[StrictError]


class Gap(NamedTuple):
    """A mistake that can be fixed in several ways.

    :ivar before: the object in which it is.
    :ivar is_field: whether the field does not exist; otherwise its value is wrong.
    :ivar put: where the value has been put, or its parts, if one way is much more likely than the others.
    """

    path: Path
    before: dict[str, Any]
    is_field: bool
    put: tuple[Path, ...] = ()


class LaterRounds:
    """The mistakes of one object that the server cannot read, in the order in which they come to light.

    :ivar unreadable: what cannot be read, each with the object in which it comes to light; the server reports the first
        part of the first one.
    :ivar fixed: the object that can be read, or None if none is likely enough.
    """

    def __init__(
        self, manifest: Manifest, value: dict[str, Any], schema: Schema, kind: str, effort: Effort
    ) -> None:
        """Find what cannot be read.

        :param value: the object as it is sent.
        :param effort: counts what is done.
        """
        self._effort = effort
        self._schema = schema
        self._kind = kind
        self._gaps: list[Gap] = []
        self.unreadable: list[Unreadable] = []
        self.fixed: Fixed | None = None
        fixed = Fixed(manifest, value)
        for _ in range(_MOST_ROUNDS):
            found = Unreadable(fixed, *all_errors(schema, kind, fixed.value))
            if not found.errors and not found.problems:
                self.fixed = fixed
                return
            self.unreadable.append(found)
            mistakes = len(found.errors) + len(found.problems)
            size = size_of(value)
            if mistakes >= MAX_PROBLEMS or mistakes * size > _LARGEST:
                return
            self._effort.add_search(mistakes, size)
            fixed = self._fix(found)

    def certain(self, found: list[Mistake], review: Review) -> set[Mistake]:
        """The mistakes of the object once it can be read, in whichever of the likely ways that comes about.

        :param found: those of the most likely one.
        """
        if self.fixed is None:
            return set()
        mistakes, texts = _with_texts(found[:_MOST_MISTAKES])
        if not mistakes or not self._gaps:
            return mistakes
        inside = {mistake for mistake in mistakes if self._is_in_what_was_put(mistake[1])}
        try:
            open = [self._guesses(gap, texts) for gap in self._gaps]
        except gaps.TooManyGuessesError:
            return set()
        settled = [each[: 1 if gap.put else None] for gap, each in zip(self._gaps, open, strict=True)]
        size = size_of(self.fixed.value)
        self._effort.add_search(len(self._gaps), size)
        tried: set[str] = set()
        # what was put elsewhere will be read there, and be wrong there; what else follows from that is less sure
        for guesses, stay in ((settled, set()), (open, inside)):
            tries = {tuple(map(id, chosen)): chosen for chosen in _tries(guesses)}.values()
            if len(tries) * size > _LARGEST:
                return set()
            for chosen in tries:
                if mistakes <= stay:
                    break
                value = _applied(self.fixed.value, chosen)
                if _is_new(value, tried):
                    self._effort.add_review(size)
                    mistakes &= stay | set(review(value, mistakes))
        return mistakes

    def _is_in_what_was_put(self, field: str) -> bool:
        places = (render(place) for gap in self._gaps for place in gap.put)
        return any(field.startswith((f"{place}.", f"{place}[")) or field == place for place in places)

    @property
    def likely(self) -> Fixed:
        """The object that can be read, with every gap as it is most likely meant."""
        assert self.fixed is not None
        likely = self.fixed
        for gap in self._gaps:
            if not gap.is_field and not gap.put:
                guess = gaps.most_likely_value(self._schema, self._kind, gap.path, gap.before)
                likely = likely.with_value(guess(likely.value))
        return likely

    def _guesses(self, gap: Gap, texts: list[str]) -> list[gaps.Guess]:
        assert self.fixed is not None
        without = self.fixed.value
        for place in gap.put:
            without = with_value(without, place, REMOVED)
        of = gaps.of_unknown_field if gap.is_field else gaps.of_value
        guesses = of(self._schema, self._kind, gap.path, gap.before, without, texts)
        return (
            [_unchanged, *(gaps.after_removing(gap.put, guess) for guess in guesses)] if gap.put else guesses
        )

    def _fix(self, found: Unreadable) -> Fixed:
        fixed = found.fixed
        for error in found.errors:
            shaped = reshape(fixed, self._schema, self._kind, error.path)
            fixed = self._with_gap(fixed, error.path, shaped, is_field=False)
        left = found.problems
        for put in (rename, indent, unwrap):  # a name in its place is taken before others may move there
            later = []
            for problem in left:
                placed = put(fixed, self._schema, self._kind, problem.path)
                if placed is None:
                    later.append(problem)
                else:
                    fixed = self._with_gap(fixed, problem.path, placed, is_field=True)
            left = later
        for problem in left:
            fixed = self._with_gap(fixed, problem.path, None, is_field=True)
        return fixed

    def _with_gap(self, before: Fixed, path: Path, after: Fixed | None, *, is_field: bool) -> Fixed:
        """Note a mistake, and return the object with the likely fix, or without the value."""
        put = () if after is None else after.put_since(before)
        self._gaps.append(Gap(path, before.value, is_field, put))
        return after or before.with_value_at(path, REMOVED)


def _unchanged(obj: Any) -> Any:
    return obj


def _with_texts(mistakes: list[Mistake]) -> tuple[set[Mistake], list[str]]:
    """The mistakes with all texts that they quote, up to so many texts; another part of the object may have to be the same."""
    texts: dict[str, None] = {}
    kept = set()
    for mistake in mistakes:
        more = dict.fromkeys(
            part
            for found in _QUOTED.finditer(mistake[2])
            if found[2] != "" and found[2] != "\\"
            for part in (found[1] or found[0], *found[0].strip('"').split("/"))
            if len(part) < 254
        )
        if len(texts | more) <= _MOST_TEXTS:
            texts |= more
            kept.add(mistake)
    return kept, list(texts)


def _tries(guesses: list[list[gaps.Guess]]) -> Iterator[list[gaps.Guess]]:
    """A guess for each gap: all alike, each gap alone, and at random."""
    for number in range(max(map(len, guesses))):
        yield [each[min(number, len(each) - 1)] for each in guesses]
    for alone, each in enumerate(guesses[:_MOST_TRIED_ALONE]):
        for guess in each:
            yield [guess if other == alone else some[0] for other, some in enumerate(guesses)]
    source = random.Random(0)  # the same in every run
    for _ in range(_RANDOM_TRIES):
        yield [source.choice(each) for each in guesses]


def _is_new(value: Any, tried: set[str]) -> bool:
    """Whether an object has not been tried; from now on it has been.  Most guesses come to the same as others."""
    try:
        identity = repr(value)
    except RecursionError:  # it is nested too deeply to tell
        return True
    if identity in tried:
        return False
    tried.add(identity)
    return True


def _applied(value: Any, guesses: list[gaps.Guess]) -> Any:
    for guess in guesses:
        value = guess(value)
    return value


# What the server answers to an object.
Ask = Callable[[dict[str, Any]], "Answer"]
# The lints' warnings about an object to which the server gives this answer.
Lint = Callable[[dict[str, Any], "Answer"], list["Warning"]]
_BAD_REQUEST = 400


def is_unreadable(answer: Answer) -> bool:
    """Whether the server could not read the object, so that it has not looked for other mistakes."""
    _, unreadable, reason = answer.message.partition(" cannot be handled as a ")
    return (
        answer.code == _BAD_REQUEST and bool(unreadable) and (STRICT_DECODING in reason or bool(answer.path))
    )


def foretell(
    result: Result, manifest: Manifest, sent: dict[str, Any], interpreter: Interpreter, ask: Ask, lint: Lint
) -> None:
    """Add to a result what comes to light once the errors in it are fixed.

    :param sent: the object as it is sent, keys in this order.
    """
    schema = _schema(result, interpreter)
    if schema is None or result.kind not in schema:
        return
    effort = Effort()
    try:
        _foretell(result, LaterRounds(manifest, sent, schema, result.kind, effort), interpreter, ask, lint)
    finally:
        result.effort = effort.values


def _foretell(result: Result, rounds: LaterRounds, interpreter: Interpreter, ask: Ask, lint: Lint) -> None:
    later = Result(
        result.file,
        result.document,
        result.source,
        api_version=result.api_version,
        kind=result.kind,
        namespace=result.namespace,
        name=result.name,
    )
    later.findings = list(result.findings)  # what has been said is not repeated
    known = {_mistake(finding) for finding in result.findings}
    for found in rounds.unreadable:
        for rule, path, message in (
            *((WRONG_TYPE, error.path, error.text) for error in found.errors),
            *map(strict_error, found.problems),
        ):
            if (rule, _field(path), message) not in known:
                interpreter.add_error(later, found.fixed, rule, path, message)

    if rounds.fixed is not None:
        _add_later(later, rounds, interpreter, ask, lint)
    result.afterwards = _without_repetition(later.findings, len(result.findings))


def _add_later(later: Result, rounds: LaterRounds, interpreter: Interpreter, ask: Ask, lint: Lint) -> None:
    """Add what the server and the lints say of an object that can be read, and that has not been said."""

    def mistakes(answer: Answer, warnings: list[Warning]) -> list[Mistake]:
        return [
            *((rule, _field(path), message) for rule, path, message in problems_of(later, answer)),
            *((warning.code, _field(warning.path), warning.message) for warning in warnings),
        ]

    def review(value: dict[str, Any], wanted: set[Mistake]) -> list[Mistake]:
        answer = ask(_in_its_namespace(value, later.namespace))
        return mistakes(answer, lint(value, answer) if any(rule in LINTS for rule, _, _ in wanted) else [])

    known = {_mistake(finding) for finding in later.findings}
    likely = rounds.likely
    answer = ask(likely.value)
    warnings = lint(likely.value, answer)
    found = [mistake for mistake in mistakes(answer, warnings) if mistake not in known]
    certain = rounds.certain(found, review)
    if not certain:
        return
    begin = len(later.findings)
    interpreter.add_answer(later, likely, answer)
    for warning in warnings:
        interpreter.add_lint(later, likely, warning)
    later.findings[begin:] = [each for each in later.findings[begin:] if _mistake(each) in certain]


def _in_its_namespace(value: dict[str, Any], namespace: str) -> dict[str, Any]:
    """An object that belongs to the namespace to which it is sent, whatever its metadata are guessed to be."""
    if not namespace or value_at(value, ("metadata", "namespace")) in (MISSING, namespace):
        return value
    return dict(with_value(value, ("metadata", "namespace"), namespace))


def _without_repetition(findings: list[Finding], known: int) -> list[Finding]:
    """The findings behind the first ``known``, without those that say the same of the same place."""
    said = {_said(finding) for finding in findings[:known]}
    return [finding for finding in findings[known:] if _said(finding) not in said]


def _said(finding: Finding) -> tuple[str, str, int, int]:
    return finding.rule, finding.message, finding.line, finding.column


def _mistake(finding: Finding) -> Mistake:
    return finding.rule, finding.field, finding.message


def _field(path: Path) -> str:
    return render(path) if path else ""


def _schema(result: Result, interpreter: Interpreter) -> Schema | None:
    group, _, version = result.api_version.rpartition("/")
    return schemas_of(interpreter.profile)(group, version, result.kind)
