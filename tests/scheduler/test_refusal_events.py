"""Which refusals become events, what they say, and that filters do not wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread
from time import thread_time

import pytest

from allocator.explaining import alternatives
from allocator.explaining.trials import Trials
from allocator.time_limit import OutOfTime, TimeLimit
from cluster.event_writer import EventWriter
from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.records.pods import read_pod
from scheduler import refusal_notes
from scheduler.cluster_picture import HelpedBy
from scheduler.extender_api import CandidateNodes, Verdicts
from scheduler.filtering import Filter, Refused
from scheduler.missing_claims import MOST_CLAIMS_AT_ONCE, SEARCH_SECONDS
from scheduler.refusal_events import (
    MOST_PODS,
    QUIET_SECONDS,
    REPEAT_SECONDS,
    PodEvents,
    RefusalEvents,
)
from scheduler.refusal_notes import MOST_NODES, case_of, note_on
from tests.allocator.patches.objects import patch
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.group_scenes import COUNTERS, SCENES, slices, spec_asking
from tests.scheduler.test_filtering import DRIVER, NODES, Cluster, allocation, claim, node, pod, slice_of


class Told:
    """A cluster whose refusals are told."""

    def __init__(self, gpus: int = 1, gates: dict[str, bool] | None = None) -> None:
        self.cluster = Cluster(gpus, gates)
        self.picture = self.cluster.picture
        self.now = 0.0
        self.leads = True
        self.api = FakeApi()
        self._events = EventWriter(self.api, "claimcheck-scheduler", "replica-0", lambda: self.now)
        events = PodEvents(self._events)
        self.telling = RefusalEvents(self.picture, events, "claimcheck", lambda: self.leads, lambda: self.now)
        self.filter = Filter(self.picture, self.cluster.decisions, seconds=5.0, refused=self.telling.refused)

    def settle(self) -> None:
        """Let patches take effect, all of them."""
        while not self.picture.is_settled:
            self.picture.settle_some()

    def ask(self, asked: Object, nodes: Sequence[str] = NODES) -> bool:
        """Whether the pod, which the API server has, fits somewhere."""
        self.picture.pods.put(asked)
        self.cluster.decisions.clear()
        return bool(self.filter.answer(CandidateNodes(asked, nodes)).fitting)

    def after(self, seconds: float) -> list[str]:
        """All notes that there are after so many seconds."""
        self.now += seconds
        self.telling.look()
        while self._events.write_next():
            pass
        return [each["note"] for each in self.api.all("events", "/apis/events.k8s.io/v1")]


def with_selector(name: str, expression: str) -> Object:
    """A claim for a GPU that an expression selects."""
    made = claim(name)
    made["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return made


def test_note_says_who_is_in_the_way_and_what_would_help() -> None:
    told = Told()
    for name, held in (("n1", "a"), ("n2", "b")):
        holder = claim(held)
        holder["status"] = {
            "allocation": allocation(name, "gpu-0"),
            "reservedFor": [{"resource": "pods", "name": held, "uid": f"uid-{held}"}],
        }
        told.picture.claim_objects.put(holder)
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert note == (
        "does not fit on any of the 2 nodes; conflict: request g of claim ns/c: 1 of class gpu, the devices that 2 claims "
        "of others hold: these cannot be met together on any node, but without any one of them the other can; it would fit "
        "if pod ns/a ended, which uses claim a (on n1), or if pod ns/b ended, which uses claim b (on n2)"
    )


def test_note_calls_nodes_eligible_if_there_are_others() -> None:
    """As `claimcheck explain` does; kube-scheduler has rejected those about which it does not ask."""
    told = Told(gpus=0)
    told.picture.nodes.put(node("n3"))
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"), ("n1", "n2"))
    (note,) = told.after(QUIET_SECONDS)
    assert note.startswith("does not fit on any of the 2 eligible nodes;")


@pytest.mark.parametrize(
    ("held_on", "where"),
    [("n2", "on n2"), ("n3", "for a node that does not exist")],
    ids=["a node that was not in question", "no node"],
)
def test_note_says_for_which_node_a_claim_has_devices(held_on: str, where: str) -> None:
    """Also if kube-scheduler has not asked about that one, as the pod's node selector excludes it."""
    told = Told()
    shared = claim("c")
    user = {"resource": "pods", "name": "other", "uid": "uid-other"}
    shared["status"] = {"allocation": allocation(held_on, "gpu-0"), "reservedFor": [user]}
    told.picture.claim_objects.put(shared)
    assert not told.ask(pod("p", "c"), ("n1",))
    (note,) = told.after(QUIET_SECONDS)
    assert note == f"does not fit on n1; claim ns/c is allocated {where} (used by pod ns/other)"


