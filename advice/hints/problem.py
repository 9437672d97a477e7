"""One problem that the server has with an object, and the object as the user wrote it: what hints look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resourceapi.field_errors import Key, Path, Segment
from resourceapi.manifests import text, value_at
from resourceapi.request_body import schemas_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from resourceapi.releases import Profile
    from resourceapi.schema import Schema


class Problem:
    """One problem that the server has with one object.

    :param rule: the reason of a cause (:mod:`resourceapi.field_errors`), or a name from :mod:`validation.rule_names`
    :param message: the server's message
    :param path: the field, in the version that the user wrote
    :param object: the whole object, as parsed
    :param namespace: the object's namespace
    :param namespace_labels: the labels of that namespace
    :param text_of: returns the source text of the value at a path
    :param tag_of: returns the YAML tag of the value at a path
    :param migrates: says whether `claimcheck migrate` rewrites the object
    """

    __slots__ = (
        "_migrates",
        "_place",
        "_tag_of",
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
        tag_of: Callable[[Path], str] | None = None,
        migrates: Callable[[], bool] | None = None,
    ) -> None:
        self._migrates = migrates
        self.rule = rule
        self.message = message
        self.path = path
        self.object = object
        self.profile = profile
        self.namespace = namespace
        self.namespace_labels = namespace_labels or {}
        self._place: str | None = None
        self._text_of = text_of
        self._tag_of = tag_of

    @property
    def api_version(self) -> str:
        """The object's apiVersion, "" if it has none."""
        return text(self.object, "apiVersion")

    @property
    def version(self) -> str:
        """The apiVersion without its group."""
        return self.api_version.rpartition("/")[2]

    @property
    def kind(self) -> str:
        """The object's kind, "" if it has none."""
        return text(self.object, "kind")

    @property
    def place(self) -> str:
        """The path without indices and map keys; within a template as if the claim or pod were on its own.

        Examples: ``spec.devices.requests[].name``, ``spec.devices[].attributes{}.string``.  The conditions of hints are
        patterns for this.
        """
        if self._place is None:
            self._place = _flattened(self.path)
        return self._place

    @property
    def key(self) -> str:
        """The last segment of the path."""
        return str(self.path[-1]) if self.path else ""

    @property
    def migrates(self) -> bool:
        """Whether `claimcheck migrate` rewrites the object, for all that is known."""
        return self._migrates is None or self._migrates()

    @property
    def value(self) -> Any:
        """The value at the path, or MISSING."""
        return value_at(self.object, self.path)

    @property
    def written(self) -> str:
        """The value as it is written in the file, such as `no` for false; "" if there is no file or no value."""
        return self._text_of(self.path) if self._text_of is not None else ""

    @property
    def tag(self) -> str:
        """The value's YAML tag, such as `!name`; "" if it has none, or there is no file."""
        return self._tag_of(self.path) if self._tag_of is not None else ""

    @property
    def parent(self) -> Any:
        """The value that contains it, or MISSING."""
        return value_at(self.object, self.path[:-1])

    @property
    def schema(self) -> Schema | None:
        """The structs of the version that the user wrote, if the profile has that version."""
        group, _, version = self.api_version.rpartition("/")
        return schemas_of(self.profile)(group, version, self.kind)


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
