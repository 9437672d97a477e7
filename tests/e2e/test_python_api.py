"""`import claimcheck` beside the official client, at a real API server: the same objects, the same answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

import claimcheck
from tests.claimcheck.objects import CLUSTER, Json, claim, pod, template
from tests.e2e.control_plane import ApiServer

NAMESPACE = "python-api"
WRONG: dict[str, Json] = {
    "value": claim("GPU"),
    "two": {
        **claim("a b"),
        "spec": {"devices": {"requests": [{"name": "X", "exactly": {"deviceClassName": "/"}}]}},
    },
    "count": claim(count=-1),
}


@pytest.fixture(scope="module")
def api(api_server: Callable[[str], ApiServer]) -> Any:
    """The official client, at a server that has the cluster of the placement example."""
    server = api_server("1.37")
    connect: Any = config.new_client_from_config
    api = connect(str(server.kubeconfig))
    # Typed as models only, the client takes dictionaries as well.
    core: Any = client.CoreV1Api(api)
    resources: Any = client.ResourceV1Api(api)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    for each in claimcheck.Cluster.from_files(CLUSTER).manifests:
        value = each.value
        if value["kind"] == "DeviceClass":
            resources.create_device_class(value)
        elif value["kind"] == "ResourceSlice":
            resources.create_resource_slice(value)
        elif value["kind"] == "Node":
            core.create_node(value)
    resources.create_namespaced_resource_claim_template(NAMESPACE, template())
    return api


def test_a_cluster_by_the_client_and_by_what_it_has_read(
    api: Any, api_server: Callable[[str], ApiServer]
) -> None:
    """Read by us with the client's access, by us with the kubeconfig, or by the client: devices and explanations are the same."""
    resources, core = client.ResourceV1Api(api), client.CoreV1Api(api)
    lists = [
        resources.list_device_class(),
        resources.list_resource_slice(),
        resources.list_resource_claim_template_for_all_namespaces(),
        core.list_node(),
    ]
    clusters = [
        claimcheck.Cluster.from_api_client(api, namespace=NAMESPACE),
        claimcheck.Cluster.from_kubeconfig(api_server("1.37").kubeconfig, namespace=NAMESPACE),
        claimcheck.Cluster.from_objects(lists, namespace=NAMESPACE),
    ]
    assert [each.problems for each in clusters] == [[], [], []]
    assert [each.kube_version for each in clusters] == ["1.37"] * 3
    devices, *others = ([str(device) for device in each.devices()] for each in clusters)
    # beside what other tests have left on the server
    assert sum(each.startswith("gpu.example.com/gpu-node/") for each in devices) == 14
    assert others == [devices, devices]
    for wanted in ([pod()], [pod("big", resourceClaimName="gpu"), claim(count=5)]):
        answer, *more = (claimcheck.explain(wanted, each) for each in clusters)
        assert [(each.verdict, each.node, each.remedies) for each in more] == [
            (answer.verdict, answer.node, answer.remedies)
        ] * 2


@pytest.mark.parametrize("case", WRONG)
def test_findings_are_what_the_client_gets(case: str, api: Any) -> None:
    """The client's exception has the causes that `validate` has found."""
    resources: Any = client.ResourceV1Api(api)
    with pytest.raises(ApiException) as raised:
        resources.create_namespaced_resource_claim(NAMESPACE, WRONG[case], dry_run="All")
    causes = json.loads(raised.value.body or "")["details"]["causes"]
    found = claimcheck.validate(WRONG[case], namespace=NAMESPACE)
    assert [(each.code, each.path, each.message) for each in found if each.severity == "error"] == [
        (each["reason"], each["field"], each["message"]) for each in causes
    ]
