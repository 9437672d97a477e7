"""The second scheduler, applied as `claimcheck manifests` prints it, with the rights that it then has; and how to leave."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from resourceapi.objects import Object
from scheduler.claim_writes import FINALIZER
from tests.e2e import fleet
from tests.e2e.balancer import Balancer, balancing
from tests.e2e.binaries import tool
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane, free_port, kubeconfig
from tests.e2e.deployed_scheduler import SCHEDULER, SCHEDULER_NAME, SIDECAR, token
from tests.e2e.kubectl import Kubectl
from tests.e2e.programs import Program, running
from tests.e2e.scheduling_cluster import CONTROLLER_FLAGS, until
from tests.e2e.test_deployment import own_address

NAMESPACE = "claimcheck-system"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "schedule.md"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/claimcheck-scheduler-tls"
ENDPOINTS = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/claimcheck-scheduler"
ACCOUNTS = [f"system:serviceaccount:{NAMESPACE}:{name}" for name in (SIDECAR, SCHEDULER)]
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": ACCOUNTS}, {"level": "None"}],
}
COMMAND = ["-m", "commandline.main", "manifests", "--component", "scheduler"]
IMAGES = [
    "--image",
    "registry.example.com/claimcheck:1",
    "--kube-scheduler-image",
    "registry.example.com/k:1",
]


class Deployment(NamedTuple):
    server: ApiServer
    kubectl: Kubectl
    manifests: Path
    sidecars: dict[int, Program]
    """By the port that each listens on."""
    service: Balancer
    audit: Path

    def leader(self) -> int:
        """The port where the Service leads; 0 for nowhere."""
        answer = self.server.client.ask("GET", ENDPOINTS)
        ports = answer.body.get("ports") if answer.code == 200 else None
        return int(ports[0]["port"]) if ports else 0

    def requests(self) -> list[dict[str, Any]]:
        """What both accounts have asked for."""
        whole, _, _ = self.audit.read_text().rpartition("\n")  # the last line may still be written
        return [json.loads(line) for line in whole.splitlines()]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """All objects applied, two sidecars as their pods would be, and kube-scheduler with what it gets from the Secret."""
    directory = tmp_path_factory.mktemp("scheduler")
    (directory / "audit.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    audit = directory / "audit.log"
    flags = [f"--audit-policy-file={directory / 'audit.yaml'}", f"--audit-log-path={audit}"]
    text = subprocess.run(
        [sys.executable, *COMMAND, *IMAGES], check=True, capture_output=True, text=True
    ).stdout
    manifests = directory / "manifests.yaml"
    manifests.write_text(text)
    configs = {
        name: yaml.safe_load(content)
        for obj in yaml.safe_load_all(text)
        if obj["kind"] == "ConfigMap"
        for name, content in obj["data"].items()
    }
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=flags))
        kubectl = Kubectl(server, directory / "cache")
        done = kubectl("apply", "--server-side", "-f", str(manifests))
        assert (done.code, done.errors) == (0, "")
        common = [f"--kubeconfig={server.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        command = [str(tool("kube-controller-manager")), *common, *CONTROLLER_FLAGS]
        stack.enter_context(running(command, directory / "controllers.log"))
        sidecars = {}
        for number in range(2):
            port = free_port()
            file = directory / f"schedule-{number}.yaml"
            file.write_text(yaml.safe_dump(of_pod(configs["schedule.yaml"], server, directory, port)))
            claimcheck = str(Path(sys.executable).with_name("claimcheck"))
            command = ["env", f"POD_IP={own_address()}", claimcheck, "schedule", "--config", str(file)]
            sidecars[port] = stack.enter_context(running(command, directory / f"schedule-{number}.log"))
        service = stack.enter_context(balancing([]))
        found = Deployment(server, kubectl, manifests, sidecars, service, audit)
        stack.enter_context(following(found))
        whole = of_kube_scheduler(configs["kube-scheduler.yaml"], server, directory, service.port)
        (directory / "kube-scheduler.yaml").write_text(yaml.safe_dump(whole))
        command = [str(tool("kube-scheduler")), f"--config={directory / 'kube-scheduler.yaml'}"]
        stack.enter_context(running([*command, "--secure-port=0"], directory / "kube-scheduler.log"))
        fleet.prepare(server.client, 5)
        yield found


def of_pod(config: Object, server: ApiServer, directory: Path, port: int) -> Object:
    """The sidecar's configuration, but for what a pod has: its token, and a port of its own."""
    access = json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]
    file = directory / "token"
    file.write_text(token(server.client, SIDECAR))
    reached = {"address": access["server"], "caFile": access["certificate-authority"], "tokenFile": str(file)}
    return {
        **config,
        "listen": {"address": "0.0.0.0", "port": port},
        "apiServer": {**config["apiServer"], **reached},
        "selfCheck": {"seconds": 2},
    }


