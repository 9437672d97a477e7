"""Migrates all objects of the input, which may refer to each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.claims import migrate_claim
from classic.migration.context import Context
from classic.migration.kinds import (
    CLAIM_PARAMETERS,
    CLASS_PARAMETERS,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_CLASS,
    RESOURCE_SLICE,
    SCHEDULING_CONTEXTS,
    is_classic,
    is_of_1_31,
)
from classic.migration.objects import Objects
from classic.migration.pods import migrate_pods
from classic.migration.remarks import CannotMigrate, Remark
from classic.migration.resource_classes import migrate_resource_class
from classic.migration.slices import migrate_slice
from classic.migration.v1alpha3 import migrate_v1alpha3
from documents.comments import comments_of
from documents.rewriting import rewrite
from resourceapi.manifests import group_of, text
from resourceapi.measured import NEWEST
from resourceapi.releases import Profile
from validation.requests import create_request
from validation.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from classic.migration.mapping import Mappings
    from documents import Document
    from documents.source import Source

    Migrate = Callable[[dict[str, Any], Context], dict[str, Any]]

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
        self.remarks: list[Remark] = []
        self._mappings = mappings
        self._objects = Objects(documents, namespace)
        self._server = Server(Profile(f"1.{NEWEST}"))
        self._parameters: list[Document] = []
        for document in documents:
            self._add(document)
        self._drop_parameters()
        order = {id(document): index for index, document in enumerate(documents)}
        # what two claims take over from the same parameters is said once
        distinct = {(id(each.document), each.path, each.text): each for each in self.remarks}
        self.remarks = sorted(distinct.values(), key=lambda remark: (order[id(remark.document)], remark.line))

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
        self.remarks += context.remarks.found

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
            self.remarks += remarks.found
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
            self.remarks += remarks.found


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
