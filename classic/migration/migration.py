"""Migrates all objects of the input, which may refer to each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.claims import migrate_claim, migrate_resource_class, migrate_slice
from classic.migration.context import Context
from classic.migration.objects import (
    CLAIM_PARAMETERS,
    CLASS_PARAMETERS,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_CLASS,
    RESOURCE_SLICE,
    SCHEDULING_CONTEXTS,
    Objects,
    is_classic,
    is_misplaced_workload,
    is_of_1_31,
    migrated_metadata,
    workload_version,
)
from classic.migration.remarks import CannotMigrate, Remark, Remarks
from conversion.documents import ConversionError, convert_document
from documents.comments import comments_of
from documents.rewriting import rewrite
from resourceapi.kinds import CLAIM, DEVICE_CLASS
from resourceapi.manifests import CONTAINERS, entries, group_of, mapping, text
from resourceapi.measured import NEWEST
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile
from validation.requests import WARN, create_request
from validation.server import Server

if TYPE_CHECKING:
    from classic.migration.mapping import Mappings
    from documents import Document
    from documents.source import Source
    from resourceapi.field_errors import Path

    Migrate = Callable[[dict[str, Any], Context], dict[str, Any]]


# What only 1.31 had in v1alpha3, for drivers with a controller of their own, and the rest of that version
# → v1.


def migrate_v1alpha3(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """An object of v1alpha3 as 1.31 had it in v1.

    :raises CannotMigrate: if there is no equivalent.
    """
    kind = text(value, "kind")
    value = migrated_metadata(value, context.remarks)
    if kind == CLAIM.name:
        if value.get("status"):
            context.remarks.warn(("status",), "not carried over: the devices are allocated anew")
        value = {name: each for name, each in value.items() if name != "status"}
        value = _without_controller(value, ("spec",), context)
    elif kind == RESOURCE_CLAIM_TEMPLATE:
        value = _without_controller(value, ("spec", "spec"), context)
    elif kind == DEVICE_CLASS.name:
        if mapping(value, "spec").get("suitableNodes") is not None:
            context.remarks.warn(
                ("spec", "suitableNodes"),
                "a class does not choose nodes: a node has what its ResourceSlices say; to keep pods off other nodes, use "
                "their nodeSelector or affinity",
            )
        value = _without(value, ("spec",), "suitableNodes")
    elif kind == RESOURCE_SLICE:
        value = _with_capacities(value)
    try:
        # v1alpha3 of 1.31 differs from v1beta1 only in what has been taken out here
        return convert_document({**value, "apiVersion": f"{GROUP}/v1beta1"}, "v1")
    except ConversionError as error:
        raise CannotMigrate(error.path, error.text) from None


def _without_controller(value: dict[str, Any], path: tuple[str, ...], context: Context) -> dict[str, Any]:
    controller = mapping(value, *path).get("controller")
    if controller is not None:
        context.remarks.warn(
            (*path, "controller"),
            f"kube-scheduler allocates all devices now: {controller} has to publish them in ResourceSlices",
        )
    return _without(value, path, "controller")


def _without(value: dict[str, Any], path: tuple[str, ...], name: str) -> dict[str, Any]:
    """The object without a member of the mapping at a path."""
    if not path:
        return {key: each for key, each in value.items() if key != name}
    inner = value.get(path[0])
    return {**value, path[0]: _without(inner, path[1:], name)} if isinstance(inner, dict) else value


def _with_capacities(value: dict[str, Any]) -> dict[str, Any]:
    """A slice whose capacities are mappings with a value."""
    devices = []
    for device in entries(value.get("spec"), "devices"):
        capacity = mapping(device, "basic", "capacity")
        if capacity:
            wrapped = {
                name: each if isinstance(each, dict) else {"value": each} for name, each in capacity.items()
            }
            device = {**device, "basic": {**device["basic"], "capacity": wrapped}}
        devices.append(device)
    return {**value, "spec": {**value["spec"], "devices": devices}} if devices else value


# Pods and what holds a pod template: the names of claims and templates, which were in a ``source``.

#: What held the names, in 1.26 to 1.30, and in early texts.
_HOLDERS = ("source", "template", "claim")
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIMS = "resourceClaims"
#: The least that a pod has, to ask about a claim of it.
_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {"containers": [{"name": "container", "image": "image"}]},
}
#: Pod specs deeper than that are in no kind of workload.
_MAX_DEPTH = 30


def migrate_pods(value: dict[str, Any], remarks: Remarks, server: Server) -> dict[str, Any]:
    """The object with every pod spec in it as it is written today; the same if there is nothing to change.

    :param server: what must accept the claims that are written anew; the rest of a pod is as right as it was.
    :raises CannotMigrate: if it would not accept them.
    """
    if is_misplaced_workload(value):
        version = workload_version(text(value, "kind"))
        remarks.note(("apiVersion",), f"a {value['kind']} is of {version}")
        value = {**value, "apiVersion": version}
    migrated = _walk(value, (), remarks, server)
    assert isinstance(migrated, dict)
    return migrated


def _walk(value: Any, path: Path, remarks: Remarks, server: Server) -> Any:
    if len(path) > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        changed = {name: _walk(each, (*path, name), remarks, server) for name, each in value.items()}
        if any(changed[name] is not each for name, each in value.items()):
            value = changed
        if isinstance(value.get("containers"), list):
            value = _pod_spec(value, path, remarks, server)
    elif isinstance(value, list):
        items = [_walk(each, (*path, index), remarks, server) for index, each in enumerate(value)]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            value = items
    return value


def _pod_spec(spec: dict[str, Any], path: Path, remarks: Remarks, server: Server) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    claims = spec.get(_CLAIMS)
    if isinstance(claims, list):
        migrated = [
            _claim(each, (*path, _CLAIMS, index), remarks, server) for index, each in enumerate(claims)
        ]
        if any(new is not old for new, old in zip(migrated, claims, strict=True)):
            changed[_CLAIMS] = migrated
    for name in CONTAINERS:
        containers = spec.get(name)
        if isinstance(containers, list):
            migrated = [_container(each, (*path, name, i), remarks) for i, each in enumerate(containers)]
            if any(new is not old for new, old in zip(migrated, containers, strict=True)):
                changed[name] = migrated
    return {**spec, **changed} if changed else spec


def _claim(claim: Any, path: Path, remarks: Remarks, server: Server) -> Any:
    """``source: {resourceClaimName: a}`` becomes ``resourceClaimName: a``."""
    if not isinstance(claim, dict):
        return claim
    result: dict[str, Any] = {}
    for name, each in claim.items():
        is_holder = name in _HOLDERS and (each is None or _holds_names(each))
        if name == "source" and not is_holder:
            raise CannotMigrate((*path, name), f"expected nothing but {' or '.join(_NAMES)}")
        if is_holder and name != "source":
            remarks.note((*path, name), "no release had this field; its names are taken from there")
        for key, member in ((each or {}) if is_holder else {name: each}).items():
            if result.setdefault(key, member) != member:
                raise CannotMigrate(path, f"has two values of {key}")
    if result.keys() == claim.keys():
        return claim
    _insist_on_valid(result, path, server)
    return result


def _insist_on_valid(claim: dict[str, Any], path: Path, server: Server) -> None:
    """That the API server accepts a claim of a pod.

    :raises CannotMigrate: if it refuses it.
    """
    request = create_request({**_POD, "spec": {**_POD["spec"], _CLAIMS: [claim]}}, "default")
    # fields that no release knows were as wrong before
    answer = server.handle(request._replace(field_validation=WARN))
    place = ("spec", _CLAIMS, 0)
    for error in answer.errors:
        raise CannotMigrate((*path, *error.path[len(place) :]), f"would be refused: {error.message}")
    if not answer.accepted:
        raise CannotMigrate((*path, *answer.path[len(place) :]), f"would be refused: {answer.message}")


def _holds_names(value: Any) -> bool:
    return isinstance(value, dict) and all(name in _NAMES for name in value)


def _container(container: Any, path: Path, remarks: Remarks) -> Any:
    """``claims: ["gpu"]`` becomes ``claims: [{name: gpu}]``."""
    resources = mapping(container, "resources")
    claims = entries(resources, "claims")
    if not any(isinstance(each, str) for each in claims):
        return container
    remarks.note((*path, "resources", "claims"), "the claims of a container are mappings with a name")
    named = [{"name": each} if isinstance(each, str) else each for each in claims]
    return {**container, "resources": {**resources, "claims": named}}


_CLASSIC: dict[str, Migrate] = {
    RESOURCE_CLASS: migrate_resource_class,
    RESOURCE_CLAIM: migrate_claim,
    RESOURCE_CLAIM_TEMPLATE: migrate_claim,
    RESOURCE_SLICE: migrate_slice,
}
_UNUSED = "no object among the files refers to it, so it stays as it is"


class Change(NamedTuple):
    """What becomes of an object.

    :ivar value: the object as it is written now; None if it is not needed any more.
    :ivar parameters: the objects that it has taken over, and nothing before it.
    """

    document: Document
    value: dict[str, Any] | None
    parameters: Sequence[Document] = ()


class Migration:
    """What becomes of all objects.

    :ivar changes: the objects that change.
    :ivar remarks: what there is to say, in the order of the input.
    """

    def __init__(self, documents: Sequence[Document], mappings: Mappings, namespace: str) -> None:
        self.changes: list[Change] = []
        # what any number of claims take over from the same parameters is said once
        self._said: dict[tuple[int, Path, str], Remark] = {}
        self._mappings = mappings
        self._objects = Objects(documents, namespace)
        self._server = Server(Profile(f"1.{NEWEST}"))
        self._parameters: list[Document] = []
        for document in documents:
            self._add(document)
        self._drop_parameters()
        order = {id(document): index for index, document in enumerate(documents)}
        self.remarks = sorted(
            self._said.values(), key=lambda remark: (order[id(remark.document)], remark.line)
        )

    def _say(self, remarks: Remarks) -> None:
        self._said |= {(id(each.document), each.path, each.text): each for each in remarks.found}

    def _add(self, document: Document) -> None:
        value = document.value
        kind = text(value, "kind")
        context = Context(document, self._objects, self._mappings)
        try:
            if is_classic(value):
                if kind in SCHEDULING_CONTEXTS:
                    self.changes.append(Change(document, None))
                    context.remarks.note((), "left out: kube-scheduler allocates devices by itself")
                elif kind in (CLAIM_PARAMETERS, CLASS_PARAMETERS):
                    self._parameters.append(document)
                elif kind in _CLASSIC:
                    self._replace(document, _CLASSIC[kind](value, context), context)
                else:
                    raise CannotMigrate(
                        ("kind",), f"the classic API never had a {kind}, so there is nothing to migrate"
                    )
            elif is_of_1_31(value):
                self._replace(document, migrate_v1alpha3(value, context), context)
            else:
                if self._mappings.rule_for(group_of(value), kind):
                    self._parameters.append(document)
                if not _may_have_pods(document):
                    migrated = value
                else:
                    migrated = migrate_pods(value, context.remarks, self._server)
                if migrated is not value:
                    self.changes.append(Change(document, migrated))
        except CannotMigrate as error:
            context.remarks.refuse(error)
            self._objects.still_needed |= {id(used) for used in context.used}
        self._say(context.remarks)

    def _replace(self, document: Document, value: dict[str, Any], context: Context) -> None:
        """The object becomes another one.

        :raises CannotMigrate: if the API server would refuse that.
        """
        answer = self._server.handle(create_request(value, context.namespace))
        if not answer.accepted:
            raise CannotMigrate((), f"what it would become is refused: {answer.message}")
        first = [used for used in context.used if self._objects.take_over(used)]
        self.changes.append(Change(document, value, first))

    def _drop_parameters(self) -> None:
        dropped = self._objects.dropped_parameters()
        for document in dropped:
            remarks = Context(document, self._objects, self._mappings).remarks
            remarks.note((), "left out: what it says is in the objects that referred to it")
            self._say(remarks)
            self.changes.append(Change(document, None))
        gone = {id(document) for document in dropped}
        for document in self._parameters:
            if id(document) in gone:
                continue
            remarks = Context(document, self._objects, self._mappings).remarks
            is_needed = id(document) in self._objects.still_needed
            message = "kept: an object that needs it could not be migrated" if is_needed else _UNUSED
            if is_classic(document.value):
                remarks.refuse(CannotMigrate((), message, of_others=True))
            elif is_needed:
                remarks.note((), message)
            else:
                remarks.warn((), message)
            self._say(remarks)


def _may_have_pods(document: Document) -> bool:
    """Whether its text has the word that every pod spec has: most objects need no search for one."""
    chunk = document.chunk
    return document.source.text.find("containers", chunk.start, chunk.end) >= 0


def migrated_text(source: Source, changes: Sequence[Change], gone: Collection[str] = ()) -> str:
    """The text of a file with what has changed in it.

    Comments of parameters stand above the first object that has taken them over.

    :param gone: the files of which nothing is left, so that all of their comments go with the objects.
    """
    changed, dropped = [], []
    above: dict[int, list[str]] = {}
    for change in changes:
        if change.value is None:
            dropped.append(change.document)
        else:
            changed.append((change.document, change.value))
            comments = [
                comment
                for each in change.parameters
                for comment in comments_of(each, whole=each.file in gone)
            ]
            above.setdefault(change.document.chunk.start, []).extend(comments)
    lists = {
        change.document.chunk.start: change.document.chunk for change in changes if _is_of_typed_list(change)
    }
    return rewrite(
        source,
        changed,
        dropped,
        keeps_comments=True,
        above=above,
        wholes={start: _untyped_list(chunk.value) for start, chunk in lists.items()},
    )


def _is_of_typed_list(change: Change) -> bool:
    """Whether the object is an item of a list with a type of its own, such as ResourceClaimList."""
    document = change.document
    return document.item is not None and document.chunk.value.get("kind") != "List"


def _untyped_list(value: dict[str, Any]) -> dict[str, Any]:
    """A list of objects of any type, each of which says its own."""
    item_type = {"apiVersion": value.get("apiVersion"), "kind": str(value["kind"]).removesuffix("List")}
    items = [item if item.get("kind") else {**item_type, **item} for item in value["items"]]
    return {**value, "apiVersion": "v1", "kind": "List", "items": items}
