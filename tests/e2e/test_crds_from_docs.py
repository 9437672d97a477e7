"""docs/how-to/crds.md, followed to the letter on a real control plane, kube-scheduler's own plugin included."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conversion.crd_list_keys import without_empty_list_keys
from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, component, control_plane, free_port
from tests.e2e.deployed import apply, objects_of
from tests.e2e.documented import Shell, blocks, flags, shell

PAGE = "how-to/crds.md"
FLAGS = flags(PAGE, "The control plane")
EVENTS = blocks(PAGE, "The control plane")[1]
INSTALL, USE = blocks(PAGE, "Try it on one machine")
(KUBECTL,) = blocks(PAGE, "What kubectl does otherwise")
SAVE, LEAVE, RESTORE, RAISE = blocks(PAGE, "Move a cluster there, and back")
(UNLIST,) = blocks(PAGE, "CRDs that are left over")
APISERVER, SCHEDULER, CONTROLLERS = "kube-apiserver", "kube-scheduler", "kube-controller-manager"
# the one that makes claims of templates; others would find the nodes dead
ONLY_CLAIMS = "--controllers=resourceclaim-controller"
AND_GARBAGE = "--controllers=resourceclaim-controller,garbage-collector-controller"
GROUP = "/apis/resource.k8s.io"
# an API server that serves v1 only
BY_DEFAULT: list[str] = []
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
_PATIENCE_SECONDS = 120


def of_tests(given: list[str]) -> list[str]:
    """The flags of the API server, in tests without service accounts; of two such flags the last one counts."""
    return [flag.replace("plugins=", "plugins=ServiceAccount,") for flag in given]


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.3)


def add_node(client: Client) -> None:
    """A node for pods, as far as a scheduler looks at it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}}
    assert client.ask("POST", "/api/v1/nodes", node).code == 201
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "for a test"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
    merge = "application/merge-patch+json"
    for path, patch in (("/status", {"status": status}), ("", {"spec": {"taints": None}})):
        answer = client.ask("PATCH", f"/api/v1/nodes/worker{path}", patch, content_type=merge)
        assert answer.code == 200, answer.body


@contextlib.contextmanager
def scheduling(
    server: ApiServer, own: dict[str, list[str]], controllers: str = ONLY_CLAIMS
) -> Iterator[None]:
    """Scheduler and controller manager, with flags of their own."""
    with (
        component(server, CONTROLLERS, [*own.get(CONTROLLERS, []), controllers]),
        component(server, SCHEDULER, own.get(SCHEDULER, [])),
    ):
        yield


@contextlib.contextmanager
def shell_at(server: ApiServer, directory: Path) -> Iterator[Shell]:
    with shell(directory, server.kubeconfig, {"8443": str(free_port())}) as made:
        yield made


def test_trial(tmp_path: Path) -> None:
    """The commands in their order: a pod is placed; a scheduler without the flag is told by the pods' events, as said."""
    with (
        control_plane("1.37", flags=of_tests(FLAGS[APISERVER])) as server,
        shell_at(server, tmp_path) as commands,
    ):
        add_node(server.client)
        commands.run(INSTALL)
        with component(server, CONTROLLERS, [*FLAGS[CONTROLLERS], ONLY_CLAIMS]):
            with component(server, SCHEDULER, []):
                create, _, _ = USE.rpartition("kubectl wait")
                commands.run(create)
                told = "INTERNAL_ERROR; received from peer"
                until(lambda: told in commands.run(EVENTS), "events tell of protobuf")
                assert "/resourceclaims/" in commands.run(EVENTS)
                assert node_of(server.client, "trial") == ""
            with component(server, SCHEDULER, FLAGS[SCHEDULER]):
                printed = commands.run(USE)
                assert printed.splitlines()[-1] in ("gpu-0", "gpu-1"), printed
                until(lambda: node_of(server.client, "trial") == "worker", "the pod is bound")
        kubectl_does_what_the_page_says(commands, tmp_path, server.client)


def kubectl_does_what_the_page_says(commands: Shell, directory: Path, client: Client) -> None:
    """Each of the commands that work does, and changes something; each that does not ends with 415."""
    spec = {"selectors": [{"cel": {"expression": "device.driver == 'other.example.com'"}}]}
    other = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": spec,
    }
    (directory / "class.yaml").write_text(yaml.safe_dump(other))
    path = "/apis/resource.k8s.io/v1/deviceclasses/gpu"
    refused = "body of the request was in an unknown format"
    for command in (
        "kubectl apply -f class.yaml",
        "kubectl diff -f class.yaml",
        "EDITOR='sed -i s/gpu.example.com/edited.example.com/' kubectl edit deviceclass gpu",
        """kubectl patch deviceclass gpu -p '{"metadata": {"labels": {"team": "a"}}}'""",
    ):
        assert refused in commands.run(f"({command}) 2>&1 || true"), command
    apply, diff, *others = KUBECTL.splitlines()
    assert commands.run(f"{diff} || test $? -eq 1").count("other.example.com") == 1
    for command in (apply, *others):
        before = client.ask("GET", path).body
        (directory / "class.yaml").write_text(yaml.safe_dump(other))
        commands.run(command)
        after = client.ask("GET", path).body
        assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"], command
        spec["selectors"][0]["cel"]["expression"] = "device.driver == 'third.example.com'"
    assert after["metadata"]["annotations"] == {"team": "b"}


