"""Server-side apply: what the server makes of a stored object and a configuration, and whose fields are in the way.

Who has set which fields is in ``metadata.managedFields``. The parts that are owned as a whole (atomic lists and maps) follow from
the sets of fields there, except for the few that are merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from cluster.applying import KEY_DEFAULTS, LAST_APPLIED, MERGE_KEYS, Merging, keys_of, merged
from cluster.configuration_as_yaml import ConfigurationRefused
from resourceapi import deep_json
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import json_text, quote
from resourceapi.json_values import JSONError
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object, copied
from resourceapi.releases import split_api_version

KUBECTL = "kubectl"
APPLY = "Apply"
# What the server knows besides of what it merges (x-kubernetes-list-type, x-kubernetes-list-map-keys, x-kubernetes-map-type).
_BY_SERVER = Merging(
    {
        **MERGE_KEYS,
        "bindMountOptions": (),
        "claims": ("name",),
        "ports": ("containerPort", "protocol"),
        "skipNodeOperations": (),
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    },
    frozenset(
        (
            "configMapKeyRef",
            "fieldRef",
            "fileKeyRef",
            "labelSelector",
            "namespaceSelector",
            "nodeSelector",
            "ownerReferences",
            "preference",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "resourceFieldRef",
            "secretKeyRef",
            "selector",
        )
    ),
)
_MISSING: Any = object()

#: The way to a field: ``f:NAME``, ``k:{KEYS}`` or ``v:VALUE``, as in fieldsV1.
Steps = tuple[str, ...]


class FieldConflict(ClaimcheckError):
    """Fields of a configuration belong to other managers, who have set them otherwise; the text is the server's."""


def server_side_applied(stored: Object, configuration: Object, manager: str, *, force: bool) -> Object:
    """The object that the server stores.

    :param stored: the object as the server has it in the configuration's version, with its managedFields.
    :param manager: who applies.
    :param force: take fields away from others.
    :raises ConfigurationRefused: as :func:`check_configuration`.
    :raises FieldConflict: if fields belong to others, and ``force`` is not set.
    """
    configuration = {key: value for key, value in configuration.items() if key != "status"}
    check_configuration(configuration, text(mapping(stored, "metadata"), "namespace"))
    result: Object = merged(stored, configuration, {}, _BY_SERVER)
    managed = [
        each for each in entries(mapping(stored, "metadata"), "managedFields") if isinstance(each, dict)
    ]
    others = [each for each in managed if not _is_own(each, manager)]
    before, after, given = _Fields(stored), _Fields(result), _Fields(configuration)
    conflicts = [
        (each, steps)
        for each in (() if force else others)
        for steps, is_container in _owned(mapping(each, "fieldsV1"))
        if _is_changed(before, after, steps, is_container=is_container)
        or (given.at(steps) is None and before.at(steps) is not _MISSING)
    ]
    if conflicts and manager == KUBECTL and (allowed := _last_applied(stored)) is not None:
        own = _Fields(allowed)
        conflicts = [
            (each, steps) for each, steps in conflicts if not deep_json.equal(own.at(steps), before.at(steps))
        ]
    if conflicts:
        raise FieldConflict(_message(conflicts))
    kept = {steps for each in others for steps, _ in _owned(mapping(each, "fieldsV1"))}
    result = copied(result)
    _Fields(result).remove(
        steps
        for each in managed
        if _is_own(each, manager)
        for steps, is_container in _owned(mapping(each, "fieldsV1"))
        if not is_container or steps[-1].startswith("k:")
        if steps not in kept and given.at(steps) is _MISSING
    )
    return result


def check_configuration(configuration: Object, namespace: str) -> None:
    """Check what the server checks of a configuration before it looks at a stored object.

    :param namespace: that of the object; empty for a kind without.
    :raises ConfigurationRefused: if it names managers of fields, even none, or if lists whose entries are told by keys have two
        with the same.
    """
    managed = mapping(configuration, "metadata").get("managedFields")
    # what is no list of mappings, the server takes for nil
    if isinstance(managed, list) and all(isinstance(each, dict) for each in managed):
        raise ConfigurationRefused("metadata.managedFields must be nil", ("metadata", "managedFields"))
    for repeated in _repeated_entries(configuration, ""):
        group, version = split_api_version(text(configuration, "apiVersion"))
        kind = f"{group}/{version}, Kind={text(configuration, 'kind')}"
        name = f"{namespace}/{name_of(configuration)}"
        raise ConfigurationRefused(f"failed to create typed patch object ({name}; {kind}): {repeated}")


def _repeated_entries(value: Any, path: str) -> Iterator[str]:
    """What the server says of entries with the same keys."""
    for key, member in value.items() if isinstance(value, dict) else ():
        place = f"{path}.{key}"
        if isinstance(member, dict):
            yield from _repeated_entries(member, place)
        elif isinstance(member, list) and key in _BY_SERVER.keys:
            names = _BY_SERVER.keys[key]
            seen = set()
            for entry in member:
                step = _step_to(entry, names)
                if step in seen:
                    yield f"{place}: duplicate entries for key {step}"
                seen.add(step)
                yield from _repeated_entries(entry, place + step)


def _step_to(entry: Any, names: Steps) -> str:
    """The step to an entry of a list, as the server shows it."""
    if not names or not isinstance(entry, dict):
        return f"[={json_text(entry)}]"
    return _shown_step("k:" + json_text({name: entry.get(name, KEY_DEFAULTS.get(name)) for name in names}))


