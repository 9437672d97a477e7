"""A real server reports, round by round, what `claimcheck validate` foretells in the first one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from advice.findings import ERROR, Finding
from resourceapi.releases import Profile
from tests.advice.afterwards.breakage import breakages
from tests.advice.afterwards.rounds import is_reported, validated
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer
from tests.e2e.seed import SEED

OBJECTS = 60
URLS = {
    "ResourceClaim": "namespaces/default/resourceclaims",
    "ResourceClaimTemplate": "namespaces/default/resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
}
PROFILE = Profile("1.37")


def test_what_is_foretold_comes(api_server: Callable[[str], ApiServer]) -> None:
    """Everything that is foretold of random objects is in an answer of the server once the rest is fixed.

    The objects are fresh in every run; set CLAIMCHECK_E2E_SEED to the seed that a failure prints to see them again.
    """
    print(f"CLAIMCHECK_E2E_SEED={SEED}")
    client = api_server("1.37").client
    foretold = 0
    for number in range(OBJECTS):
        source = random.Random(f"{SEED} {number}")
        kind = source.choice(list(URLS))
        obj = valid_object(Parts(source), kind, "v1")
        broken = breakages(source, obj, source.randrange(2, 7))
        for each in broken:
            obj = each.done(obj)
        result = validated(obj, PROFILE)
        expected = [finding for finding in result.afterwards if finding.severity == ERROR]
        foretold += len(expected)
        answers = [_answer(client, kind, obj)]
        while " cannot be handled as a " in answers[-1]["message"]:
            fields = {finding.field for finding in result.findings if finding.severity == ERROR}
            fixed = [each for each in broken if is_reported(each, fields)]
            assert fixed, (fields, broken)
            for each in fixed:
                obj = each.undone(obj)
            # values that were unreadable by the same mistake
            expected = [each for each in expected if not _is_fixed(each, fixed)]
            broken = [each for each in broken if each not in fixed]
            result = validated(obj, PROFILE)
            answers.append(_answer(client, kind, obj))
        assert [
            each.text for each in expected if not any(_is_in(each, answer) for answer in answers[1:])
        ] == []
    assert foretold > OBJECTS / 2


def _answer(client: Client, kind: str, obj: Any) -> Any:
    """The Status that kubectl would get, which sorts keys; an object has an empty message."""
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    body = json.dumps(obj, sort_keys=True)
    answer = client.ask("POST", f"/apis/resource.k8s.io/v1/{URLS[kind]}", body, query).body
    return answer if answer["kind"] == "Status" else {"message": ""}


def _is_fixed(finding: Finding, fixed: list[Any]) -> bool:
    unreadable = finding.rule in ("WrongType", "UnknownField")
    return unreadable and any(is_reported(each, {finding.field}) for each in fixed)


def _is_in(finding: Finding, answer: Any) -> bool:
    """Whether the server says it; a few of its paths are those of its own types, but for their last part."""
    if finding.rule == "UnknownField":
        bare = finding.field.replace("[", ".").replace("]", "")
        return f'"{bare}"' in answer["message"].replace("[", ".").replace("]", "")
    if finding.rule == "WrongType":
        return bool(answer["message"].endswith(finding.message))
    causes = answer.get("details", {}).get("causes", [])
    said = (finding.field.rpartition(".")[2], finding.message)
    return any((cause["field"].rpartition(".")[2], cause["message"]) == said for cause in causes)
