"""Working off what patches, DeviceTaintRules and DeviceClasses change about devices, without holding up filters for long."""

from __future__ import annotations

from threading import Event

from allocator.time_limit import STEP_SECONDS
from resourceapi.logs import LOGGER
from scheduler.cluster_picture import ClusterPicture

#: How soon after a change the rest of it is looked for.
TICK_SECONDS = 0.05


class Settling:
    """Does in the background what is left of a change that takes longer than the picture may be held; filters come between."""

    def __init__(self, picture: ClusterPicture) -> None:
        self._picture = picture

    def run(self, ending: Event) -> None:
        """Go on until told to end."""
        while not ending.wait(STEP_SECONDS if self.step() else TICK_SECONDS):
            pass

    def step(self) -> bool:
        """Do a part of what is left; whether there was anything."""
        picture = self._picture
        if picture.is_settled:
            return False
        try:
            with picture.lock:
                picture.settle_some()
        except Exception:  # noqa: BLE001 - whatever it is, there is another step
            LOGGER.exception("devices not patched")
        return True
