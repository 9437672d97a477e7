"""What must hold for ``metadata``, the same for every kind."""

from __future__ import annotations

from typing import Any

from resourceapi import names, times
from resourceapi.field_errors import FORBIDDEN, REQUIRED, Path, Verbatim, too_long
from resourceapi.go_text import quote
from resourceapi.model.meta import ObjectMeta
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks

METADATA: Path = ("metadata",)
_ONLY_NAMES = frozenset(("name", "namespace"))
_MOST_CONTROLLERS = 100
OWNERS = ObjectMeta["ownerReferences"].type
OPERATIONS = ("Apply", "Update")
SUBRESOURCE_BYTES = 256
#: The release that tells an owner by its place in the list.
OWNERS_NUMBERED_SINCE = 37


def check_metadata(
    obj: Object, checks: Checks, *, namespaced: bool, name_origin: str = "", is_label: bool = False
) -> None:
    """Metadata of an object, as a request brings it; its name is a DNS subdomain, or even a DNS label.

    ``name_origin``: the origin of the declarative rule that reports a bad name as well, if there is one.
    """
    meta = obj.get("metadata", EMPTY)
    name, prefix = meta.get("name", ""), meta.get("generateName", "")
    if prefix and not name_origin:
        problems = names.generate_name(prefix, is_label=is_label)
        checks.problems(problems, (*METADATA, "generateName"))
    if name:
        wording = names.DECLARATIVE if name_origin else names.HANDWRITTEN
        problems = names.short_name(name, wording) if is_label else names.long_name(name, wording)
        checks.problems(problems, (*METADATA, "name"), origin=name_origin, covered=bool(name_origin))
    _check_all_but_names(meta, checks, namespaced)
    _check_standard_finalizers(meta, checks)


def check_common_metadata(obj: Object, checks: Checks, *, namespaced: bool) -> None:
    """What generic code checks of every kind's metadata: a name that can stand in a URL, and the rest."""
    meta = obj.get("metadata", EMPTY)
    check_names_in_url(meta, checks)
    _check_all_but_names(meta, checks, namespaced)


def check_names_in_url(meta: Object, checks: Checks) -> None:
    """The name can stand in a URL, and so can one that is generated."""
    for name in ("generateName", "name"):
        if meta.get(name):
            checks.problems(names.path_segment(meta[name], prefix=name == "generateName"), (*METADATA, name))


def _check_all_but_names(meta: Object, checks: Checks, namespaced: bool) -> None:
    if not meta.get("name"):
        checks.report(REQUIRED, (*METADATA, "name"), "", "name or generateName is required")
    if namespaced:  # that of any other kind has been dropped
        namespace, path = meta.get("namespace", ""), (*METADATA, "namespace")
        if namespace:
            checks.problems(names.namespace_name(namespace), path)
        else:
            checks.report(REQUIRED, path)
    if meta.keys() <= _ONLY_NAMES:  # as most people write it
        return
    _check_generation(meta, checks)
    _check_labels_and_annotations(meta, checks)
    _check_owners(meta.get("ownerReferences") or [], (*METADATA, "ownerReferences"), checks)
    if finalizers := meta.get("finalizers"):
        _check_finalizers(finalizers, checks)
    _check_managed_fields(meta.get("managedFields") or [], checks)


def _check_standard_finalizers(meta: Object, checks: Checks) -> None:
    """A finalizer without a domain is one of Kubernetes' own."""
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        checks.problems(names.unqualified_finalizer(finalizer), (*METADATA, "finalizers", index))


def check_metadata_update(obj: Object, old: Object, checks: Checks) -> None:
    """Metadata in a request to update an object of a DRA kind."""
    check_common_metadata_update(obj, old, checks)
    _check_standard_finalizers(obj.get("metadata", EMPTY), checks)


