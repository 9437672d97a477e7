"""Whether a pod has to wait for binding conditions of its devices (KEP-5007), and whether that is of any use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from allocator.binding_conditions import is_overdue, open_conditions
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.cluster_picture import ClusterPicture


class Delay(NamedTuple):
    """Why a pod is not bound yet, although its claims have devices.

    :param is_in_vain: whether it is to wait no longer.
    """

    reason: str
    is_in_vain: bool


class BindingConditions:
    """Judges claims as the picture has them; may be used by many threads."""

    def __init__(
        self,
        picture: ClusterPicture,
        *,
        timeout_seconds: float,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Make it ready.

        :param timeout_seconds: how long conditions may keep a pod waiting.
        :param now: the time by which `allocationTimestamp` is judged.
        """
        self._picture = picture
        self._timeout_seconds = timeout_seconds
        self._now = now

    def delay(self, keys: Iterable[str]) -> Delay | None:
        """Why a pod with these claims has to wait; None if all conditions are met.

        :param keys: ``namespace/name``.
        """
        claims = self._known(keys)
        found = open_conditions(claims, self._picture.features)
        if not found:
            return None
        first, waiting = found[0], {each.claim for each in found}
        if first.failed:
            return Delay(f"a binding condition says that it has failed: {first.text}", is_in_vain=True)
        if any(
            each.key in waiting and is_overdue(each, self._timeout_seconds, self._now()) for each in claims
        ):
            seconds = f"{self._timeout_seconds:g}"
            return Delay(f"binding conditions are not met after {seconds} s: {first.text}", is_in_vain=True)
        return Delay(f"waiting for binding conditions: {first.text}", is_in_vain=False)

    def held(self, pod: Pod) -> list[Claim]:
        """The claims that have devices and are reserved for a pod: what it would wait for with them."""
        known = self._known(pod.claim_keys)
        return [each for each in known if each.is_allocated and each.is_reserved_for(pod.uid)]

    def _known(self, keys: Iterable[str]) -> list[Claim]:
        """Those of the claims that exist, each once."""
        wanted = dict.fromkeys(keys)
        with self._picture.lock:
            return [claim for key in wanted if (claim := self._picture.claims.get(key)) is not None]