def _is_own(entry: Object, manager: str) -> bool:
    return (
        entry.get("manager") == manager and entry.get("operation") == APPLY and not entry.get("subresource")
    )


def _last_applied(stored: Object) -> Object | None:
    """What kubectl has applied without the server's help, which becomes its own now."""
    written = text(mapping(stored, "metadata", "annotations"), LAST_APPLIED)
    try:
        found = deep_json.loads(written or "null")
    except JSONError:
        return None
    if not isinstance(found, dict) or found.get("apiVersion") != stored.get("apiVersion"):
        return None
    return found


# --- sets of fields


def _owned(fields: Object, above: Steps = ()) -> Iterator[tuple[Steps, bool]]:
    """The fields of a set, and whether what is in them is owned besides: first those on a level, then those below, both in order."""
    for step in sorted(fields):
        inside = fields[step]
        if step != "." and (not inside or (isinstance(inside, dict) and "." in inside)):
            yield (*above, step), bool(inside)
    for step in sorted(fields):
        inside = fields[step]
        if step != "." and inside and isinstance(inside, dict):
            yield from _owned(inside, (*above, step))


class _Fields:
    """Looks up fields of an object; entries of its lists are told by their keys once, not for each field."""

    def __init__(self, value: Object) -> None:
        self._value = value
        self._entries: dict[tuple[int, Steps], dict[str, int]] = {}

    def at(self, steps: Steps) -> Any:
        """The value of a field, or _MISSING."""
        value: Any = self._value
        for step in steps:
            at = self._key(value, step)
            if at is None:
                return _MISSING
            value = value[at]
        return value

    def remove(self, fields: Iterable[Steps]) -> None:
        """Remove fields, those of lists from the end on."""
        found = []
        for steps in fields:
            holder = self.at(steps[:-1])
            at = None if holder is _MISSING else self._key(holder, steps[-1])
            if at is not None:
                found.append((holder, at))
        for holder, at in [each for each in found if isinstance(each[0], dict)]:
            holder.pop(at, None)
        gone: dict[int, tuple[list[Any], set[int]]] = {}
        for holder, at in found:
            if isinstance(holder, list):
                gone.setdefault(id(holder), (holder, set()))[1].add(at)
        for holder, places in gone.values():
            holder[:] = [each for at, each in enumerate(holder) if at not in places]

    def _key(self, container: Any, step: str) -> Any:
        """The key or index of a step in a container; None if it has none."""
        kind, _, name = step.partition(":")
        if kind == "f":
            return name if isinstance(container, dict) and name in container else None
        if not isinstance(container, list):
            return None
        try:
            wanted = json.loads(name)
        except ValueError:
            return None
        if kind == "v":
            return self._places(container, ()).get(json_text(wanted))
        if not isinstance(wanted, dict):
            return None
        names = tuple(sorted(wanted))
        return self._places(container, names).get(json_text([wanted[each] for each in names]))

    def _places(self, container: list[Any], names: Steps) -> dict[str, int]:
        """Where the entries of a list are, by the values of their keys, or as a whole if there are no keys."""
        found = self._entries.get((id(container), names))
        if found is None:
            found = {}
            for at, entry in enumerate(container):
                if not names or isinstance(entry, dict):
                    found.setdefault(keys_of(entry, names), at)
            self._entries[id(container), names] = found
        return found


def _is_changed(stored: _Fields, result: _Fields, steps: Steps, *, is_container: bool) -> bool:
    """Whether a field gets another value; one that goes is given up by its owners, and what is in a container counts by itself."""
    before, after = stored.at(steps), result.at(steps)
    if after is _MISSING or before is _MISSING:
        return after is not _MISSING
    if is_container or (before == {} and isinstance(after, dict)):
        return False
    return not deep_json.equal(before, after)


# --- what the server says


def _message(conflicts: list[tuple[Object, Steps]]) -> str:
    if len(conflicts) == 1:
        [(entry, steps)] = conflicts
        return f"Apply failed with 1 conflict: conflict with {_shown(entry)}: {_path(steps)}"
    by_manager: dict[tuple[str, ...], list[str]] = {}
    shown: dict[tuple[str, ...], str] = {}
    for entry, steps in conflicts:
        identity = tuple(
            text(entry, field) for field in ("manager", "operation", "apiVersion", "subresource")
        )
        by_manager.setdefault(identity, []).append(f"- {_path(steps)}")
        shown[identity] = f"conflicts with {_shown(entry)}:"
    lines = [line for each in sorted(by_manager) for line in (shown[each], *by_manager[each])]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _shown(entry: Object) -> str:
    name = quote(text(entry, "manager"))
    if subresource := text(entry, "subresource"):
        name += f" with subresource {quote(subresource)}"
    return name if entry.get("operation") == APPLY else f"{name} using {text(entry, 'apiVersion')}"


def _path(steps: Steps) -> str:
    return "".join(map(_shown_step, steps))


def _shown_step(step: str) -> str:
    kind, _, name = step.partition(":")
    if kind == "f":
        return f".{name}"
    if kind == "v":
        return f"[={name}]"
    try:
        keys = json.loads(name)
    except ValueError:
        return f"[{name}]"
    return "[" + ",".join(f"{key}={json_text(value)}" for key, value in sorted(keys.items())) + "]"
