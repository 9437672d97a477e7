"""`claimcheck migrate-storage`: what is saved is what there is afterwards, and nobody else may write meanwhile."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from cluster.client import Client
from cluster.storage_migration import (
    LEASES,
    Key,
    Refused,
    check_controllers_stopped,
    clear,
    key_of,
    restore,
    same,
    saved,
)
from commandline.main import main
from conversion.documents import convert_document
from resourceapi.deep_json import loads
from resourceapi.kinds import KINDS
from resourceapi.objects import Object

GROUP = "resource.k8s.io"
RESOURCES = {kind.resource: kind.name for kind in KINDS.values()}


class FakeCluster:
    """Serves the group in v1, and requests for reports in v1alpha3, as an API server does: uids are its own, a status is
    written apart."""

    def __init__(self, *objects: Object) -> None:
        self.objects = {key_of(obj): obj for obj in objects}
        self.leases: dict[str, list[str]] = {}
        self.writes: list[str] = []
        self.refuses = ""
        self.refusal = "exceeded quota"
        self.only_discovered: list[str] = []
        self.not_served = ""

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Object]:
        if path.startswith(LEASES):
            times = self.leases.get(path.removeprefix(LEASES), [])
            return (200, {"spec": {"renewTime": times.pop(0)}}) if times else (404, {"message": "not found"})
        if path == f"/apis/{GROUP}":
            return 200, {
                "versions": [{"version": name} for name in ("v1", "v1alpha3", *self.only_discovered)]
            }
        if path.rpartition("/")[2] in self.only_discovered:
            return 404, {"message": "the server could not find the requested resource"}
        version, *parts = map(unquote, path.removeprefix(f"/apis/{GROUP}/").split("/"))
        if not parts:
            served = [kind for kind in KINDS.values() if next(iter(kind.versions)) == version]
            return 200, {
                "resources": [{"name": kind.resource} for kind in served if kind.name != self.not_served]
            }
        namespace = parts[1] if parts[0] == "namespaces" else ""
        resource, *rest = parts[2:] if namespace else parts
        if verb == "GET":
            return self._list(RESOURCES[resource], dict(query or {}))
        self.writes.append(f"{verb} {path}")
        assert isinstance(body, dict)
        if verb == "POST":
            return self._create(copy.deepcopy(body))
        key = Key(RESOURCES[resource], namespace, rest[0])
        obj = self.objects[key]
        if verb == "PUT":
            assert rest[1:] == ["status"]
            obj["status"] = copy.deepcopy(body["status"])
        elif verb == "PATCH":
            obj["metadata"].pop("finalizers")
            del self.objects[key]
        elif obj["metadata"].get("finalizers"):
            obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            del self.objects[key]
        return 200, copy.deepcopy(obj)

    def _list(self, kind: str, query: dict[str, str]) -> tuple[int, Object]:
        found = [obj for key, obj in sorted(self.objects.items()) if key.kind == kind]
        first = int(query.get("continue", "0"))
        following = {"continue": str(first + 1)} if first + 1 < len(found) else {}
        # an API server leaves out what all of a list are
        items = [
            {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
            for obj in found
        ]
        return 200, {"metadata": following, "items": copy.deepcopy(items[first : first + 1])}

    def _create(self, obj: Object) -> tuple[int, Object]:
        assert "resourceVersion" not in obj["metadata"]
        assert "status" not in obj
        if obj["metadata"]["name"] == self.refuses:
            return 403, {"message": self.refusal}
        self.objects[key_of(obj)] = obj
        obj["metadata"] |= {"uid": f"new-{len(self.writes)}", "resourceVersion": "7"}
        return 201, copy.deepcopy(obj)


def a_claim(name: str, **metadata: Any) -> Object:
    device = {"driver": "d.example.com", "pool": "p", "device": "gpu"}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "n", "uid": "old", "resourceVersion": "1", **metadata},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "r", **device}]}},
            "reservedFor": [{"resource": "pods", "name": "pod", "uid": "pod-uid"}],
            "devices": [{**device, "conditions": None}],
        },
    }


def a_class(name: str) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": "old"},
        "spec": {},
    }


def a_request_for_a_report() -> Object:
    return {
        "apiVersion": f"{GROUP}/v1alpha3",
        "kind": "ResourcePoolStatusRequest",
        "metadata": {"name": "report", "uid": "old"},
        "spec": {"driver": "d.example.com"},
    }


def quiet(_: str) -> None:
    """Tells nobody."""


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "pod-uid", "controller": True}
FINALIZER = "resource.kubernetes.io/delete-protection"


def test_everything_comes_back() -> None:
    """Owners, finalizers and status as they were; an object that was being deleted is again."""
    source = FakeCluster(
        a_class("one"),
        a_class("two"),
        a_claim("used", ownerReferences=[OWNER], finalizers=[FINALIZER], labels={"a": "b"}),
        a_claim("going", finalizers=[FINALIZER], deletionTimestamp="2026-01-01T00:00:00Z"),
    )
    objects = list(saved(source))
    target = FakeCluster()
    assert restore(target, objects, quiet) == 4
    claim = target.objects[Key("ResourceClaim", "n", "used")]
    assert claim["status"] == source.objects[Key("ResourceClaim", "n", "used")]["status"]
    assert claim["metadata"]["ownerReferences"] == [OWNER]
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    assert "deletionTimestamp" in target.objects[Key("ResourceClaim", "n", "going")]["metadata"]
    written = [write for write in target.writes if write.startswith("POST")]
    assert "resourceclaims" not in "".join(written[:2])  # classes are there before claims
    target.writes.clear()
    assert restore(target, objects, quiet) == 4
    assert target.writes == []  # nothing to be done


def test_shares_that_a_crd_fills_in_are_none() -> None:
    """An empty share, which the built-in API refuses, is not saved, and makes no difference."""
    behind_crds = a_claim("used")
    behind_crds["status"]["devices"][0]["shareID"] = ""
    (found,) = saved(FakeCluster(behind_crds))
    assert "shareID" not in found["status"]["devices"][0]
    target = FakeCluster(behind_crds)
    restore(target, [found], quiet)
    assert target.writes == []


def test_what_was_left_behind_goes() -> None:
    """Objects that were not saved are deleted, finalizers or not; one with another status is made anew."""
    other = a_claim("used")
    del other["status"]["allocation"]
    target = FakeCluster(a_claim("old", finalizers=[FINALIZER]), other, a_class("gone"))
    told: list[str] = []
    assert restore(target, [a_claim("used")], told.append) == 1
    assert list(target.objects) == [Key("ResourceClaim", "n", "used")]
    assert "allocation" in target.objects[Key("ResourceClaim", "n", "used")]["status"]
    assert sorted(told) == [
        "created ResourceClaim n/used",
        "deleted DeviceClass gone",
        "deleted ResourceClaim n/old",
        "deleted ResourceClaim n/used",
    ]


def a_patch() -> Object:
    return {
        "apiVersion": f"{GROUP}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": "patch", "uid": "old"},
        "spec": {"devices": {}},
    }


@pytest.mark.parametrize("report", [a_request_for_a_report(), a_patch()], ids=lambda obj: obj["kind"])
def test_some_kinds_are_left_alone(report: Object) -> None:
    """Requests for reports were answered when they were made, and the built-in API has no patches: they are not saved,
    restored or deleted, whatever either cluster serves."""
    cluster = FakeCluster(a_class("c"), report)
    objects = list(saved(cluster))
    assert [key_of(obj) for obj in objects] == [Key("DeviceClass", "", "c")]
    assert clear(cluster, objects, quiet) == 1
    assert list(cluster.objects) == [key_of(report)]
    assert restore(cluster, [*objects, report], quiet) == 1
    cluster.not_served = report["kind"]
    assert restore(cluster, [*objects, report], quiet) == 1


def test_kinds_that_are_not_served() -> None:
    """Nothing is restored, and the message says what to do."""
    target = FakeCluster()
    target.not_served = "DeviceClass"
    with pytest.raises(Refused) as raised:
        restore(target, [a_claim("a"), a_class("c")], quiet)
    assert str(raised.value) == (
        "DeviceClass c: the cluster does not serve DeviceClass: apply its CRD, or switch it on in the API server "
        "(--runtime-config, --feature-gates), or remove the objects of this kind from the file; then repeat the command"
    )
    assert target.writes == []


def test_it_goes_on_after_a_refusal() -> None:
    """The first object that is not taken ends it, with its name; what has been made stays for the next time."""
    target = FakeCluster()
    target.refuses = "b"
    objects = [a_claim("a"), a_claim("b"), a_claim("c")]
    with pytest.raises(Refused, match="ResourceClaim n/b: POST: 403 exceeded quota"):
        restore(target, objects, quiet)
    target.refuses = ""
    target.writes.clear()
    assert restore(target, objects, quiet) == 3
    assert len(target.writes) == 4  # two objects, each with its status


def test_nothing_is_restored_while_versions_are_only_discovered() -> None:
    """The garbage collector would see no claims; saving is possible."""
    there = a_claim("there")
    target = FakeCluster(there)
    target.only_discovered = ["v1beta2", "v1beta1"]
    listed = f"lists {GROUP}/v1beta2 and {GROUP}/v1beta1 and answers 404"
    with pytest.raises(Refused, match=listed):
        restore(target, [], quiet)
    assert target.writes == []
    assert [key_of(obj) for obj in saved(target)] == [key_of(there)]


def test_clearing_loses_nothing() -> None:
    """All goes, finalizers or not, or nothing, if something has not been saved as it is; it can be repeated."""
    objects = [a_class("c"), a_claim("a", finalizers=[FINALIZER]), a_claim("b")]
    cluster = FakeCluster(*copy.deepcopy(objects))
    with pytest.raises(
        Refused,
        match="ResourceClaim n/b: the cluster has it with other content than was saved: save everything",
    ):
        clear(cluster, objects[:2], quiet)
    del (changed := copy.deepcopy(objects[2]))["status"]["allocation"]
    with pytest.raises(Refused, match="ResourceClaim n/b: "):
        clear(cluster, [*objects[:2], changed], quiet)
    assert cluster.writes == []
    # as a run leaves it that has been interrupted
    cluster.objects[Key("ResourceClaim", "n", "a")]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    del cluster.objects[Key("DeviceClass", "", "c")]
    told: list[str] = []
    assert clear(cluster, objects, told.append) == 2
    assert cluster.objects == {}
    assert told == ["deleted ResourceClaim n/a", "deleted ResourceClaim n/b"]
    assert clear(cluster, objects, quiet) == 0


@pytest.mark.parametrize(
    ("refusal", "helps"),
    [
        ('claims "b" is forbidden: exceeded quota: q, requested: a=1', True),
        ('admission webhook "w" denied the request: exceeded quota: q, requested: a=1', False),
        ('claims "b" is forbidden: User "u" cannot create', False),
    ],
)
def test_what_helps_against_a_quota(refusal: str, helps: bool) -> None:
    """Without a controller manager only the status of a quota counts, and it can be changed; webhooks see the spec."""
    target = FakeCluster()
    target.refuses, target.refusal = "b", refusal
    with pytest.raises(Refused) as raised:
        restore(target, [a_claim("b")], quiet)
    assert (
        "kubectl patch quota NAME --namespace NAMESPACE --subresource=status" in str(raised.value)
    ) is helps


def test_what_somebody_else_changes_is_told() -> None:
    """In the end all is compared; nobody is told that all is well when it is not."""
    target = FakeCluster()

    def interfere(_: str) -> None:
        target.objects[Key("ResourceClaim", "n", "used")]["status"] = {}

    with pytest.raises(Refused, match="something else writes to it"):
        restore(target, [a_claim("used")], interfere)


def test_a_running_scheduler_is_refused() -> None:
    """One that renews its lease; a lease that nobody renews was left by one that has ended."""
    cluster = FakeCluster()
    waited: list[float] = []
    check_controllers_stopped(cluster, waited.append)
    assert waited == []
    cluster.leases = {"kube-scheduler": ["1", "1"]}
    check_controllers_stopped(cluster, waited.append)
    assert len(waited) == 1
    cluster.leases = {"kube-controller-manager": ["1", "2"]}
    with pytest.raises(Refused, match="kube-controller-manager is running"):
        check_controllers_stopped(cluster, waited.append)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """Of a cluster that nobody reaches."""
    config = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    whole = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {"token": "t"}}]}
    config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", **whole}))
    return str(config)


def test_no_file_is_overwritten(tmp_path: Path, kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was saved before may be all that is left."""
    file = tmp_path / "dra.json"
    file.write_text("{}")
    assert main(["migrate-storage", "save", str(file), "--kubeconfig", kubeconfig]) == 2
    assert "already exists" in capsys.readouterr().err
    assert file.read_text() == "{}"


