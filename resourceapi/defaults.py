"""What the server fills in where an object leaves something out.

Defaults are applied to the hub.  What they are stands at the fields, and what fills them in beside them
(see :mod:`resourceapi.model`).
"""

from __future__ import annotations

from resourceapi.kinds import kind_in
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object


def apply_defaults(kind: str, version: str, obj: Object, now: str) -> None:
    """Fill in the defaults of an object of the hub.

    :param kind: a kind of the group; others have no defaults here.
    :param version: the version that the object came in.
    :param now: the time, in RFC 3339.
    """
    row = kind_in(GROUP, kind, version)
    if row is not None and row.default is not None:
        row.default(obj, version, now)
