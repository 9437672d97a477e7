"""The overlay for clusters that serve the group themselves: what people with kubectl see of its policies."""

from __future__ import annotations

import contextlib
import copy
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from resourceapi.objects import Object
from tests.e2e.binaries import tool
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane
from tests.e2e.deployed import NAMESPACE, add_account, configuration, objects_of, register_overlay
from tests.e2e.kubectl import Kubectl, Output
from tests.webhook.examples import ADMIN, claim
from tests.webhook.running import Running, running, write_config

OVERLAY = "built-in-guard"
DOCS_LABEL = "admin-access.dra.example.com"
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"
# The service is asked about the admin access of this user, who may do everything else.
JANE = "jane"
DEPLOYER = "system:serviceaccount:infra:deployer"
_PATIENCE_SECONDS = 180


class Environment(NamedTuple):
    client: Client
    kubectl: Kubectl
    service: Running
    config: Object


def of_core(kind: str, name: str, labels: dict[str, str] | None = None, **more: Any) -> Object:
    metadata: Object = {"name": name}
    if labels is not None:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def of_group(kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


NODE = of_core(
    "Node",
    "worker-1",
    {"kubernetes.io/hostname": "host-1"},
    status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
)
CLASS = of_group(
    "DeviceClass",
    "gpu.example.com",
    {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
)
SLICE = of_group(
    "ResourceSlice",
    "worker-1-gpu",
    {
        "driver": "gpu.example.com",
        "nodeName": "worker-1",
        "pool": {"name": "worker-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": f"gpu-{index}", "attributes": {"model": {"string": "a100"}}} for index in range(4)
        ],
    },
)
SCHEMA = {
    "driver": "gpu.example.com",
    "apiVersion": "gpu.example.com/v1",
    "kind": "GpuConfig",
    "schema": {
        "properties": {"apiVersion": True, "kind": True, "sharing": {"enum": ["TimeSlicing", "MPS"]}},
        "additionalProperties": False,
    },
}
SUPERUSERS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "superusers"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name} for name in (JANE, DEPLOYER)
    ],
}
OBJECTS = [
    NODE,
    CLASS,
    SLICE,
    SUPERUSERS,
    of_core("Namespace", "team", ADMIN),
    of_core("Namespace", "admins", {**ADMIN, DOCS_LABEL: ""}),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The service with the overlay's configuration, webhooks and account, before a server with devices."""
    directory = tmp_path_factory.mktemp("guard")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37"))
        kubectl = Kubectl(server, directory / "cache")
        for obj in OBJECTS:
            assert kubectl.send("create", obj).code == 0
        token = directory / "token"
        token.write_text(add_account(server.client, objects_of(OVERLAY, with_quota=True)))
        config = configuration(objects_of(OVERLAY, with_quota=True), server, token)
        config["policies"]["adminAccessLabels"]["users"] = [DEPLOYER]
        config["policies"]["opaqueParameters"] = {"mode": "Enforce", "schemas": [SCHEMA]}
        service = stack.enter_context(running(directory, **config))
        until(lambda: service.ask("GET", "/readyz")[0] == 200)
        register_overlay(server.client, OVERLAY, service)
        environment = Environment(server.client, kubectl, service, config)
        until(lambda: "admin access" in create(environment, claim(adminAccess=True)).errors)
        until(lambda: label(environment, "team", f"{DOCS_LABEL}=", "--dry-run=server").code != 0)
        until(lambda: bool(create(environment, pod()).warnings))
        yield environment


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the API server does not take notice"
        time.sleep(0.2)


def create(environment: Environment, obj: Object, namespace: str = "team", *, dry_run: bool = True) -> Output:
    obj = copy.deepcopy(obj)
    obj["metadata"].pop("namespace", None)
    options = ["--dry-run=server"] if dry_run else []
    return environment.kubectl.send("create", obj, "-n", namespace, "-o", "json", *options)


def label(environment: Environment, namespace: str, change: str, *options: str, user: str = JANE) -> Output:
    return environment.kubectl("label", "namespace", namespace, change, "--overwrite", *options, user=user)


def pod(**spec: Any) -> Object:
    whole = {
        "nodeName": "worker-1",
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
        **spec,
    }
    return of_core("Pod", "pod", spec={key: value for key, value in whole.items() if value is not None})


# --- admin access


def test_admin_access_is_refused(environment: Environment) -> None:
    """kubectl prints who refuses, the field and what is missing; the API server's own rule is fulfilled here."""
    refused = create(environment, claim(adminAccess=True))
    assert refused.code == 1
    assert refused.errors == (
        'The ResourceClaim "claim" is invalid: spec.devices.requests[0].exactly.adminAccess: Forbidden: admin access '
        f"needs the label `{DOCS_LABEL}` on the namespace, which 'team' does not have\n"
    )
    template = {**claim(), "kind": "ResourceClaimTemplate", "spec": {"spec": claim(adminAccess=True)["spec"]}}
    assert "spec.spec.devices.requests[0].exactly.adminAccess" in create(environment, template).errors


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_admin_access_in_each_version(environment: Environment, kind: str, version: str) -> None:
    """No version of the group is a way around the policy; the field is named as it was sent."""
    obj = claim(version, adminAccess=True)
    obj["metadata"].pop("namespace")
    at = "spec.devices.requests[0]"
    if kind == "ResourceClaimTemplate":
        obj, at = {**obj, "kind": kind, "spec": {"spec": obj["spec"]}}, f"spec.{at}"
    field = f"{at}.adminAccess" if version == "v1beta1" else f"{at}.exactly.adminAccess"
    codes = {}
    for namespace in ("team", "admins"):
        path = f"/apis/resource.k8s.io/{version}/namespaces/{namespace}/{kind.lower()}s"
        answer = environment.client.ask("POST", path, obj, {"dryRun": "All"})
        codes[namespace] = answer.code
        if answer.code == 422:
            assert [cause["field"] for cause in answer.body["details"]["causes"]] == [field]
            assert DOCS_LABEL in answer.body["message"]
    assert codes == {"team": 422, "admins": 201}


def test_admin_access_where_the_label_is(environment: Environment) -> None:
    """The same claim is admitted in a namespace that has both labels, without a remark."""
    admitted = create(environment, claim(adminAccess=True), "admins")
    assert (admitted.code, admitted.errors) == (0, "")


def test_namespaces_are_followed(environment: Environment) -> None:
    """A label that is set, or taken away, counts within moments."""
    assert environment.kubectl.send("create", of_core("Namespace", "followed", ADMIN)).code == 0
    assert create(environment, claim(adminAccess=True), "followed").code == 1
    assert label(environment, "followed", f"{DOCS_LABEL}=yes", user=DEPLOYER).code == 0
    until(lambda: create(environment, claim(adminAccess=True), "followed").code == 0)
    assert label(environment, "followed", f"{DOCS_LABEL}-", user=DEPLOYER).code == 0
    until(lambda: create(environment, claim(adminAccess=True), "followed").code == 1)


# --- who may set the label


@pytest.mark.parametrize(
    ("namespace", "change", "what"),
    [
        ("team", f"{DOCS_LABEL}=", f"set the label `{DOCS_LABEL}`"),
        (
            "team",
            "resource.kubernetes.io/admin-access-",
            "remove the label `resource.kubernetes.io/admin-access: true`",
        ),
        ("team", "resource.kubernetes.io/admin-access=false", "remove the label"),
        ("admins", f"{DOCS_LABEL}-", f"remove the label `{DOCS_LABEL}`"),
        (
            "default",
            "resource.kubernetes.io/admin-access=true",
            "set the label `resource.kubernetes.io/admin-access: true`",
        ),
    ],
)
def test_label_is_guarded(environment: Environment, namespace: str, change: str, what: str) -> None:
    """A superuser who is not named may do all but this."""
    refused = label(environment, namespace, change)
    assert refused.code == 1
    assert refused.errors.startswith(
        'Error from server (Forbidden): admission webhook "namespaces.claimcheck.example.com" denied the request: '
        f"namespaces \"{namespace}\" is forbidden: user 'jane' may not {what}"
    )
    assert "; allowed: users system:serviceaccount:infra:deployer and groups " in refused.errors
    assert label(environment, namespace, change, "--dry-run=server", user=DEPLOYER).code == 0
    assert environment.kubectl("label", "ns", namespace, change, "--overwrite", "--dry-run=server").code == 0


@pytest.mark.parametrize("change", ["a=b", "resource.kubernetes.io/admin-access=yes"])
def test_other_labels_are_free(environment: Environment, change: str) -> None:
    """What grants nothing can be set by anybody."""
    answer = label(environment, "default", change, "--dry-run=server")
    assert (answer.code, answer.errors) == (0, "")


def test_namespaces_cannot_come_with_the_label(environment: Environment) -> None:
    """Neither as new ones, nor by server-side apply."""
    new = of_core("Namespace", "new", ADMIN)
    assert "may not set the label" in environment.kubectl.send("create", new, user=JANE).errors
    assert (
        "may not set the label" in environment.kubectl.send("apply", new, "--server-side", user=JANE).errors
    )
    assert (
        environment.kubectl.send(
            "create", of_core("Namespace", "new", {"a": "b"}), "--dry-run=server", user=JANE
        ).code
        == 0
    )


@pytest.mark.parametrize("subresource", ["status", "finalize"])
def test_subresources_are_no_way_around(environment: Environment, subresource: str) -> None:
    """An update of a subresource could change labels, too."""
    path = "/api/v1/namespaces/default"
    stored = environment.client.ask("GET", path).body
    stored["metadata"]["labels"].update(ADMIN)
    refused = _as_jane(environment, f"{path}/{subresource}", stored)
    assert "may not set the label" in refused.errors


def test_name_label_cannot_be_borrowed(environment: Environment) -> None:
    """Saying to be a namespace that is left out does not help."""
    stored = environment.client.ask("GET", "/api/v1/namespaces/default").body
    stored["metadata"]["labels"] = {**ADMIN, "kubernetes.io/metadata.name": "kube-system"}
    assert "may not set the label" in _as_jane(environment, "/api/v1/namespaces/default", stored).errors
    new = of_core("Namespace", "borrowed", {**ADMIN, "kubernetes.io/metadata.name": "kube-system"})
    assert "may not set the label" in environment.kubectl.send("create", new, user=JANE).errors


def _as_jane(environment: Environment, path: str, obj: Object) -> Output:
    """A PUT, for which kubectl has no better word."""
    return environment.kubectl.send("replace", obj, "--raw", path, user=JANE)


# --- parameters, quota, feasibility


def configured(**parameters: Any) -> Object:
    obj = claim()
    named = {"apiVersion": "gpu.example.com/v1", "kind": "GpuConfig", **parameters}
    obj["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": named}}]
    return obj


