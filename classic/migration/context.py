"""What the migration of an object depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.mapping import UNKNOWN, Mappings, Parameters
from classic.migration.objects import Objects, Reference, group_without_version
from classic.migration.remarks import WARNING, CannotMigrate, Remark, Remarks, string
from resourceapi.field_errors import Path, render
from resourceapi.limits import DRIVER_NAME_CHARACTERS
from resourceapi.manifests import namespace_of

if TYPE_CHECKING:
    from documents import Document


_WHOLE = "each claim gets a device whole that has so much: claims do not share one, so that more devices are needed"
_CONSUMABLE = (
    "where the driver publishes devices with `allowMultipleAllocations`, ask for it in `capacity.requests` of the request instead "
    "of the selector"
)


class Found(NamedTuple):
    """Parameters with the driver that a configuration is for; empty if it is not known."""

    parameters: Parameters
    driver: str
    device_class_names: dict[str, str]


class Context:
    """The object that is migrated, what is known about others, and what there is to say.

    :ivar used: the parameters that the object takes over.
    """

    def __init__(self, document: Document, objects: Objects, mappings: Mappings) -> None:
        self.objects = objects
        self.mappings = mappings
        self.remarks = Remarks(document)
        self.namespace = namespace_of(document.value, objects.namespace)
        self.used: list[Document] = []

    def reference(self, value: dict[str, Any], path: Path, namespace: str) -> Reference:
        """What a ``parametersRef`` refers to.

        :raises CannotMigrate: if it is incomplete.
        """
        self.remarks.warn_of_unknown(value, ("apiGroup", "kind", "name", "namespace"), path)
        group = group_without_version(string(value, "apiGroup", path))
        kind, name = string(value, "kind", path), string(value, "name", path)
        if not kind or not name:
            raise CannotMigrate(path, "expected kind and name of the parameters")
        return Reference(group, kind, name, namespace)

    def driver(self, value: dict[str, Any], path: Path, missing: str = "is missing") -> str:
        """What the driver with the ``driverName`` of a mapping is called now.

        :raises CannotMigrate: if there is none, or one that no driver can have.
        """
        name = string(value, "driverName", path)
        if not name:
            raise CannotMigrate((*path, "driverName"), missing)
        if len(name) > DRIVER_NAME_CHARACTERS:
            raise CannotMigrate((*path, "driverName"), f"longer than {DRIVER_NAME_CHARACTERS} characters")
        return self.mappings.driver(name)

    def take(self, reference: Reference, path: Path) -> Document:
        """The object that a reference names, which the migrated one takes over.

        :raises CannotMigrate: if it is not among the files.
        """
        if (reference.group, reference.kind) == ("", "Secret"):
            raise CannotMigrate(
                path, "the content of a Secret is not copied into an object that others can read"
            )
        document = self.named(reference, path)
        self.used.append(document)
        return document

    def named(self, reference: Reference, path: Path) -> Document:
        """The object that a reference names.

        :raises CannotMigrate: if it is not among the files.
        """
        document = self.objects.find(reference)
        if document is None:
            raise CannotMigrate(
                path,
                f"the {reference.kind} {reference.name} is not among the files, so it is not known what it asks for",
                "name its file as well",
                of_others=True,
            )
        return document

    def find(self, reference: Reference, path: Path, driver: str) -> Found:
        """What the parameters ask for that a reference names.

        :param driver: the driver of the class, as it is called now; empty if it is not known.
        :raises CannotMigrate: if they are not among the files, or not what the mapping expects.
        """
        document = self.take(reference, path)
        rule = self.mappings.rule_for(reference.group, reference.kind)
        if rule is None:
            self.remarks.warn(
                path,
                f"no mapping is about {reference.kind}, so what it asks for is not known: the driver gets it as it is, as "
                "opaque configuration",
                "describe with --mapping what becomes of it, such as the number of devices",
            )
        try:
            parameters = self.objects.parameters(document, rule or UNKNOWN)
        except CannotMigrate as error:
            place = document.locate(error.path)
            where = f"{document.file}:{place.line}: {render(error.path)}"
            raise CannotMigrate(path, f"{where}: {error.text}") from None
        for field, reason in parameters.lost:
            self.remarks.found.append(Remark(document, WARNING, field, f"not carried over: {reason}"))
        for field in parameters.shared:
            self.remarks.found.append(Remark(document, WARNING, field, _WHOLE, _CONSUMABLE))
        rule = rule or UNKNOWN
        return Found(parameters, rule.driver or driver, rule.device_class_names)


def opaque(driver: str, parameters: Any, path: Path) -> dict[str, Any]:
    """Opaque configuration for a driver.

    :raises CannotMigrate: if the driver is not known.
    """
    if not driver:
        raise CannotMigrate(
            path,
            "which driver the configuration is for is not known: the ResourceClass is not among the files",
            "name its file as well, or say in a --mapping which driver reads these parameters",
            of_others=True,
        )
    return {"opaque": {"driver": driver, "parameters": parameters}}


def selector(expression: str) -> dict[str, Any]:
    """A selector of devices."""
    return {"cel": {"expression": expression}}
