"""What devices were given for."""

from __future__ import annotations

from scheduler.allocated_alternatives import ChosenAlternative, chosen_alternatives


def test_place_of_the_alternative() -> None:
    """A device without a known request has no class."""
    first = [{"name": name, "deviceClassName": f"class-{name}"} for name in ("h", "a")]
    requests = [{"name": "g", "firstAvailable": first}, {"name": "n", "exactly": {"deviceClassName": "nic"}}]
    results = [{"request": name, "driver": "d"} for name in ("g/a", "n", "g/h", "x")]
    found = chosen_alternatives(
        {"spec": {"devices": {"requests": requests}}}, {"devices": {"results": results}}
    )
    assert list(found) == [
        ChosenAlternative("d", "class-a", "1"),
        ChosenAlternative("d", "nic", ""),
        ChosenAlternative("d", "class-h", "0"),
        ChosenAlternative("d", "", ""),
    ]