def test_parameters_are_checked(environment: Environment) -> None:
    """Of claims and of classes, with all that is wrong; good ones pass."""
    assert create(environment, configured(sharing="MPS")).code == 0
    refused = create(environment, configured(sharing="All", shring="MPS"))
    assert "spec.devices.config[0].opaque.parameters.sharing: Invalid value" in refused.errors
    assert "'shring' was unexpected" in refused.errors
    config = configured(sharing="All")["spec"]["devices"]["config"]
    device_class = of_group("DeviceClass", "configured", {"config": config})
    refused = environment.kubectl.send("create", device_class, "--dry-run=server")
    assert "spec.config[0].opaque.parameters.sharing" in refused.errors


def test_quota_says_what_is_short(environment: Environment) -> None:
    """The refusal names the request, the class, by how much it is short, and who uses the rest."""
    assert environment.kubectl.send("create", of_core("Namespace", "metered")).code == 0
    hard = {DEVICES: "3"}
    quota = of_core("ResourceQuota", "gpus", spec={"hard": hard})
    assert environment.kubectl.send("create", quota, "-n", "metered").code == 0
    stored = environment.client.ask("GET", "/api/v1/namespaces/metered/resourcequotas/gpus").body
    # what kube-controller-manager would do
    stored["status"] = {"hard": hard, "used": {DEVICES: "0"}}
    path = "/api/v1/namespaces/metered/resourcequotas/gpus/status"
    assert environment.client.ask("PUT", path, stored).code == 200
    first = claim(count=2)
    first["metadata"]["name"] = "first"
    until(lambda: create(environment, first, "metered", dry_run=False).code == 0)
    alternatives = [
        {"name": "many", "deviceClassName": "gpu.example.com", "count": 3},
        {"name": "few", "deviceClassName": "gpu.example.com", "count": 1},
    ]
    greedy = claim()
    greedy["spec"]["devices"]["requests"] = [{"name": "gpus", "firstAvailable": alternatives}]
    # what is known of quotas is a moment old; until then it is the API server that refuses, without a reason
    until(lambda: "admission webhook" in create(environment, greedy, "metered").errors)
    refused = create(environment, greedy, "metered")
    assert refused.code == 1
    for part in (
        "exceeded quota: gpus",
        'request "gpus", alternative "many" (class "gpu.example.com", ExactCount): 3',
        'quota "gpus" leaves 1 of 3 (used by claim "first" 2)',
    ):
        assert part in refused.errors