def node_of(client: Client, pod: str) -> str:
    """Where a pod has been placed, if it has."""
    return str(client.ask("GET", f"{PODS}/{pod}").body["spec"].get("nodeName", ""))


def a_pod(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}],
        },
    }


def devices_of(client: Client) -> dict[str, str]:
    """Which pod has which device."""
    held: dict[str, str] = {}
    for claim in client.ask("GET", CLAIMS).body["items"]:
        for result in (claim.get("status") or {}).get("allocation", {}).get("devices", {}).get("results", ()):
            (pod,) = claim["status"]["reservedFor"]
            assert result["device"] not in held.values(), "a device is given twice"
            held[pod["name"]] = result["device"]
    return held


def state(client: Client) -> dict[str, Any]:
    """All claims as far as a move is to keep them."""
    kept = {}
    for claim in client.ask("GET", CLAIMS).body["items"]:
        metadata = claim["metadata"]
        claim = without_empty_list_keys("ResourceClaim", claim)
        names = ("labels", "annotations", "ownerReferences", "finalizers")
        kept[metadata["name"]] = {
            **{name: metadata.get(name) for name in names},
            "spec": claim["spec"],
            "status": claim.get("status") or {},
        }
    return kept


def test_move_there_and_back(tmp_path: Path) -> None:
    """Both ways: what has been allocated stays allocated, no device is given twice, what is left behind does no harm."""
    with control_plane("1.37", flags=BY_DEFAULT) as built_in:
        client = built_in.client
        add_node(client)
        with shell_at(built_in, make(tmp_path / "there")) as commands:
            objects = USE.partition("until kubectl")[0].replace("name: trial", "name: first")
            commands.run(
                objects + "claimcheck convert --to v1 trial.yaml | kubectl apply --server-side -f -\n"
            )
            with scheduling(built_in, {}):
                until(lambda: devices_of(client).keys() == {"first"}, "the first pod has a device")
            report_devices(client)
            before = state(client)
            commands.run(SAVE)
            saved = (tmp_path / "there" / "dra.json").read_bytes()
        other = of_tests(FLAGS[APISERVER])
        with (
            control_plane("1.37", etcd=built_in.etcd, flags=other) as crds,
            shell_at(crds, make(tmp_path / "service")) as service,
        ):
            service.run(INSTALL)
            (tmp_path / "service" / "dra.json").write_bytes(saved)
            until(lambda: crds.client.ask("GET", CLAIMS).code == 200, "claims are served")
            assert crds.client.ask("GET", CLAIMS).body["items"] == []
            service.run(RESTORE)
            assert state(crds.client) == before
            again = service.run(RESTORE)
            assert "made" not in again, "what is there stays"
            for name in ("second", "third"):
                assert crds.client.ask("POST", PODS, a_pod(name)).code == 201
            with scheduling(crds, FLAGS):
                until(lambda: len(devices_of(crds.client)) == 2, "one of the others has a device")
                until(lambda: "cannot allocate" in service.run(EVENTS), "the third has none")
            owner = own_a_claim(crds.client)
            after = state(crds.client)
            assert {name: after[name] for name in before} == before
            (tmp_path / "service" / "dra.json").unlink()
            service.run(SAVE)
            saved = (tmp_path / "service" / "dra.json").read_bytes()
            assert crds.client.ask("POST", CLAIMS, claim_named("not-saved")).code == 201
            assert "default/not-saved" in service.run(f"{of_claimcheck(LEAVE)} 2>&1 || test $? -eq 2")
            assert state(crds.client).keys() == {*after, "not-saved"}, "nothing is deleted"
            assert crds.client.ask("DELETE", f"{CLAIMS}/not-saved").code == 200
            service.run(LEAVE)
            until(lambda: crds.client.ask("GET", CLAIMS).code == 404, "nothing is served any more")
        until(lambda: unserved_versions(client) == [], "the CRDs' versions are gone from discovery")
        assert devices_of(client).keys() == {"first"}  # of long ago
        with shell_at(built_in, make(tmp_path / "back")) as commands:
            (tmp_path / "back" / "dra.json").write_bytes(saved)
            leave_something_behind(client)
            assert "deleted ResourceClaim default/old" in commands.run(RESTORE)
            assert state(client) == after
            commands.run("kubectl get resourceclaims --all-namespaces")
            with scheduling(built_in, {}, AND_GARBAGE):
                assert client.ask("DELETE", f"{PODS}/first", {"gracePeriodSeconds": 0}).code == 200
                until(
                    lambda: devices_of(client).keys() == {"second", "third"}, "the device goes to the third"
                )
                assert "owned" in state(client)
                assert client.ask("DELETE", owner, {"propagationPolicy": "Background"}).code == 200
                until(lambda: "owned" not in state(client), "a claim goes with its owner")


