"""Addresses as they may be shown: without the name and the password that can stand in them."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def without_credentials(address: str) -> str:
    """An address without what stands before its last ``@``, also where it is malformed or has no scheme."""
    scheme = _SCHEME.match(address)
    start = scheme.end() if scheme else 0
    return address[:start] + address[start:].rpartition("@")[2]
