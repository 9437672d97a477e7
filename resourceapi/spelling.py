"""A canonical spelling of objects in normal form, for comparing and hashing them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from resourceapi.json_text import Raw
from resourceapi.quantity import Quantity


def canonical(value: Any) -> str:
    """Spell a value so that two values have the same spelling only if no rule can tell them apart.

    :param value: any part of an object in normal form (see :mod:`resourceapi.decoding`).
    :returns: JSON; the order of members counts, so it may differ for objects that are equal.
    """
    return _ENCODER.encode(value)


#: A longer spelling is known by its digest.
_LONG, _DIGEST_BYTES = 256, 20


def fingerprint(spelling: str) -> str:
    """The spelling itself if it is short, or else its digest: what is as good for comparing, and takes little memory."""
    if len(spelling) <= _LONG:
        return spelling
    return "#" + blake2b(spelling.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def _as_json(value: object) -> object:
    if isinstance(value, Quantity):
        # `1000m` and `1` are the same number, but not the same thing to all rules.
        return [value.mantissa, value.scale, value.format, value.big, str(value)]
    if isinstance(value, Raw):
        return [value.source]
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no part of an API object: {value!r}")


_ENCODER = json.JSONEncoder(default=_as_json, check_circular=False, separators=(",", ":"))
