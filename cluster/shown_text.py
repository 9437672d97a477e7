"""Texts for users of pods, in events and in what kube-scheduler is answered, which it writes into the pods' status.

They quote what drivers and tenants have written: messages of conditions, errors of expressions, values in them.
"""

from __future__ import annotations

from resourceapi.printable import is_printable

#: What API servers accept at most as the note of an event.
MOST_BYTES = 1024


def shown(text: str) -> str:
    """A text that can be shown anywhere, no longer than the note of an event may be; one that was longer ends in an ellipsis."""
    escaped = "".join(each if is_printable(each) else _escaped(each) for each in text[:MOST_BYTES])
    encoded = escaped.encode()
    if len(encoded) <= MOST_BYTES and len(text) <= MOST_BYTES:
        return escaped
    return encoded[: MOST_BYTES - len("…".encode())].decode(errors="ignore") + "…"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