def test_impossible_claims_are_warned_about(environment: Environment) -> None:
    """The claim is created; kubectl prints why it will never be satisfied."""
    chosen = [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "h100"'}}]
    begin = (
        "spec.devices.requests[0]: no device can satisfy this request: none of 4 devices of class "
        "'gpu.example.com' matches the selectors; for example gpu.example.com/worker-1/gpu-0: "
    )
    # a review does not wait for long
    until(
        lambda: any(text.startswith(begin) for text in create(environment, claim(selectors=chosen)).warnings)
    )
    assert create(environment, claim(selectors=chosen)).code == 0
    most = begin.partition("none")[0] + "5 devices are requested, but no node has more than 4 that match"
    until(lambda: create(environment, claim(count=5)).warnings == [most])
    assert create(environment, claim(count=4)).warnings == []


def test_demands_that_clash_are_warned_about(environment: Environment) -> None:
    """Each request could be satisfied, but no node has enough for all; the warning names those that clash."""
    obj = claim(count=3)
    more = copy.deepcopy(obj["spec"]["devices"]["requests"][0])
    obj["spec"]["devices"]["requests"].append({**more, "name": "more"})
    wanted = "spec: no node can satisfy these together, even if nobody else used its devices: request 'main', request 'more'"
    until(lambda: create(environment, obj).warnings == [wanted])


def test_new_devices_are_noticed(environment: Environment) -> None:
    """What a driver publishes on a node makes claims possible, and what it takes back does not."""
    assert environment.kubectl.send("create", of_core("Node", "worker-2")).code == 0
    more = copy.deepcopy(SLICE)
    more["metadata"]["name"] = "worker-2-gpu"
    more["spec"].update(
        nodeName="worker-2", pool={"name": "worker-2", "generation": 1, "resourceSliceCount": 1}
    )
    more["spec"]["devices"] = [{"name": f"gpu-{index}"} for index in range(6)]
    assert environment.kubectl.send("create", more).code == 0
    until(lambda: create(environment, claim(count=6)).warnings == [])
    assert environment.kubectl("delete", "resourceslice", "worker-2-gpu").code == 0
    until(lambda: create(environment, claim(count=6)).warnings != [])


# --- pods


def test_node_name_becomes_a_selector(environment: Environment) -> None:
    """The pod is stored with the node's host name to be selected; kubectl prints that."""
    assert environment.kubectl.send("create", of_core("Namespace", "pods")).code == 0
    created = create(environment, pod(), "pods", dry_run=False)
    spec = created.value["spec"]
    assert "nodeName" not in spec
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "host-1"}
    (warning,) = created.warnings
    assert warning == (
        "spec.nodeName: replaced by spec.nodeSelector with kubernetes.io/hostname: host-1, so that the scheduler "
        "allocates the pod's resource claims"
    )


