"""The webhook's quota check: refusals with reasons, in both modes."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from quota.cluster import ClusterNamespaces
from quota.enforcement import ObservedQuota, ReservedQuota, held_for_custom_resources
from quota.ledger import Ledger, from_json
from quota.reservations import RecountController, Reservations
from quota.store import ConfigMapStore
from resourceapi.api_client import Unavailable
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES
from resourceapi.releases import Profile
from tests.quota.fake_api import ALL_QUOTAS, CLAIMS, CLASSES, LEDGERS, PODS, QUOTAS, FakeApi, quota
from tests.quota.objects import alternative, claim, container, device_class, exactly, first_of, pod
from validation.server import Server

GPU = "gpu.deviceclass.resource.k8s.io/devices"
COUNT = "count/resourceclaims.resource.k8s.io"
EXTENDED = "requests.example.com/gpu"


class Setup:
    """A fake API server with one quota in the namespace `team`, and both kinds of check."""

    def __init__(self, hard: dict[str, str], used: dict[str, str] | None = None) -> None:
        self.api = FakeApi()
        self.api.add(QUOTAS, quota(hard, used))
        self.api.add(ALL_QUOTAS, quota(hard, used))
        self.api.add(CLASSES, device_class("gpu", "example.com/gpu"))
        self.now = 0.0
        self.namespaces = ClusterNamespaces(self.api, Server(Profile()), clock=lambda: self.now)
        self.store = ConfigMapStore(self.api, "system")
        self.reservations = Reservations(
            self.store, self.namespaces, is_enforced=held_for_custom_resources, clock=lambda: self.now
        )
        self.controller = RecountController(self.reservations, self.namespaces.namespaces_with_quota)
        self.reserved = ReservedQuota(self.reservations, self.namespaces, self.controller)
        self.observed = ObservedQuota(self.namespaces)

    def add(self, path: str, *objects: dict[str, Any]) -> None:
        """Store objects, their name as uid."""
        for obj in objects:
            obj["metadata"].setdefault("uid", obj["metadata"]["name"])
            self.api.add(path, obj)


def test_refusal_says_why() -> None:
    """The server's own message, then request, alternative, class, how much is short and who has the rest."""
    setup = Setup({GPU: "4"})
    setup.add(CLAIMS, *(claim(exactly("r", "gpu"), name=name) for name in ("x", "y", "z")))
    wanted = claim(
        first_of("main", alternative("big", "a100"), alternative("small", "gpu", 2)), name="new", uid="n"
    )
    answer = setup.reserved.check("team", wanted, dry_run=False)
    assert answer is not None
    assert answer.code == 403
    assert answer.message == (
        'resourceclaims.resource.k8s.io "new" is forbidden: '
        f"exceeded quota: gpus, requested: {GPU}=2, used: {GPU}=3, limited: {GPU}=4: "
        f'1 too few devices of class "gpu" ({GPU}): needed 2 for request "main", alternative "small" '
        '(class "gpu", ExactCount): 2, quota "gpus" leaves 1 of 4 (used by claim "x" 1, claim "y" 1, claim "z" 1)'
    )
    assert answer.status()["details"] == {"name": "new", "group": "resource.k8s.io", "kind": "resourceclaims"}


def test_reserved_until_recounted() -> None:
    """A claim that fits is in the ledger before it is stored, and counted once it is."""
    setup = Setup({GPU: "1"})
    new = claim(exactly("r", "gpu"), name="a", uid="a")
    assert setup.reserved.check("team", new, dry_run=True) is None
    assert setup.store.keys() == []
    assert setup.reserved.check("team", new, dry_run=False) is None
    other = claim(exactly("r", "gpu"), name="b", uid="b")
    assert setup.reserved.check("team", other, dry_run=False) is not None
    setup.add(CLAIMS, new)
    setup.controller.recount_all()
    stored = setup.store.get("team")
    assert stored is not None
    ledger = from_json(stored.content)
    assert (str(ledger.counted[GPU]), dict(ledger.reserved)) == ("1", {})


