"""What a hint can look at: one finding, and the object that it is about as the user wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resourceapi.field_path import Key, Path, Segment
from resourceapi.manifests import value_at
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable

    from resourceapi.releases import Profile
    from resourceapi.schema import Schema


class Problem:
    """One finding about one object.

    ``rule``: the cause's reason, or what was wrong with the document's form (:data:`advice.hints.RULES`).
    ``path``: the field, in the version that the user wrote.  ``message``: the server's words about it.
    ``namespace_labels``: those of the object's namespace.  ``text_of`` gives the source text of the value at a path.
    """

    __slots__ = (
        "_place",
        "_text_of",
        "message",
        "namespace",
        "namespace_labels",
        "object",
        "path",
        "profile",
        "rule",
    )

    def __init__(
        self,
        rule: str,
        message: str,
        path: Path,
        object: Any,
        profile: Profile,
        *,
        namespace: str = "",
        namespace_labels: dict[str, str] | None = None,
        text_of: Callable[[Path], str] | None = None,
    ) -> None:
        self.rule = rule
        self.message = message
        self.path = path
        self.object = object
        self.profile = profile
        self.namespace = namespace
        self.namespace_labels = namespace_labels or {}
        self._place: str | None = None
        self._text_of = text_of

    @property
    def api_version(self) -> str:
        value = self.object.get("apiVersion", "") if isinstance(self.object, dict) else ""
        return value if isinstance(value, str) else ""

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def kind(self) -> str:
        value = self.object.get("kind", "") if isinstance(self.object, dict) else ""
        return value if isinstance(value, str) else ""

    @property
    def place(self) -> str:
        """The path without indices and map keys, as if a template's claim or pod stood alone.

        Examples: ``spec.devices.requests[].name``, ``spec.devices[].attributes{}.string``.

        The hints' conditions are patterns over this.
        """
        if self._place is None:
            self._place = _flattened(self.path)
        return self._place

    @property
    def key(self) -> str:
        """The last segment of the path."""
        return str(self.path[-1]) if self.path else ""

    @property
    def value(self) -> Any:
        """What stands at the path, or MISSING."""
        return value_at(self.object, self.path)

    @property
    def written(self) -> str:
        """How the value is written in the file: `no` for false, say; "" if there is no file or no value."""
        return self._text_of(self.path) if self._text_of is not None else ""

    @property
    def parent(self) -> Any:
        """What stands one level higher, or MISSING."""
        return value_at(self.object, self.path[:-1])

    @property
    def schema(self) -> Schema | None:
        """The structs of the version that the user wrote, if the profile has that version."""
        group, _, version = self.api_version.rpartition("/")
        if group == GROUP:
            return self.profile.schemas.get(version)
        return workloads.schema_of(group, version, self.kind)


# Where templates and workloads hold the spec of a claim or pod.
_NESTED_SPECS = ("spec.jobTemplate.spec.template.spec", "spec.template.spec", "spec.spec", "template.spec")


def _flattened(path: Path) -> str:
    text = "".join(map(_flat_segment, path)).removeprefix(".")
    for nested in _NESTED_SPECS:
        if text.startswith(nested):
            return "spec" + text[len(nested) :]
    return text


def _flat_segment(segment: Segment) -> str:
    if isinstance(segment, int):
        return "[]"
    return "{}" if type(segment) is Key else f".{segment}"
