"""Where in an object something stands.

A path is a tuple of segments, from the root: ``str`` for a field, ``int`` for a list index and :class:`Key` for a
map key, e.g. ``("spec", "devices", 0, "attributes", Key("model"))``.  Tuples are cheap to extend and to compare;
text is made only for the few paths that are reported.
"""

from __future__ import annotations


class Key(str):
    """A map key as a path segment; rendered as ``[key]`` where a field is rendered as ``.field``."""

    __slots__ = ()


Segment = str | int
Path = tuple[Segment, ...]

ROOT: Path = ()


def render(path: Path) -> str:
    """The path as kube-apiserver writes it: ``spec.devices[0].attributes[model]``; the root is ``<nil>``."""
    if not path:
        return "<nil>"
    text = ""
    for segment in path:
        if isinstance(segment, int) or type(segment) is Key:
            text += f"[{segment}]"
        elif text:
            text += "." + segment
        else:
            text = segment
    return text
