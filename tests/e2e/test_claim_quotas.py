"""A pod whose claim a quota refuses: `explain` says so while a real kube-controller-manager fails to make it, and is right about what helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from commandline.main import main
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, component, control_plane
from tests.e2e.scheduled import until

GROUP = "/apis/resource.k8s.io/v1"
CORE = "/api/v1/namespaces/default"
LIMIT = "gpu.deviceclass.resource.k8s.io/devices"
DEVICES = {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server whose controllers make claims and count what quotas limit; nobody schedules."""
    flags = [
        "--controllers=resourceclaim-controller,resourcequota-controller",
        "--resource-quota-sync-period=1s",
    ]
    with control_plane("1.37") as started, component(started, "kube-controller-manager", flags):
        yield started


def _make(client: Client, path: str, obj: Any) -> None:
    answer = client.ask("POST", path, obj)
    assert answer.code == 201, answer.body


def _pod(client: Client, name: str) -> None:
    container = {"name": "c", "image": "busybox", "resources": {"claims": [{"name": "g"}]}}
    entry = {"name": "g", "resourceClaimTemplateName": "one"}
    pod = {"metadata": {"name": name}, "spec": {"containers": [container], "resourceClaims": [entry]}}
    _make(client, f"{CORE}/pods", pod)


def _claims(client: Client) -> list[Any]:
    found: list[Any] = client.ask("GET", f"{GROUP}/namespaces/default/resourceclaims").body["items"]
    return found


def _says(client: Client, pod: str) -> str:
    """What the controller last said of a pod."""
    events = client.ask("GET", f"{CORE}/events").body["items"]
    return next((each["message"] for each in events if each["involvedObject"]["name"] == pod), "")


def test_used_up(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two pods, the second waits for quota; with more of it, it gets its claim, and `explain` says no more of quota."""
    client = server.client
    _make(client, f"{GROUP}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
    quota = {"metadata": {"name": "team"}, "spec": {"hard": {LIMIT: "1"}}}
    _make(client, f"{CORE}/resourcequotas", quota)
    until(lambda: bool(client.ask("GET", f"{CORE}/resourcequotas/team").body["status"]))
    template = {"metadata": {"name": "one"}, "spec": {"spec": {"devices": DEVICES}}}
    _make(client, f"{GROUP}/namespaces/default/resourceclaimtemplates", template)
    _pod(client, "first")
    until(lambda: len(_claims(client)) == 1)
    _pod(client, "second")
    until(lambda: "exceeded quota: team" in _says(client, "second"))

    def first_line(pod: str) -> str:
        main(["explain", f"pod/{pod}", "--kubeconfig", str(server.kubeconfig)])
        return capsys.readouterr().out.splitlines()[0]

    assert "waits for quota for its claim from template one: 1 too few devices" in first_line("second")
    assert 'quota "team" has none left of 1 (used by claim "first-g-' in first_line("second")
    assert "quota" not in first_line("first")

    more = {"spec": {"hard": {LIMIT: "2"}}}
    answer = client.ask(
        "PATCH", f"{CORE}/resourcequotas/team", more, content_type="application/merge-patch+json"
    )
    assert answer.code == 200, answer.body
    assert "quota" not in first_line("second")
    until(lambda: len(_claims(client)) == 2)
    assert "quota" not in first_line("second")
