"""ResourceSlicePatch in the project's own group, beside a built-in ``resource.k8s.io``: a real API server with our CRD and
webhooks answers as `validate` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.model.versions import OWN_GROUP
from tests.case_files import read_all
from tests.conformance.replay import answer as answer_here
from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import ApiServer
from tests.e2e.deployed import LONGEST_WAIT
from tests.e2e.test_webhook import client_config, register, until
from tests.validation.rule_cases import RuleCase, fixture, rule_cases
from tests.webhook.running import Running, running
from webhook.crds import own_definitions

pytestmark = pytest.mark.e2e
WEBHOOKS = Path(__file__).parents[2] / "manifests" / "overlays" / "built-in-guard" / "webhooks.yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATH = RESOURCE_SLICE_PATCH.path_in(OWN_GROUP)
PROFILE = "1.37"
DENIED = 'admission webhook "patches.claimcheck.example.com" denied the request: '


def _is_asked(case: RuleCase) -> bool:
    request = case.request(PROFILE)
    return bool(request["verb"] == "create" and request["apiVersion"].startswith(OWN_GROUP))


CASES = [
    case
    for case in rule_cases()
    if case.id.startswith("slice_patches-") and PROFILE in case.profiles and _is_asked(case)
]


@pytest.fixture(scope="module")
def client(
    api_server: Callable[[str], ApiServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A server with the CRD, and the service as built-in-guard has it before it."""
    client = api_server(PROFILE).client
    with running(tmp_path_factory.mktemp("patches")) as service:
        yield from _guarded(client, service)


def _guarded(client: Client, service: Running) -> Iterator[Client]:
    (definition,) = own_definitions()
    made = [f"{DEFINITIONS}/{definition['metadata']['name']}"]
    answer = client.ask("POST", DEFINITIONS, definition)
    assert answer.code == 201, answer.body
    for configuration in read_all(WEBHOOKS.read_text()):
        if configuration["metadata"]["name"] != "claimcheck-device-patches":
            continue
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"] = client_config(service, webhook["clientConfig"]["service"]["path"])
            webhook["timeoutSeconds"] = LONGEST_WAIT
        made.append(register(client, configuration))
    until(lambda: client.ask("GET", PATH).code == 200)
    bad = patch(filter={"pool": ""})
    good = patch(capacity={"a.b/c": {"value": "0.5Gi"}})
    until(lambda: create(client, bad).code == 422)
    until(lambda: capacity_of(create(client, good)) == {"a.b/c": {"value": "512Mi"}})
    yield client
    for path in reversed(made):
        client.ask("DELETE", path)


def patch(name: str = "probe", **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{OWN_GROUP}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": devices},
    }


def create(client: Client, obj: dict[str, Any], *, dry_run: bool = True) -> Answer:
    query = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
    return client.ask("POST", PATH, obj, query)


def capacity_of(answer: Answer) -> Any:
    return answer.body.get("spec", {}).get("devices", {}).get("capacity")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_as_here(client: Client, case: RuleCase) -> None:
    """The API server takes what the rules take, in the same form, and refuses the rest; what the webhooks refuse, with the same
    causes. What does not fit the CRD's schema, or has a bad name, it refuses itself, in its own words."""
    request = case.request(PROFILE)
    wanted = answer_here(request)
    answer = create(client, request["object"])
    assert (answer.code < 400) == (wanted["code"] < 400), answer.body
    if answer.code < 400:
        spec = request["object"]["spec"] if wanted.get("unchanged") else wanted["object"]["spec"]
        assert answer.body["spec"] == spec
        assert answer.body["metadata"]["generation"] == 1
    elif answer.body["message"].startswith(DENIED) and wanted.get("causes"):
        found = answer.body["details"]["causes"]
        assert sorted((each["field"], each["message"]) for each in found) == sorted(
            (each["field"], each["message"]) for each in wanted["causes"]
        )


def test_generation_counts_specs(client: Client) -> None:
    """As the rules count them; labels are no change."""
    stored = create(client, fixture("slicepatch.v1alpha3"), dry_run=False).body
    path = f"{PATH}/{stored['metadata']['name']}"
    stored["metadata"]["labels"] = {"a": "b"}
    stored = client.ask("PUT", path, stored).body
    assert stored["metadata"]["generation"] == 1
    stored["spec"]["devices"] = {"priority": 3}
    stored = client.ask("PUT", path, stored).body
    assert stored["metadata"]["generation"] == 2
    assert stored["spec"] == {"devices": {"priority": 3}}
    stored["spec"]["devices"]["filter"] = {"driver": "-"}
    answer = client.ask("PUT", path, stored)
    assert answer.code == 422
    assert answer.body["message"].startswith(DENIED)
    client.ask("DELETE", path)
