"""What patches of devices change for pods, in a cluster in memory: filters, binds, and what is allocated already."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.small_cluster import (
    CLAIMS,
    DRIVER,
    Sidecar,
    claim,
    cluster,
    devices_of,
    node_of,
    pod,
)

GATE = "DRAAdminControlledDeviceAttributes"


def patch(name: str, tier: str = "gold", priority: int = 0, **filter: Any) -> Object:
    """A patch that gives devices a tier."""
    return {
        "apiVersion": f"{OWN_GROUP}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "devices": {
                "filter": filter,
                "priority": priority,
                "attributes": {"example.com/tier": {"string": tier}},
            }
        },
    }


def wanting(name: str, tier: str = "gold") -> Object:
    """A claim for a device of a tier."""
    wanted = claim(name)
    expression = f'device.attributes["example.com"].?tier.orValue("") == "{tier}"'
    exactly = wanted["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": expression}}]
    return wanted


def two_pods(*patches: Object) -> FakeApi:
    return cluster(*patches, wanting("c"), wanting("d"), pod("p", "c"), pod("q", "d"))


def test_pods_get_only_patched_devices() -> None:
    api = two_pods(patch("one", device="gpu-1"))
    sidecar = Sidecar(api)
    assert sidecar.schedule("p") == ""
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n1/gpu-1"]
    assert sidecar.schedule("q") == "does not fit"


@pytest.mark.parametrize("gates", [{GATE: False}, {}], ids=["gate-off", "no-patches"])
def test_without_patches_in_effect_no_device_matches(gates: dict[str, bool]) -> None:
    api = two_pods(*[patch("one")] if gates else [])
    assert Sidecar(api, gates=gates).schedule("p") == "does not fit"


@pytest.mark.parametrize(
    ("changed", "still_matches"),
    [
        (None, False),
        (patch("one", "silver"), False),
        (patch("one", device="gpu-0"), True),
        (patch("one", device="gpu-1"), False),
    ],
    ids=["patch-removed", "other-value", "still-matches", "other-device"],
)
def test_bind_looks_at_its_devices_once_more(changed: Object | None, still_matches: bool) -> None:
    """What has been patched since the filter counts for the very devices of the decision."""
    api = two_pods(patch("one"))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1"]
    if changed is None:
        sidecar.picture.patches.remove(patch("one"))
    else:
        sidecar.picture.patches.put(changed)
    refused = "devices that were found for it are in use by now, or no longer match"
    assert sidecar.bind("p") == ("" if still_matches else refused)
    assert (node_of(api, "p") == "n1") == still_matches


def test_allocation_stays_whatever_is_patched() -> None:
    """And counts as before: the device is not given to another pod."""
    api = two_pods(patch("one", device="gpu-1"))
    sidecar = Sidecar(api)
    assert sidecar.schedule("p") == ""
    before = api.get(f"{CLAIMS}/c")
    sidecar.picture.patches.put(patch("one", "lead", device="gpu-1"))
    sidecar.picture.patches.put(patch("two", device="gpu-1", priority=1))
    assert sidecar.schedule("q") == "does not fit"
    assert api.get(f"{CLAIMS}/c") == before


def test_new_process_sees_the_same() -> None:
    """Whatever comes first of slices, classes and patches."""
    api = two_pods(patch("one", device="gpu-1", deviceClassName="gpu", driver=DRIVER, pool="n1"))
    sidecar = Sidecar(api)
    sidecar.picture.slices.lose()
    sidecar.picture.classes.lose()
    assert sidecar.schedule("p") == "does not fit"
    sidecar.sync()
    assert sidecar.schedule("p") == ""


def test_kind_that_is_not_served_any_more() -> None:
    """Its CRD has been deleted: nothing is patched, and all else goes on."""
    api = two_pods(patch("one"))
    sidecar = Sidecar(api)
    sidecar.picture.patches.lose()
    assert sidecar.picture.is_served
    assert sidecar.schedule("p") == "does not fit"


@pytest.mark.parametrize("group", [GROUP, OWN_GROUP])
def test_group_that_is_followed(group: str) -> None:
    picture = ClusterPicture(Profile("kep", {}), patch_group=group)
    paths = {source.path for source in picture.sources() if source.collection is picture.patches}
    assert paths == {f"/apis/{group}/v1alpha3/resourceslicepatches"}


def test_nothing_is_followed_with_the_gate_off() -> None:
    """No right is needed then, either."""
    picture = ClusterPicture(Profile("1.37", {GATE: False}))
    assert all(source.collection is not picture.patches for source in picture.sources())