def held_by(namespace: str, name: str, node: str) -> Object:
    """A claim whose pod has the GPU of a node."""
    made = claim(name)
    made["metadata"] |= {"namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    user = {"resource": "pods", "name": f"{name}-pod", "uid": f"uid-{namespace}-{name}-pod"}
    made["status"] = {"allocation": allocation(node, "gpu-0"), "reservedFor": [user]}
    return made


SECRETS = ("apollo", "merger", "layoffs", "secret")


@pytest.mark.parametrize(
    ("held", "end"),
    [
        (
            [("apollo", "merger", "n1"), ("apollo", "layoffs", "n2")],
            "if 1 claim of another namespace were released (on 2 nodes, such as n1)",
        ),
        (
            [("apollo", "merger", "n1"), ("ns", "mine", "n2")],
            "if 1 claim of another namespace were released (on n1), or if pod ns/mine-pod ended, which uses claim mine (on n2)",
        ),
    ],
)
def test_note_names_no_holders_of_other_namespaces(held: list[tuple[str, str, str]], end: str) -> None:
    """Events are read by whoever may read those of the pod's own namespace."""
    told = Told()
    for each in held:
        told.picture.claim_objects.put(held_by(*each))
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert note.endswith(f"; it would fit {end}")
    assert not any(secret in note for secret in SECRETS)


def test_note_counts_holders_of_other_namespaces_that_are_in_the_way_together() -> None:
    told = Told(gpus=3)
    told.picture.slices.remove(slice_of("n2", 1))
    for place, (namespace, name) in enumerate((("apollo", "merger"), ("zeus", "layoffs"), ("ns", "mine"))):
        holder = held_by(namespace, name, "n1")
        holder["status"]["allocation"] = allocation("n1", f"gpu-{place}")
        told.picture.claim_objects.put(holder)
    told.picture.claim_objects.put(claim("c", count=3))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert (
        "if pod ns/mine-pod ended, which uses claim mine, and if 2 claims of other namespaces were released (on n1)"
        in note
    )
    assert not any(secret in note for secret in SECRETS)


def test_note_tells_neither_values_of_devices_nor_lists_of_names() -> None:
    """Who may create claims need not be allowed to read slices, classes and taint rules."""
    told = Told()
    for name in NODES:
        device = slice_of(name, 1)
        device["spec"]["devices"][0] |= {
            "attributes": {"secret-attribute": {"string": "secret"}},
            "taints": [{"key": "example.com/secret-key", "value": "secret", "effect": "NoSchedule"}],
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": "31Gi", "requestPolicy": {"default": "1Gi"}}},
        }
        told.picture.slices.put(device)
    told.picture.classes.set(
        "secret-class", told.picture.classes.objects["gpu"]._replace(name="secret-class")
    )
    tainted = claim("c")
    of_no_class = claim("c")
    of_no_class["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "xyz"
    too_large = claim("c")
    exactly = too_large["spec"]["devices"]["requests"][0]["exactly"]
    exactly["capacity"] = {"requests": {"memory": "90Gi"}}
    exactly["tolerations"] = [{"operator": "Exists"}]
    misspelt = with_selector("c", "device.attributes['gpu.example.com'].model == 'a100'")
    misspelt["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [{"operator": "Exists"}]
    notes = []
    for number, each in enumerate((tainted, of_no_class, too_large, misspelt)):
        each["metadata"] |= {"name": f"c{number}", "uid": f"uid-c{number}"}
        told.picture.claim_objects.put(each)
        assert not told.ask(pod(f"p{number}", f"c{number}"))
        notes.append(told.after(QUIET_SECONDS)[-1])
    told_of_taint, told_of_class, told_of_capacity, told_of_attribute = notes
    assert "with a toleration for a device taint" in told_of_taint
    assert "there is no DeviceClass xyz" in told_of_class
    assert "with less of memory in request g of claim ns/c2" in told_of_capacity
    assert "has the attribute gpu.example.com/model" in told_of_attribute
    for note in notes:
        assert not any(secret in note for secret in (*SECRETS, "31Gi")), note


@pytest.mark.parametrize(
    ("patches", "named", "helps"),
    [
        (1, "ResourceSlicePatch patch-0;", True),
        (5, "ResourceSlicePatches patch-0, patch-1, patch-2, …;", False),
    ],
    ids=["one", "one for each device"],
)
def test_note_names_patches_that_gave_what_is_refused(patches: int, named: str, helps: bool) -> None:
    """Without the values; of several patches only some, and to delete one is a remedy only if that is enough."""
    told = Told(gpus=patches)
    for number in range(patches):
        filter = {"device": f"gpu-{number}"} if patches > 1 else {}
        made = patch(f"patch-{number}", filter, attributes={f"{DRIVER}/model": "worn-out"})
        told.picture.patches.put({"apiVersion": f"{OWN_GROUP}/v1alpha3", **made})
    told.settle()
    wanted = with_selector("c", f'device.attributes["{DRIVER}"].?model.orValue("") != "worn-out"')
    wanted["spec"]["devices"]["requests"][0]["exactly"]["count"] = patches
    told.picture.claim_objects.put(wanted)
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert f"; gpu.example.com/model comes from {named} it would fit" in note
    assert ("without ResourceSlicePatch patch-0 (on 2 nodes" in note) is helps
    assert note.count("worn-out") == note.count('!= "worn-out"')


GRADE = f'device.attributes["{DRIVER}"].?secretGrade.orValue("")'
SAME_GRADE: Object = {"requests": ["g"], "matchAttribute": f"{DRIVER}/secretGrade"}
HELPS = "; it would fit if an administrator deleted a ResourceSlicePatch (on 2 nodes"
GIVEN = "; gpu.example.com/secretGrade comes from "


@pytest.mark.parametrize(
    ("of_class", "of_claim", "same", "words"),
    [
        ("worn-out", "", False, HELPS),
        ("worn-out", "new", False, HELPS),
        ("", "worn-out", False, f"{GIVEN}ResourceSlicePatch admins-patch; it would fit without the selector"),
        ("", "worn-out", False, "without ResourceSlicePatch admins-patch (on 2 nodes"),
        ("", "", True, f"{GIVEN}ResourceSlicePatches admins-other-patch, admins-patch; it would fit"),
    ],
    ids=["class", "class, and the claim reads it too", "claim", "claim, remedy", "constraint"],
)
def test_note_names_patched_values_only_if_the_claim_itself_asks_for_others(
    of_class: str, of_claim: str, same: bool, words: str
) -> None:
    """Who may write claims, but not read DeviceClasses, learns neither what these ask for nor which patch gave it."""
    told = Told(gpus=2)
    if of_class:
        selectors = (f'{GRADE} != "{of_class}"',)
        told.picture.classes.set("gpu", told.picture.classes.objects["gpu"]._replace(selectors=selectors))
    for number, name in enumerate(("admins-patch", "admins-other-patch") if same else ("admins-patch",)):
        filter = {"device": f"gpu-{number}"} if same else {}
        made = patch(name, filter, attributes={f"{DRIVER}/secretGrade": "worn-out" if number == 0 else "new"})
        told.picture.patches.put({"apiVersion": f"{OWN_GROUP}/v1alpha3", **made})
    told.settle()
    wanted = with_selector("c", f'{GRADE} != "{of_claim}"') if of_claim else claim("c")
    if same:
        wanted["spec"]["devices"]["constraints"] = [SAME_GRADE]
        wanted["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    told.picture.claim_objects.put(wanted)
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert words in note, note
    if of_class:
        assert "secretGrade" not in note
        assert "admins" not in note


def test_note_names_patches_of_capacities_that_the_claim_asks_for() -> None:
    """Not those of which a device gives a default amount."""
    told = Told()
    shared: Object = {"requestPolicy": {"default": "1Gi"}}
    for name in NODES:
        device = slice_of(name, 1)
        device["spec"]["devices"][0] |= {
            "allowMultipleAllocations": True,
            "capacity": {each: {"value": "80Gi", **shared} for each in ("memory", "secret")},
        }
        told.picture.slices.put(device)
    for name in ("memory", "secret"):
        made = patch(f"patch-of-{name}")
        made["spec"]["devices"]["capacity"] = {f"{DRIVER}/{name}": {"value": "2Gi", **shared}}
        told.picture.patches.put({"apiVersion": f"{OWN_GROUP}/v1alpha3", **made})
    told.settle()
    wanted = claim("c")
    wanted["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "4Gi"}}
    told.picture.claim_objects.put(wanted)
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert "; gpu.example.com/memory comes from ResourceSlicePatch patch-of-memory" in note
    assert not any(secret in note for secret in SECRETS), note


MODEL = f'device.attributes["{DRIVER}"].model'


def test_note_says_what_no_device_has() -> None:
    told = Told()
    for name in NODES:
        device = slice_of(name, 1)
        device["spec"]["devices"][0]["attributes"] = {"model": {"string": "a100"}}
        told.picture.slices.put(device)
    told.picture.claim_objects.put(
        with_selector("c", "device.attributes['gpu.example.com'].modell == 'a100'")
    )
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert note.startswith(
        "cannot be scheduled: no device has the attribute gpu.example.com/modell; did you mean gpu.example.com/model? "
        "an error on n1 fails each attempt: claim ns/c: selector #0: CEL runtime error: no such key: "
    )
    assert (
        "; no device (2 looked at) has the attribute gpu.example.com/modell, which the "
        "selector of request g of claim ns/c names; did you mean gpu.example.com/model?"
    ) in note


@pytest.mark.parametrize(
    "expression",
    [
        f"int({MODEL}) > 1",
        f'{{"a": 1}}[{MODEL}] == 1',
        f"timestamp({MODEL}).getFullYear() > 1",
        f'"2026-01-01T00:00:00Z" == string(timestamp("2026-01-01T00:00:00Z").getHours({MODEL}))',
        f"quantity({MODEL}).isInteger()",
        f"semver({MODEL}).major() > 1",
        f"[1][size({MODEL})] == 1",
    ],
)
def test_error_of_a_selector_quotes_no_device(expression: str) -> None:
    """Neither in an event nor in an answer, which becomes one; CEL's errors do."""
    told = Told()
    for name in NODES:
        device = slice_of(name, 1)
        device["spec"]["devices"][0]["attributes"] = {"model": {"string": "TopSecret"}}
        told.picture.slices.put(device)
    told.picture.claim_objects.put(with_selector("c", expression))
    verdicts = told.filter.answer(CandidateNodes(pod("p", "c"), NODES))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    for said in (note, *verdicts.beyond_preemption.values()):
        assert "CEL runtime error: `claimcheck explain` says which" in said
        assert "TopSecret" not in said
        assert "9" not in said, "its length"


@pytest.mark.parametrize(
    ("request_changes", "said"),
    [
        (
            {"capacity": {"requests": {"memry": "1Gi"}}},
            ": no device has the capacity memry; did you mean memory?",
        ),
        ({"selectors": [{"cel": {"expression": f'{MODEL} == "A100"'}}]}, "; "),
        ({"tolerations": [{"key": "worm", "operator": "Exists"}]}, "; "),
    ],
    ids=["capacity", "value", "taint"],
)
def test_note_corrects_only_what_tenants_may_read(request_changes: Object, said: str) -> None:
    """The name of a capacity, neither a value of an attribute nor a device's taint."""
    told = Told()
    for name in NODES:
        device = slice_of(name, 1)
        device["spec"]["devices"][0] |= {
            "attributes": {"model": {"string": "a100"}},
            "capacity": {"memory": {"value": "31Gi"}},
            "taints": [{"key": "worn", "value": "x", "effect": "NoSchedule"}],
        }
        told.picture.slices.put(device)
    wrong = claim("c")
    wrong["spec"]["devices"]["requests"][0]["exactly"] |= request_changes
    told.picture.claim_objects.put(wrong)
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert note.startswith(f"does not fit on any of the 2 nodes{said}")
    assert "a100" not in note
    assert "worn" not in note


def test_note_says_which_class_does_not_exist() -> None:
    told = Told()
    wrong = claim("c")
    wrong["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpux"
    told.picture.claim_objects.put(wrong)
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert note == (
        "cannot be scheduled: there is no DeviceClass gpux; did you mean gpu? it would fit with class gpu in request g of claim ns/c (on 2 nodes, such as n1)"
    )


def with_groups(told: Told, scene: str) -> None:
    """Nodes with the devices of a scene, the first of which is in use on each by another namespace."""
    told.picture.classes.set("any", told.picture.classes.objects["gpu"]._replace(name="any"))
    type, device = SCENES[scene].asked[0]
    groups = next(part.groups for part in SCENES[scene].parts if part.name == device)
    for name in NODES:
        for each in slices(SCENES[scene].parts, name):
            told.picture.slices.put(each)
        holder = held_by("apollo", f"merger-{name}", name)
        result: Object = {"request": "gpu", "driver": DRIVER, "pool": f"{name}-pool", "device": device}
        if groups:
            result["compatibilityGroups"] = {COUNTERS: list(groups)}
        holder["spec"] = spec_asking(type)
        holder["status"]["allocation"]["devices"]["results"] = [result]
        told.picture.claim_objects.put(holder)


def asking_for(*types: str) -> Object:
    """A claim for a device of each of these types."""
    made = claim("c")
    requests = [spec_asking(each)["devices"]["requests"][0] for each in types]
    for place, request in enumerate(requests):
        request["name"] = f"g{place}"
    return {**made, "spec": {"devices": {"requests": requests}}}


@pytest.mark.parametrize(
    ("scene", "types", "words"),
    [
        (
            "example-3",
            ["vgpu"],
            "request g0 of claim ns/c finds devices with groups {vgpu} on a counter set that is in use with groups {mig}",
        ),
        (
            "none-after-some",
            ["plain"],
            "request g0 of claim ns/c finds devices with no groups on a counter set that is in use with groups {mig}",
        ),
        (
            "the-common-group-shrinks",
            ["bar", "only"],
            "request g0 finds devices with groups {bar, foobar}, request g1 finds devices with groups {foo}",
        ),
    ],
)
def test_note_names_compatibility_groups(scene: str, types: list[str], words: str) -> None:
    """Those that do not go together; neither the counter set nor who uses it."""
    told = Told(gpus=0, gates={"DRADeviceCompatibilityGroups": True, "DRAPartitionableDevices": True})
    with_groups(told, scene)
    told.picture.claim_objects.put(asking_for(*types))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert f"; compatibility groups: {words}; it would fit " in note
    assert not any(secret in note for secret in (*SECRETS, COUNTERS))


def out_of_time(*arguments: object) -> None:
    """Stands for whatever takes too long."""
    raise OutOfTime


def test_note_for_which_there_was_too_little_time_says_who_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"))
    monkeypatch.setattr(alternatives, "untried", out_of_time)
    (note,) = told.after(QUIET_SECONDS)
    assert note == (
        "does not fit on any of the 2 nodes; there was no time to find out more: ask `claimcheck explain pod/p -n ns`"
    )
    monkeypatch.setattr(Trials, "everywhere", out_of_time)
    assert not told.ask(pod("q", "c"))
    assert told.after(QUIET_SECONDS)[-1] == (
        "there was no time to find out whether it fits: ask `claimcheck explain pod/q -n ns`"
    )


def test_note_about_claims_says_what_is_wrong_with_them() -> None:
    told = Told()
    assert not told.ask(pod("p", "c"))
    assert told.after(QUIET_SECONDS) == ["waiting for ResourceClaim 'c', which does not exist"]


def test_pod_that_has_got_a_node_meanwhile_is_not_told_of() -> None:
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c"))
    asked = pod("p", "c")
    assert not told.ask(asked)
    told.picture.pods.put({**asked, "spec": {**asked["spec"], "nodeName": "n1"}})
    assert told.after(QUIET_SECONDS) == []


def test_pod_that_fits_by_now_is_not_told_of() -> None:
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"))
    told.picture.slices.put(slice_of("n1", 1))
    assert told.after(QUIET_SECONDS) == []


def test_pod_is_explained_again_after_a_while_and_if_the_words_differ_there_is_another_event() -> None:
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c", count=3))
    assert not told.ask(pod("p", "c"))
    assert len(told.after(QUIET_SECONDS)) == 1
    told.picture.slices.put(slice_of("n1", 1))
    assert not told.ask(pod("p", "c"))
    assert len(told.after(QUIET_SECONDS)) == 1
    told.picture.claim_objects.remove(claim("c"))
    assert len(told.after(REPEAT_SECONDS)) == 2


def test_pod_that_kube_scheduler_does_not_ask_about_is_told_of_when_its_claims_are_missing() -> None:
    """The plugin's PreEnqueue keeps it back, and says so nowhere."""
    told = Told()
    waits = {**pod("p", "c")}
    waits["spec"]["schedulerName"] = "claimcheck"
    told.picture.pods.put(waits)
    of_others = pod("q", "c")
    of_others["spec"]["schedulerName"] = "default-scheduler"
    told.picture.pods.put(of_others)
    assert told.after(SEARCH_SECONDS) == [], "it may just not have been made yet"
    assert told.after(SEARCH_SECONDS) == ["waiting for ResourceClaim 'c', which does not exist"]
    assert told.after(SEARCH_SECONDS) == ["waiting for ResourceClaim 'c', which does not exist"]


def test_pods_with_many_claims_do_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """8,000 pods of a namespace with 128 claims each: of others 15 refusals a minute were explained, instead of 120."""
    told = Told()
    names = [f"c{number}" for number in range(100)]
    for name in names:
        told.picture.claim_objects.put(claim(name))
    others = pod("q", "missing")
    others["metadata"]["namespace"] = "other"
    for each in (*(pod(f"p{number}", *names) for number in range(200)), others):
        each["spec"]["schedulerName"] = "claimcheck"
        told.picture.pods.put(each)
    looked_up: list[str] = []

    def counted(key: str) -> Claim | None:
        looked_up.append(key)
        return get(key)

    get = told.picture.claims.get
    monkeypatch.setattr(told.picture.claims, "get", counted)
    for _ in range(2):
        looked_up.clear()
        notes = told.after(SEARCH_SECONDS)
        assert len(looked_up) <= MOST_CLAIMS_AT_ONCE + len(names)  # was 20,001 in one go
    assert notes == ["waiting for ResourceClaim 'missing', which does not exist"]


def test_a_search_goes_on_where_it_was() -> None:
    """All pods of a namespace are looked at, however many claims they have; one that ends meanwhile is passed over."""
    told = Told()
    names = [f"c{number}" for number in range(100)]
    for name in names[1:]:
        told.picture.claim_objects.put(claim(name))
    asked = [pod(f"p{number}", *reversed(names)) for number in range(90)]
    for each in asked:
        each["spec"]["schedulerName"] = "claimcheck"
        told.picture.pods.put(each)
    told.after(SEARCH_SECONDS)
    told.after(0.5)
    told.picture.pods.remove(asked[-1])
    for _ in range(20):
        told.after(SEARCH_SECONDS)
    known = {each["regarding"]["name"] for each in told.api.all("events", "/apis/events.k8s.io/v1")}
    assert known == {each["metadata"]["name"] for each in asked[:-1]}


def test_namespace_with_many_refused_pods_does_not_keep_others_from_their_notes() -> None:
    told = Told(gpus=0)
    other = pod("q", "c")
    other["metadata"]["namespace"] = "other"
    for asked in (*(pod(f"p{number}", "c") for number in range(MOST_PODS + 10)), other):
        assert not told.ask(asked)
    told.after(QUIET_SECONDS)
    told.after(0)
    names = [each["regarding"]["name"] for each in told.api.all("events", "/apis/events.k8s.io/v1")]
    assert "q" in names
    assert len(names) == 2


def test_replica_that_does_not_lead_says_nothing() -> None:
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c"))
    assert not told.ask(pod("p", "c"))
    told.leads = False
    assert told.after(QUIET_SECONDS) == []
    told.leads = True
    assert told.after(QUIET_SECONDS) == []


def test_explanation_is_made_of_a_few_nodes_with_each_reason_among_them() -> None:
    nodes = [f"n{number}" for number in range(5_000)]
    failed = dict.fromkeys(nodes[:4990], "too few devices")
    beyond = dict.fromkeys(nodes[4990:], "no devices")
    candidates = CandidateNodes(pod("p", "c"), nodes)
    verdicts = Verdicts((), failed, beyond)
    case = case_of(Refused(read_pod(pod("p", "c")), candidates, verdicts, HelpedBy.DEVICES, 0))
    assert len(case.nodes) == MOST_NODES
    assert case.refused == 5_000
    assert {failed.get(name) or beyond[name] for name in case.nodes} == {"too few devices", "no devices"}


def test_explanation_waits_while_a_filter_has_the_picture() -> None:
    """It asks for the lock whenever it looks at its clock, and gives it back at once."""
    told = Told(gpus=0)
    told.picture.claim_objects.put(claim("c", count=3))
    assert not told.ask(pod("p", "c"))
    case = case_of(
        Refused(
            read_pod(pod("p", "c")),
            CandidateNodes(pod("p", "c"), NODES),
            Verdicts((), dict.fromkeys(NODES, "no"), {}),
            HelpedBy.DEVICES,
            0,
        )
    )
    notes: list[str] = []
    begun, done = Event(), Event()

    def explain() -> None:
        begun.set()
        notes.append(note_on(case, told.picture))
        done.set()

    with told.picture.lock:
        Thread(target=explain, daemon=True).start()
        assert begun.wait(120)
        assert not done.is_set()
    assert done.wait(120)
    assert notes[0].startswith("does not fit on any of the 2 nodes")


def test_note_counts_allocations_that_are_being_written() -> None:
    told = Told()
    told.picture.slices.remove(slice_of("n2", 1))
    for name in ("a", "c"):
        told.picture.claim_objects.put(claim(name))
    told.picture.claims.assume("ns/a", "uid-a", allocation("n1", "gpu-0"))
    assert not told.ask(pod("p", "c"))
    (note,) = told.after(QUIET_SECONDS)
    assert "it would fit if claim ns/a were deleted, which no pod uses (on n1)" in note


def test_time_is_looked_at_for_each_node_that_a_claim_may_be_on() -> None:
    """A driver's node selector may have tens of thousands of requirements: 10,000 on 5,000 nodes were 10 s."""
    requirement = {"key": "a", "operator": "DoesNotExist"}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [requirement] * 10_000}]}
    asked = {"metadata": {"name": "c"}, "status": {"allocation": {"nodeSelector": selector}}}
    nodes = [Node(f"n{place}") for place in range(5000)]
    begin = thread_time()
    with pytest.raises(OutOfTime):
        list(refusal_notes._nodes_of([Claim(asked)], nodes, TimeLimit(0.1, thread_time)))
    assert thread_time() - begin < 0.5