@pytest.mark.parametrize(
    ("spec", "node", "selector"),
    [
        pytest.param({"nodeName": "nowhere"}, None, {"kubernetes.io/hostname": "nowhere"}, id="unknown-node"),
        pytest.param({"resourceClaims": None}, "worker-1", None, id="without-claims"),
        pytest.param({"nodeName": None}, None, None, id="without-node"),
    ],
)
def test_other_pods(
    environment: Environment, spec: Object, node: str | None, selector: Object | None
) -> None:
    """A node without a known host name is taken by its name; pods without claims, or node, are left alone."""
    obj = pod(**spec)
    if "resourceClaims" not in obj["spec"]:
        del obj["spec"]["containers"][0]["resources"]
    stored = create(environment, obj).value["spec"]
    assert (stored.get("nodeName"), stored.get("nodeSelector")) == (node, selector)


def test_scheduler_allocates_for_such_a_pod(environment: Environment, tmp_path: Path) -> None:
    """kube-scheduler, which would have passed the pod over, binds it to its node, with the claim allocated there."""
    assert environment.kubectl.send("create", of_core("Namespace", "scheduled")).code == 0
    wanted = claim()
    wanted["metadata"]["name"] = "gpu"
    assert create(environment, wanted, "scheduled", dry_run=False).code == 0
    assert create(environment, pod(), "scheduled", dry_run=False).code == 0
    # what kubelet and the node controller would do
    ready = {"conditions": [{"type": "Ready", "status": "True"}], **NODE["status"]}
    node = "/api/v1/nodes/worker-1"
    stored = environment.client.ask("GET", node).body
    assert environment.client.ask("PUT", f"{node}/status", {**stored, "status": ready}).code == 200
    environment.kubectl("taint", "nodes", "worker-1", "node.kubernetes.io/not-ready-")
    with scheduler(environment.kubectl.kubeconfig, tmp_path):
        path = "/api/v1/namespaces/scheduled/pods/pod"
        until(lambda: environment.client.ask("GET", path).body["spec"].get("nodeName") == "worker-1")
    path = "/apis/resource.k8s.io/v1/namespaces/scheduled/resourceclaims/gpu"
    status = environment.client.ask("GET", path).body["status"]
    assert [result["pool"] for result in status["allocation"]["devices"]["results"]] == ["worker-1"]
    assert [user["name"] for user in status["reservedFor"]] == ["pod"]


