"""A user who fixes what is reported, and nothing else, until the server can read the object."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from advice.findings import ERROR, Finding, Result
from advice.lints import Facts
from claimcheck.answers.cluster_context import ClusterContext, Knowledge
from claimcheck.answers.handling import handling_of
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.validate.review import Reviewer
from documents.document import Document
from documents.parsing import parse
from resourceapi.field_errors import render
from resourceapi.releases import Profile
from tests.advice.afterwards.breakage import Breakage
from validation.server import Server

# Rule, field and message of a finding, wherever it is in the file.
Said = tuple[str, str, str]


class Rounds(NamedTuple):
    """What the first round reported and foretold, and what later rounds reported."""

    first: set[Said]
    foretold: set[Said]
    later: set[Said]


def validated(obj: Any, profile: Profile) -> Result:
    """The result of `claimcheck validate` for an object."""
    outcome, context = Outcome(profile.name), ClusterContext()
    facts = Facts(profile)
    (document,) = parse(json.dumps(obj), "file.json")
    assert isinstance(document, Document)
    facts.learn(document.value)
    server = Server(profile, namespaces=context.namespaces)
    Reviewer(server, Knowledge(context, facts), outcome).review(document, handling_of(document.value))
    return outcome.results[0]


def play(obj: Any, broken: list[Breakage], profile: Profile) -> Rounds:
    """Fix the mistakes that are reported, round by round."""
    for each in broken:
        obj = each.done(obj)
    result = validated(obj, profile)
    first, foretold = said(result.findings), said(result.afterwards)
    later: set[Said] = set()
    left = list(broken)
    while _is_unreadable(result):
        fields = {finding.field for finding in result.findings if finding.severity == ERROR}
        fixed = [each for each in left if is_reported(each, fields)]
        assert fixed, (fields, left)
        for each in fixed:
            obj = each.undone(obj)
            left.remove(each)
        # one mistake may make several values unreadable, of which the server has reported the first
        later |= {each for each in foretold if each[0] in _UNREADABLE and _is_any_at(fixed, each[1])}
        result = validated(obj, profile)
        later |= said(result.findings)
    return Rounds(first, foretold, later)


def said(findings: list[Finding]) -> set[Said]:
    """What findings say."""
    return {(finding.rule, finding.field, finding.message) for finding in findings}


_UNREADABLE = ("WrongType", "UnknownField")


def _is_unreadable(result: Result) -> bool:
    return result.answer is not None and " cannot be handled as a " in result.answer.message


def is_reported(broken: Breakage, fields: set[str]) -> bool:
    """Whether one of the fields is where a mistake is, or inside."""
    return any(_is_any_at([broken], field) for field in fields)


def _is_any_at(broken: list[Breakage], field: str) -> bool:
    """Whether a field is where a mistake is, or inside; keys of maps are written like fields here."""
    places = [_bare(render(path)) for each in broken for path, _, _ in each.changes]
    return any(_bare(field).startswith(place) for place in places)


def _bare(field: str) -> str:
    return field.replace("[", ".").replace("]", "") + "."
