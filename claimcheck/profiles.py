"""The release and feature gates that a question is about."""

from __future__ import annotations

from collections.abc import Mapping

from resourceapi.errors import Unanswerable
from resourceapi.gates import GateError
from resourceapi.measured import NEWEST
from resourceapi.releases import Profile, UnknownRelease


def profile_of(kube_version: str | None, feature_gates: Mapping[str, bool] | None) -> Profile:
    """The server of a release.

    :param kube_version: such as ``1.37``, the newest one if it is None.
    :raises Unanswerable: for a release that is not known, or gates that it does not have.
    """
    try:
        return Profile(kube_version or f"1.{NEWEST}", feature_gates)
    except UnknownRelease as error:
        raise Unanswerable(f"kube_version: {error}") from None
    except GateError as error:
        raise Unanswerable(f"feature_gates: {error}") from None
