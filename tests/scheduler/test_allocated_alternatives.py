"""What devices were given for."""

from __future__ import annotations

from resourceapi.objects import Object
from resourceapi.records.claims import MIN_BYTES, Allocation, Claim, DevicesReader, PackedDevices
from scheduler.metrics import ChosenAlternative, chosen_alternatives


def test_place_of_the_alternative() -> None:
    """A device without a known request has no class."""
    first = [{"name": name, "deviceClassName": f"class-{name}"} for name in ("h", "a")]
    requests = [{"name": "g", "firstAvailable": first}, {"name": "n", "exactly": {"deviceClassName": "nic"}}]
    results = [{"request": name, "driver": "d"} for name in ("g/a", "n", "g/h", "x")]
    claim = Claim({"spec": {"devices": {"requests": requests}}})
    found = chosen_alternatives(claim, Allocation({"devices": {"results": results}}))
    assert list(found) == [
        ChosenAlternative("d", "class-a", "1"),
        ChosenAlternative("d", "nic", ""),
        ChosenAlternative("d", "class-h", "0"),
        ChosenAlternative("d", "", ""),
    ]


def test_claim_that_is_kept_as_text() -> None:
    """The sidecar keeps what large claims ask for as text."""
    requests = [{"name": "n" * MIN_BYTES, "exactly": {"deviceClassName": "nic"}}]
    devices = {"requests": requests}
    claim: Object = {"spec": {"devices": devices}}
    packed = DevicesReader(lambda value: value).packed(claim, devices)
    assert isinstance(packed["spec"]["devices"], PackedDevices)
    allocation = Allocation({"devices": {"results": [{"request": "n" * MIN_BYTES, "driver": "d"}]}})
    assert list(chosen_alternatives(Claim(packed), allocation)) == [ChosenAlternative("d", "nic", "")]