def test_definitions_that_are_left_over(tmp_path: Path) -> None:
    """CRDs beside the built-in API: nothing is restored while they are discovered, and the page has what helps."""
    with control_plane("1.37", flags=BY_DEFAULT) as server, shell_at(server, tmp_path) as commands:
        client = server.client
        for obj in objects_of("crd-served"):
            if obj["kind"] == "CustomResourceDefinition":
                assert apply(client, obj).code == 201
        until(
            lambda: unserved_versions(client) == ["v1alpha3", "v1beta1", "v1beta2"],
            "versions are only discovered",
        )
        commands.run(SAVE)
        refused = commands.run(f"{RESTORE.strip()} 2>&1 || test $? -eq 2")
        assert "resource.k8s.io/v1beta1" in refused
        assert "resource.k8s.io/v1beta2" in refused
        assert "answers 404" in refused
        commands.run(UNLIST)
        until(lambda: unserved_versions(client) == [], "they are not discovered any more")
        commands.run(RESTORE)
        limit_is_raised_as_the_page_says(commands, client)


def limit_is_raised_as_the_page_says(commands: Shell, client: Client) -> None:
    """With no controller manager, a limit counts as the status has it."""
    hard = {"count/resourceclaims.resource.k8s.io": "1"}
    path = "/api/v1/namespaces/default/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    assert client.ask("POST", path, quota).code == 201
    status = {"status": {"hard": hard, "used": hard}}
    merge = "application/merge-patch+json"
    assert client.ask("PATCH", f"{path}/q/status", status, content_type=merge).code == 200
    until(lambda: client.ask("POST", CLAIMS, claim_named("one")).code == 403, "the quota is in force")
    items = [{**claim_named("one"), "metadata": {"name": "one", "namespace": "default"}}]
    commands.run(f"cat > dra.json <<'END'\n{json.dumps({'items': items})}\nEND\n")
    refused = commands.run(f"{RESTORE.strip()} 2>&1 || test $? -eq 2")
    command = "kubectl patch quota NAME --namespace NAMESPACE --subresource=status --type=merge"
    assert "exceeded quota: q" in refused
    assert command in refused
    assert RAISE.startswith(command)
    commands.run(RAISE.replace("quota NAME", "quota q").replace("NAMESPACE", "default"))
    until(
        lambda: "created" in commands.run(f"{RESTORE.strip()} 2>&1 || test $? -eq 2"), "the limit is raised"
    )


def unserved_versions(client: Client) -> list[str]:
    """Versions of the group that discovery lists and that answer 404."""
    listed = (each["version"] for each in client.ask("GET", GROUP).body["versions"])
    return sorted(version for version in listed if client.ask("GET", f"{GROUP}/{version}").code == 404)


def of_claimcheck(block: str) -> str:
    """The one command of a block that is ours."""
    (command,) = (line for line in block.splitlines() if line.startswith("claimcheck "))
    return command


def claim_named(name: str, **metadata: Any) -> Object:
    named = {"name": name, **metadata}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": named, "spec": {}}


def own_a_claim(client: Client) -> str:
    """A claim `owned` with an owner that is no pod, so that only the garbage collector deletes it; the owner's path."""
    path = "/api/v1/namespaces/default/configmaps"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    owner = client.ask("POST", path, config).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    claim = claim_named("owned", ownerReferences=[reference])
    assert client.ask("POST", CLAIMS, claim).code == 201
    return f"{path}/owner"


def make(directory: Path) -> Path:
    directory.mkdir()
    return directory


def report_devices(client: Client) -> None:
    """What a driver says of the device, which is kept as well."""
    (claim,) = client.ask("GET", CLAIMS).body["items"]
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    device = {name: result[name] for name in ("driver", "pool", "device")}
    claim["status"]["devices"] = [{**device, "data": {"serial": 7}, "networkData": {"ips": ["10.0.0.1/8"]}}]
    answer = client.ask("PUT", f"{CLAIMS}/{claim['metadata']['name']}/status", claim)
    assert answer.code == 200, answer.body


def leave_something_behind(client: Client) -> None:
    """A claim that only the storage of this way has, which nobody would ever delete because of its finalizer."""
    old = claim_named("old", finalizers=["resource.kubernetes.io/delete-protection"])
    assert client.ask("POST", CLAIMS, old).code == 201


def test_page_names_what_is_there() -> None:
    """The blocks are what this test takes them for."""
    assert set(FLAGS) == {APISERVER, SCHEDULER, CONTROLLERS}
    assert json.dumps(FLAGS).count("application/json") == 2
    for block, word in ((EVENTS, "events"), (SAVE, " save "), (RESTORE, " restore ")):
        assert len(block.splitlines()) == 1
        assert word in block
    configurations = {
        obj["metadata"]["name"]
        for obj in objects_of("crd-served")
        if obj["kind"] in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    }
    definitions = {
        obj["metadata"]["name"]
        for obj in objects_of("crd-served")
        if obj["kind"] == "CustomResourceDefinition"
    }
    assert configurations | definitions <= set(LEAVE.split()), "all of them are deleted"
    assert " clear " in of_claimcheck(LEAVE)