def of_kube_scheduler(config: Object, server: ApiServer, directory: Path, port: int) -> Object:
    """kube-scheduler's configuration, with the files that kubelet would make of the Secret."""
    until(lambda: "client.crt" in secret(server), "there are no certificates")
    names = {"caFile": "ca.crt", "certFile": "client.crt", "keyFile": "client.key"}
    found = secret(server)
    for name in names.values():
        (directory / name).write_bytes(base64.b64decode(found[name]))
    (extender,) = config["extenders"]
    tls = {key: str(directory / name) for key, name in names.items()}
    # by the name that its certificate has
    tls["serverName"] = extender["urlPrefix"].removeprefix("https://")
    own = kubeconfig(
        server.kubeconfig.with_name("kubeconfig-scheduler"),
        server.client.port,
        token(server.client, SCHEDULER),
    )
    return {
        **config,
        "clientConnection": {**config["clientConnection"], "kubeconfig": str(own)},
        "extenders": [{**extender, "urlPrefix": f"https://127.0.0.1:{port}", "tlsConfig": tls}],
    }


def secret(server: ApiServer) -> dict[str, str]:
    answer = server.client.ask("GET", SECRET)
    return dict(answer.body.get("data") or {}) if answer.code == 200 else {}


@contextlib.contextmanager
def following(found: Deployment) -> Iterator[None]:
    """Connections go where the EndpointSlice says, as kube-proxy has it."""
    ending = threading.Event()

    def follow() -> None:
        while not ending.wait(0.1):
            leader = found.leader()
            found.service.backends = [leader] if leader else []

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def bound(found: Deployment) -> list[str]:
    pods = found.server.client.ask("GET", fleet.PODS).body["items"]
    return [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]


def test_pods_are_scheduled(deployment: Deployment) -> None:
    """With certificates of the Secret, by the replica to which the Service leads."""
    fleet.submit(
        deployment.server.client, enumerate(["one", "fast", "pair", "shared", fleet.HARD]), SCHEDULER_NAME
    )
    until(lambda: len(bound(deployment)) == 4, "not all pods are bound")


def test_another_replica_takes_over(deployment: Deployment) -> None:
    """The leader is killed: the Service leads to the other one, which schedules."""
    before = deployment.leader()
    deployment.sidecars[before].kill()
    until(lambda: deployment.leader() not in (0, before), "the Service leads to nobody else")
    fleet.submit(deployment.server.client, [(10, "one")], SCHEDULER_NAME)
    until(lambda: len(bound(deployment)) == 5, "the pod is not bound")
    deployment.sidecars[before].start()


def test_nothing_is_forbidden(deployment: Deployment) -> None:
    """Both accounts have the rights that they need, also to wake pods that were refused, and to watch themselves."""
    client = deployment.server.client
    woken = f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims/claimcheck-scheduler-wake-up"
    fleet.post(client, "/api/v1/nodes", fleet.node(5))
    for each in fleet.slices(5):
        fleet.post(client, f"{fleet.GROUP}/resourceslices", each)
    until(lambda: client.ask("GET", woken).code == 200, "nobody was woken")
    limits = {"limits": {"deviceclass.resource.kubernetes.io/gpu": "1"}}  # a claim is made for that
    containers = [{"name": "c", "image": "x", "resources": limits}]
    spec = {"schedulerName": SCHEDULER_NAME, "containers": containers}
    pod = "/api/v1/namespaces/fleet/pods/extended"
    fleet.post(client, pod.rpartition("/")[0], {"metadata": {"name": "extended"}, "spec": spec})
    until(
        lambda: bool(client.ask("GET", pod).body["spec"].get("nodeName")),
        lambda: str(client.ask("GET", pod).body["status"]),
    )
    client.ask("DELETE", pod, {"gracePeriodSeconds": 0})
    forbidden = {
        (each["user"]["username"], each["verb"], each["requestURI"])
        for each in deployment.requests()
        if each["responseStatus"]["code"] in (401, 403)
    }
    assert forbidden == set()


