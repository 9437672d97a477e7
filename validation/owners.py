"""Owners that an object lists twice (``metadata.ownerReferences``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi.objects import EMPTY, Object
from validation import statuses
from validation.requests import Answer

REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject"
    " such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def without_repeated_owners(obj: Object, review: Callable[[], Answer]) -> Answer:
    """The answer of a review of the object in which each owner stands once, with a warning about those that did not."""
    warnings = _drop_repeated(obj)
    answer = review()
    if answer.code != statuses.BAD_REQUEST:  # that is told before the owners are looked at
        answer.warnings = warnings + answer.warnings
    return answer


def _drop_repeated(obj: Object) -> list[str]:
    """An owner that is listed twice stays once; returns what the server warns about that."""
    meta = obj.get("metadata", EMPTY)
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[frozenset[tuple[str, Any]], Object] = {}  # by all of its fields, which are scalars
    repeated = []
    for owner in owners:
        if kept.setdefault(frozenset(owner.items()), owner) is not owner:
            repeated.append(owner.get("uid", ""))
    meta["ownerReferences"] = list(kept.values())
    return [REPEATED_OWNERS + ", ".join(repeated)] if repeated else []