def test_name_that_is_taken() -> None:
    """A claim whose name another one has gets the server's answer to that, and nothing is reserved."""
    setup = Setup({GPU: "2"})
    setup.add(CLAIMS, claim(exactly("r", "gpu"), name="a"), claim(exactly("r", "nic"), name="other"))
    new = claim(exactly("r", "gpu"), name="a", uid="new")
    answer = setup.reserved.check("team", new, dry_run=False)
    assert answer is not None
    assert (answer.code, answer.reason) == (409, "AlreadyExists")
    assert answer.message == 'resourceclaims.resource.k8s.io "a" already exists'
    stored = setup.store.get("team")
    assert stored is not None
    assert from_json(stored.content).reserved == {}
    large = claim(exactly("r", "gpu", 2), name="a", uid="new")
    refused = setup.reserved.check("team", large, dry_run=False)
    assert refused is not None
    assert refused.code == 403


def test_number_of_claims_is_left_to_the_server() -> None:
    """Where CRDs serve the claims, the API server counts them as objects; nothing is counted twice."""
    setup = Setup({COUNT: "0"})
    new = claim(exactly("r", "gpu"), name="a", uid="a")
    assert setup.reserved.check("team", new, dry_run=False) is None
    assert setup.store.keys() == []
    assert setup.observed.check("team", new, dry_run=False) is not None


def test_observed() -> None:
    """Where the server enforces quotas, what their status says is used decides, and the reason comes with it."""
    setup = Setup({GPU: "4"}, {GPU: "4"})
    setup.add(CLAIMS, claim(exactly("r", "gpu", 3), name="x"))
    answer = setup.observed.check("team", claim(exactly("r", "gpu"), name="new"), dry_run=False)
    assert answer is not None
    assert answer.message.endswith('quota "gpus" has none left of 4 (used by claim "x" 3, others 1)')
    assert setup.observed.check("team", claim(exactly("r", "nic"), name="new"), dry_run=False) is None
    assert [path for verb, path in setup.api.requests if verb != "GET"] == []


def test_refusal_without_names() -> None:
    """Where the API server does not say who uses the quota, the refusal is the same without that."""
    setup = Setup({GPU: "4"}, {GPU: "4"})
    assert setup.observed.check("team", claim(exactly("r", "nic"), name="other"), dry_run=False) is None
    setup.api.unreadable = CLAIMS
    answer = setup.observed.check("team", claim(exactly("r", "gpu"), name="new"), dry_run=False)
    assert answer is not None
    assert answer.code == 403
    assert answer.message.endswith('quota "gpus" has none left of 4 (used by others 4)')


def test_shared_with_pods() -> None:
    """A limit on requests for an extended resource counts pods and claims."""
    setup = Setup({EXTENDED: "3"})
    asked = {"example.com/gpu": "2"}
    setup.add(PODS, pod(container(asked, asked)))
    assert setup.reserved.check("team", claim(exactly("r", "gpu"), uid="1"), dry_run=False) is None
    answer = setup.reserved.check("team", claim(exactly("r", "gpu"), uid="2", name="d"), dry_run=False)
    assert answer is not None
    assert 'used by Pod "p" 2, claim "c" 1' in answer.message


def test_claim_for_a_pod_is_not_charged_twice() -> None:
    """The claim that the scheduler makes for a pod's extended resources fits where the pod did."""
    setup = Setup({EXTENDED: "2"})
    asked = {"example.com/gpu": "2"}
    setup.add(PODS, pod(container(asked, asked)))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    made = claim(
        exactly("r", "gpu", 2), uid="m", annotations={FOR_EXTENDED_RESOURCES: "true"}, ownerReferences=[owner]
    )
    assert setup.reserved.check("team", made, dry_run=False) is None
    foreign = claim(
        exactly("r", "gpu", 2),
        uid="f",
        annotations={FOR_EXTENDED_RESOURCES: "true"},
        ownerReferences=[{**owner, "uid": "q"}],
    )
    assert setup.reserved.check("team", foreign, dry_run=False) is not None