@contextlib.contextmanager
def scheduler(kubeconfig: Path, directory: Path) -> Iterator[None]:
    """kube-scheduler."""
    binary = tool("kube-scheduler")
    command = [str(binary), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]
    with (
        open(directory / "scheduler.log", "wb") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


# --- what is left out, and what is told of it all


@pytest.mark.parametrize("namespace", ["kube-system", NAMESPACE])
def test_some_namespaces_are_left_out(environment: Environment, namespace: str) -> None:
    """Nothing is asked about claims and pods there."""
    assert create(environment, claim(count=5), namespace).warnings == []
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    obj = pod()
    obj["spec"]["containers"][0]["securityContext"] = restricted
    assert create(environment, obj, namespace).value["spec"]["nodeName"] == "worker-1"


def test_claims_are_counted(environment: Environment) -> None:
    """Metrics have claims with and without firstAvailable, total and allocated, and verdicts by kind and reason."""
    assert environment.kubectl.send("create", of_core("Namespace", "counted")).code == 0
    alternatives = [{"name": "a", "deviceClassName": "gpu.example.com"}]
    for name in ("one", "two"):
        obj = claim()
        obj["metadata"]["name"] = name
        obj["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": alternatives}]
        assert create(environment, obj, "counted", dry_run=False).code == 0
    path = "/apis/resource.k8s.io/v1/namespaces/counted/resourceclaims/one"
    stored = environment.client.ask("GET", path).body
    result = {"request": "r/a", "driver": "gpu.example.com", "pool": "worker-1", "device": "gpu-0"}
    stored["status"] = {"allocation": {"devices": {"results": [result]}}}
    assert environment.client.ask("PUT", f"{path}/status", stored).code == 200
    labels = 'admin_access="false",{}first_available="true",source=""'
    wanted = [
        "claimcheck_resource_claims{" + labels.format('allocated="true",') + "} 1.0",
        "claimcheck_resource_claims{" + labels.format('allocated="false",') + "} 1.0",
        "claimcheck_allocated_resource_claims{" + labels.format("") + "} 1.0",
    ]
    until(lambda: set(wanted) <= set(_metrics(environment)))
    refusals = [
        line for line in _metrics(environment) if line.startswith("claimcheck_webhook_verdicts_total")
    ]
    assert any('kind="ResourceClaim",reason="Invalid"' in line for line in refusals)
    assert any('kind="Namespace",reason="Forbidden"' in line for line in refusals)


def _metrics(environment: Environment) -> list[str]:
    code, body = environment.service.ask("GET", "/metrics")
    assert code == 200
    return body.decode().splitlines()


def test_audit_says_what_was_found(environment: Environment) -> None:
    """Refusals are in the service's log, with the uid under which the API server knows the request."""
    obj = claim(adminAccess=True)
    obj["metadata"]["name"] = "audited"
    create(environment, obj)
    assert "admin access needs the label" in environment.service.wait_for("refused", name="audited")["reason"]
    assert all(entry["uid"] for entry in environment.service.logged if entry.get("message") == "refused")


# --- the last: it changes what the others rely on


def test_policies_can_be_switched(environment: Environment) -> None:
    """Each of them to warnings, and off, while the service runs."""
    asking: dict[str, Callable[[], Output]] = {
        "adminAccess": lambda: create(environment, claim(adminAccess=True)),
        "adminAccessLabels": lambda: label(environment, "team", f"{DOCS_LABEL}=", "--dry-run=server"),
        "opaqueParameters": lambda: create(environment, configured(sharing="All")),
        "preScheduledPods": lambda: create(environment, pod(), "switched"),
        "feasibility": lambda: create(environment, claim(count=9)),
    }
    assert environment.kubectl.send("create", of_core("Namespace", "switched")).code == 0
    for mode in ("Warn", "Off"):
        policies = {name: {**environment.config["policies"].get(name, {}), "mode": mode} for name in asking}
        write_config(environment.service.directory, **{**environment.config, "policies": policies})
        for name, ask in asking.items():
            until(partial(_is_as, ask, mode))
            if name == "preScheduledPods":
                assert "nodeSelector" not in ask().value["spec"]


def _is_as(ask: Callable[[], Output], mode: str) -> bool:
    """Whether a request is admitted, with a warning or without one."""
    output = ask()
    return output.code == 0 and bool(output.warnings) == (mode == "Warn")