@pytest.mark.parametrize("action", ["restore", "clear"])
@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "apiVersion: v1\n",
        "[" * 100_000,
        '{"items": [1]}',
        '{"items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}]}',
        '{"items": [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "p"}}]}',
    ],
)
def test_other_files_are_refused(
    action: str, content: str, tmp_path: Path, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that somebody else wrote are called that, and the cluster is not asked."""
    file = tmp_path / "other.json"
    file.write_text(content)
    assert main(["migrate-storage", action, str(file), "--kubeconfig", kubeconfig]) == 2
    assert "other.json: not a file that `save` wrote" in capsys.readouterr().err


def test_what_a_server_says_steers_no_terminal(
    tmp_path: Path, kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages and names from a server are escaped; none is a command for a CI."""
    target = FakeCluster()
    target.refuses, target.refusal = "b", "no\x1b[2J\n::error::no"
    monkeypatch.setattr(Client, "request", lambda _, *args, **more: target.request(*args, **more))
    file = tmp_path / "dra.json"
    file.write_text(json.dumps({"items": [a_claim("a\n::error::a\x1b"), a_claim("b")]}))
    assert main(["migrate-storage", "restore", str(file), "--kubeconfig", kubeconfig]) == 2
    out, err = capsys.readouterr()
    assert "created ResourceClaim n/a" in out
    assert "403 no" in err
    for text in (out, err):
        assert "\x1b" not in text
        assert not any(line.startswith("::") for line in text.splitlines())


def test_deep_parameters_are_compared_and_converted() -> None:
    """Objects are the same or not at any depth of their parameters, and can be had in another version."""

    def claim(innermost: int) -> Object:
        parameters = {"a": loads("[" * 5000 + str(innermost) + "]" * 5000)}
        config = [{"opaque": {"driver": "gpu.example.com", "parameters": parameters}}]
        requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "deep", "namespace": "team"},
            "spec": {"devices": {"requests": requests, "config": config}},
        }

    assert same(claim(1), claim(1))
    assert not same(claim(1), claim(2))
    for obj in (claim(1), {**claim(1), "status": None}):
        assert same(convert_document(convert_document(obj, "v1beta1"), "v1"), claim(1))
