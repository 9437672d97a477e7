"""How hints are written down: a condition, and what to do where it holds; and the problem that they look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from documents import emitting
from resourceapi.field_errors import Key, Path, Segment
from resourceapi.manifests import MISSING, text, value_at
from resourceapi.phrases import shortened
from resourceapi.request_body import schemas_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from resourceapi.releases import Profile
    from resourceapi.schema import Schema


class Problem:
    """One problem that the server has with one object.

    :param rule: the reason of a cause (:mod:`resourceapi.field_errors`), or a name from :mod:`validation.requests`
    :param message: the server's message
    :param path: the field, in the version that the user wrote
    :param object: the whole object, as parsed
    :param namespace: the object's namespace
    :param namespace_labels: the labels of that namespace
    :param text_of: returns the source text of the value at a path
    :param tag_of: returns the YAML tag of the value at a path
    :param migrates: says whether `claimcheck migrate` rewrites the object
    """

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


MAX_LINES = 12
MAX_WIDTH = 120


def yaml(value: Any) -> str:
    """Plain data as block-style YAML, cut after a few lines."""
    lines = [shortened(line, MAX_WIDTH) for line in emitting.block(value)]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], "…"]
    return "\n".join(lines)


def scalar(value: Any) -> str:
    """A value on one line, quoted where YAML would read something else."""
    flows = isinstance(value, (dict, list))
    return shortened(emitting.flow(value) if flows else emitting.scalar(value, in_flow=False), MAX_WIDTH)


Change = tuple[Path, Any]


class Advice:
    """What to do about a problem.

    :param text: what to do, as people read it; "" for no advice
    :param changes: the same as changes of the object, made one after the other: a path and its new value, or MISSING to
        remove it. There are none where the text leaves a choice, or asks for something that only people know.
    """

    def __init__(self, text: str, *changes: Change) -> None:
        self.text = text
        self.changes = changes


NO_ADVICE = Advice("")


class Hint:
    """A condition, and what to do where it holds.

    :param name: a unique name, by which tests refer to it
    :param rules: the rules (:attr:`Problem.rule`) that it is for
    :param advice: the text, with ``{key}``, ``{value}``, ``{kind}``, ``{version}`` and ``{namespace}`` filled in, or a
        function that returns it or an :class:`Advice`, or "" where the hint does not apply
    :param place: a regular expression to search for in :attr:`Problem.place`
    :param message: a substring that the server's message must contain
    """

    def __init__(
        self,
        name: str,
        rules: tuple[str, ...],
        advice: str | Callable[[Problem], str | Advice],
        *,
        place: str = "",
        message: str = "",
    ) -> None:
        self.name = name
        self.rules = rules
        self._advice = advice
        self.place = place
        self.message = message

    def is_for(self, rule: str, place: str) -> bool:
        """Whether it may apply to problems with this rule at this place."""
        import re

        return rule in self.rules and re.search(self.place, place) is not None

    def advice(self, problem: Problem) -> Advice:
        """What to do about a problem that it may apply to; without a text if it does not apply."""
        if self.message not in problem.message:
            return NO_ADVICE
        if not isinstance(self._advice, str):
            found = self._advice(problem)
            return Advice(found) if isinstance(found, str) else found
        value = problem.value
        return Advice(
            self._advice.format(
                key=problem.key,
                value="" if value is MISSING else scalar(value),
                kind=problem.kind,
                version=problem.version,
                namespace=problem.namespace,
            )
        )


def renamed(problem: Problem, name: str) -> tuple[Change, Change]:
    """The changes that give the key of a problem another name."""
    return moved(problem, (*problem.path[:-1], name))


def moved(problem: Problem, to: Path) -> tuple[Change, Change]:
    """The changes that move the value of a problem to another path."""
    return (problem.path, MISSING), (to, problem.value)


def changed(value: Any, changes: Iterable[Change]) -> Any:
    """A copy of a value in which the changes are made; mappings on the way to a new value are added."""
    for path, new in changes:
        value = _changed_at(value, path, new)
    return value


def _changed_at(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(first, int):
        copy = list(value)
        if rest or new is not MISSING:
            copy[first] = _changed_at(copy[first], rest, new)
        else:
            del copy[first]
        return copy
    mapping = dict(value) if isinstance(value, dict) else {}
    if rest or new is not MISSING:
        mapping[first] = _changed_at(mapping.get(first), rest, new)
    else:
        mapping.pop(first, None)
    return mapping