def test_quota_that_goes() -> None:
    """The ledger of a namespace without quotas is deleted."""
    setup = Setup({GPU: "1"})
    setup.reserved.check("team", claim(exactly("r", "gpu"), uid="a"), dry_run=False)
    setup.api.collections[QUOTAS].clear()
    setup.api.collections[ALL_QUOTAS].clear()
    setup.now += 10
    setup.controller.recount_all()
    assert setup.store.keys() == []


def test_server_that_is_down() -> None:
    """Without the API server there is no verdict; the controller reports it and goes on."""
    setup = Setup({GPU: "1"})
    setup.api.down = True
    with pytest.raises(Unavailable):
        setup.reserved.check("team", claim(exactly("r", "gpu"), uid="a"), dry_run=False)
    reported: list[str] = []
    controller = RecountController(
        setup.reservations,
        setup.namespaces.namespaces_with_quota,
        report=lambda namespace, error: reported.append(f"{namespace}: {error}"),
    )
    controller.recount_all()
    assert reported == [": connection refused"]


def test_one_namespace_does_not_end_the_work_for_others() -> None:
    """Whatever happens while one namespace is recounted, the next ones are, and so is the next round."""
    recounted: list[str] = []

    class Broken(Reservations):
        def recount(self, namespace: str) -> Ledger:
            recounted.append(namespace)
            if namespace == "another":
                raise RecursionError
            return super().recount(namespace)

    setup = Setup({GPU: "1"})
    reservations = Broken(setup.store, setup.namespaces, is_enforced=held_for_custom_resources)
    reported: list[str] = []
    controller = RecountController(
        reservations, lambda: ["another", "team"], report=lambda namespace, _: reported.append(namespace)
    )
    controller.recount_all()
    assert (recounted, reported) == (["another", "team"], ["another"])

    def fail() -> list[str]:
        raise KeyError("namespace")

    RecountController(
        reservations, fail, report=lambda namespace, _: reported.append(namespace)
    ).recount_all()
    assert reported == ["another", ""]


def test_controller_stops() -> None:
    """The controller ends when told to, in the middle of a round, too."""
    setup = Setup({GPU: "1"})
    stop = Event()
    stop.set()
    controller = RecountController(setup.reservations, setup.namespaces.namespaces_with_quota, interval=0)
    controller.recount_all(stop)
    controller.run(stop)
    assert setup.api.collections[LEDGERS] == {}


def test_quotas_and_classes_are_remembered() -> None:
    """Quotas and classes are read once in two seconds, what is stored as often as it is counted."""
    setup = Setup({GPU: "9"})
    for number in range(4):
        setup.reserved.check("team", claim(exactly("r", "gpu"), uid=str(number)), dry_run=False)
    assert [path for _, path in setup.api.requests].count(QUOTAS) == 1
    setup.now = 2.0
    setup.reserved.check("team", claim(exactly("r", "gpu"), uid="later"), dry_run=False)
    assert [path for _, path in setup.api.requests].count(QUOTAS) == 2


def test_stored_claims_without_defaults() -> None:
    """What a CRD has stored without defaults counts as if it had them."""
    setup = Setup({GPU: "1"})
    bare = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    setup.add(CLAIMS, claim(bare, name="old"))
    assert setup.reserved.check("team", claim(exactly("r", "gpu"), uid="a"), dry_run=False) is not None


def test_cluster_without_classes() -> None:
    """Where the kind DeviceClass is not served (yet), devices are counted all the same."""
    setup = Setup({GPU: "1"})
    del setup.api.collections[CLASSES]
    setup.api.collections[CLASSES.rpartition("/")[0]] = {}
    assert setup.reserved.check("team", claim(exactly("r", "gpu", 2), uid="a"), dry_run=False) is not None


def test_both_are_for_known_clients() -> None:
    """Asking costs requests to the API server, and the answer tells who uses what: nothing of that is for strangers."""
    setup = Setup({GPU: "1"})
    assert setup.observed.is_for_known_clients
    assert setup.reserved.is_for_known_clients
    assert not ObservedQuota(setup.namespaces, is_for_known_clients=False).is_for_known_clients