def check_common_metadata_update(obj: Object, old: Object, checks: Checks) -> None:
    """Metadata in a request to update any object: what the server has set stays as it is.

    That name, namespace and resourceVersion are the stored object's has been seen to before, and the uid unless it was patched.
    """
    meta, before = obj.get("metadata", EMPTY), old.get("metadata", EMPTY)
    if "deletionTimestamp" in before:
        added = sorted(set(meta.get("finalizers") or ()) - set(before.get("finalizers") or ()))
        if added:
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers []string{"
            checks.report(
                FORBIDDEN, (*METADATA, "finalizers"), "", detail + ", ".join(map(quote, added)) + "}"
            )
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(name) != before.get(name):
            shown = _shown(meta.get(name), name, checks)
            checks.invalid((*METADATA, name), shown, "field is immutable")
    _check_labels_and_annotations(meta, checks)
    _check_owners(meta.get("ownerReferences") or [], (*METADATA, "ownerReferences"), checks)
    _check_managed_fields(meta.get("managedFields") or [], checks)


def _shown(value: Any, name: str, checks: Checks) -> Any:
    """A value as errors print it: times in seconds, and the zero time like none."""
    if value is None or not name.endswith("Timestamp"):
        return value
    if checks.minor < 34:
        return Verbatim(times.in_words(value))
    return None if value == times.ZERO else times.in_seconds(value)


def check_template_metadata(meta: Object, path: Path, checks: Checks) -> None:
    """Metadata for objects made from a template: labels and annotations, nothing else."""
    check_annotations(meta.get("annotations") or {}, (*path, "annotations"), checks)
    check_labels(meta.get("labels") or {}, (*path, "labels"), checks)
    for field in ObjectMeta.fields:
        if field.name not in ("labels", "annotations") and field.name in meta:
            checks.report(FORBIDDEN, (*path, field.go[:1].lower() + field.go[1:]), "", "cannot be set")


def _check_generation(meta: Object, checks: Checks) -> None:
    if meta.get("generation", 0) < 0:
        checks.invalid((*METADATA, "generation"), meta["generation"], formats.NOT_NEGATIVE)


def _check_labels_and_annotations(meta: Object, checks: Checks) -> None:
    check_labels(meta.get("labels") or {}, (*METADATA, "labels"), checks)
    check_annotations(meta.get("annotations") or {}, (*METADATA, "annotations"), checks)


def check_labels(labels: dict[str, str], path: Path, checks: Checks) -> None:
    """Keys and values of labels have their formats."""
    for key, value in labels.items():
        checks.problems(names.label_key(key), path)
        checks.problems(names.label_value(value), path)


def check_annotations(annotations: dict[str, str], path: Path, checks: Checks) -> None:
    """Keys of annotations have their format; all together they are not too large."""
    for key in annotations:
        checks.problems(names.annotation_key(key), path)
    checks.problems(names.annotations_size(annotations), path)


def _check_owners(owners: list[Object], path: Path, checks: Checks) -> None:
    controller, shown, more = "", None, 0
    for index, owner in enumerate(owners):
        if checks.minor < OWNERS_NUMBERED_SINCE:
            _check_former_owner(owner, path, checks)
        else:
            _check_owner(owner, (*path, index), checks)
        if not owner.get("controller"):
            continue
        name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            more += 1
            if more > _MOST_CONTROLLERS:  # each message shows all owners
                continue
            detail = 'Only one reference can have Controller set to true. Found "true" in references for '
            shown = shown or checks.internal(OWNERS, owners)
            checks.invalid(path, shown, f"{detail}{controller} and {name}")
        else:
            controller = name


def _check_owner(owner: Object, path: Path, checks: Checks) -> None:
    api_version = owner.get("apiVersion", "")
    if not api_version:
        checks.report(REQUIRED, (*path, "apiVersion"), "", "must not be empty")
    else:
        checks.problems(names.owner_api_version(api_version), (*path, "apiVersion"))
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            checks.report(REQUIRED, (*path, name), "", "must not be empty")
    _check_owner_kind(owner, path, checks)


def _check_former_owner(owner: Object, path: Path, checks: Checks) -> None:
    """As releases up to 1.36 word it, which do not tell the owner's place in the list."""
    api_version = owner.get("apiVersion", "")
    if not api_version or names.owner_api_version(api_version):
        checks.invalid((*path, "apiVersion"), api_version, "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            who = f"{name} " if checks.minor < 34 else ""
            checks.invalid((*path, name), "", f"{who}must not be empty")
    _check_owner_kind(owner, path, checks)


def _check_owner_kind(owner: Object, path: Path, checks: Checks) -> None:
    if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
        shown = checks.internal("OwnerReference", owner)
        checks.invalid(path, shown, "/v1, Kind=Event is disallowed from being an owner")


def _check_finalizers(finalizers: list[str], checks: Checks) -> None:
    path = (*METADATA, "finalizers")
    for finalizer in finalizers:
        checks.problems(names.finalizer(finalizer), path)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        shown = checks.internal(ObjectMeta["finalizers"].type, finalizers)
        checks.invalid(path, shown, "finalizer orphan and foregroundDeletion cannot be both set")


def _check_managed_fields(managed: list[Object], checks: Checks) -> None:
    """Who has set which fields; the server starts afresh, without an error, if there is an entry that it cannot read."""
    if not all(map(_is_readable, managed)):
        return
    for index, entry in enumerate(managed):
        if not entry["fieldsV1"].value:
            continue  # about no field, so that the server drops it
        at = (*METADATA, "managedFields", index)
        checks.problems(names.field_manager(entry.get("manager", "")), (*at, "manager"))
        if len(entry.get("subresource", "").encode()) > SUBRESOURCE_BYTES:
            checks.errors.append(too_long((*at, "subresource"), SUBRESOURCE_BYTES))


def _is_readable(entry: Object) -> bool:
    return (
        entry.get("operation") in OPERATIONS
        and entry.get("fieldsType") == "FieldsV1"
        and "fieldsV1" in entry
        and isinstance(entry["fieldsV1"].value, dict)
    )