def test_nobody_else_is_answered(deployment: Deployment, tmp_path: Path) -> None:
    """Without kube-scheduler's certificate there are no bindings."""
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(secret(deployment.server)["ca.crt"]))
    command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", str(tmp_path / "ca.crt")]
    host, port = f"claimcheck-scheduler.{NAMESPACE}.svc", deployment.leader()
    command += ["--resolve", f"{host}:{port}:127.0.0.1", "-d", "{}", f"https://{host}:{port}/bind"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "403"


def test_finalizer_is_for_those_who_give_devices(deployment: Deployment) -> None:
    """Who may only write claims cannot make a take-over change thousands of them; a claim that has it can be changed as ever."""
    client = deployment.server.client
    fleet.post(client, "/api/v1/namespaces/fleet/serviceaccounts", {"metadata": {"name": "tenant"}})
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/fleet"
    rule = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["*"]}
    fleet.post(client, f"{roles}/roles", {"metadata": {"name": "tenant"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": "fleet"}],
    }
    fleet.post(client, f"{roles}/rolebindings", binding)
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}

    def write(by: Client, verb: str, name: str, *finalizers: str, **metadata: Any) -> int:
        claim = {"metadata": {"name": name, "finalizers": list(finalizers), **metadata}, "spec": spec}
        path = fleet.CLAIMS if verb == "POST" else f"{fleet.CLAIMS}/{name}"
        kind = "application/json" if verb == "POST" else "application/merge-patch+json"
        answer = by.ask(verb, path, claim, content_type=kind)
        if answer.code == 403:
            assert f"{FINALIZER} is for those who may update resourceclaims/status" in answer.body["message"]
        return answer.code

    with contextlib.closing(client.with_token(token(client, "tenant", "fleet"))) as tenant:
        until(lambda: write(tenant, "POST", "tried", FINALIZER) == 403, "a tenant may add the finalizer")
        assert write(tenant, "POST", "other", "example.com/other") == 201
        assert write(tenant, "PATCH", "other", "example.com/other", FINALIZER) == 403
        assert write(client, "PATCH", "other", "example.com/other", FINALIZER) == 200
        assert write(tenant, "PATCH", "other", "example.com/other", FINALIZER, labels={"a": "b"}) == 200
        assert write(tenant, "PATCH", "other") == 200
    for name in ("tried", "other"):  # the first one was made if the policy was not in effect yet
        client.ask("DELETE", f"{fleet.CLAIMS}/{name}")


def test_applying_again_keeps_the_certificates(deployment: Deployment) -> None:
    """The Secret is applied without data."""
    before = secret(deployment.server)
    assert before
    for how in (("--server-side",), ("--server-side=false",)):
        assert deployment.kubectl("apply", *how, "-f", str(deployment.manifests)).code == 0
        assert secret(deployment.server) == before


def test_leaving(deployment: Deployment) -> None:
    """What the guide says removes everything but the namespace; claims of pods that are bound keep their devices."""
    text = GUIDE.read_text("utf-8")
    kubectl = deployment.kubectl
    for sidecar in deployment.sidecars.values():
        sidecar.stop()
    (label,) = re.findall(r"kubectl delete (-l \S+) -f -", text)
    done = kubectl("delete", *label.split(), "--wait=false", "-f", str(deployment.manifests))
    assert done.code == 0, done.errors
    assert "namespace" not in [line.split()[0] for line in done.text.splitlines()]
    ((options, name),) = re.findall(r"kubectl (-n \S+) delete (\S+)\n", text)
    done = kubectl(*options.split(), "delete", "--wait=false", name)
    assert done.code == 0, done.errors
    left = kubectl("api-resources", "--verbs=list", "-o", "name", "--namespaced=true").text.split()
    kinds = ",".join(name for name in left if not name.startswith("events"))

    def remaining() -> list[str]:
        found = kubectl("get", kinds, "-n", NAMESPACE, "-o", "name").text.split()
        return [
            name for name in found if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default")
        ]

    until(lambda: remaining() == [], f"there is still {remaining()}")
    kinds = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings"
    cluster_wide = kubectl("get", kinds, "-o", "name").text
    assert "claimcheck" not in cluster_wide
    claims = deployment.server.client.ask("GET", fleet.CLAIMS).body["items"]
    assert sum("allocation" in claim.get("status", {}) for claim in claims) == 5
