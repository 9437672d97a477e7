"""Policies: rules of the cluster's owner about DRA objects, in addition to the API server's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jsonschema.protocols import Validator

from resourceapi.field_errors import FieldError, Path, Verbatim, forbidden, invalid, not_supported, required
from resourceapi.go_text import quote
from resourceapi.json_text import Raw
from resourceapi.json_values import Members, is_deeper
from resourceapi.kinds import DEVICE_CLASS
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import shortened
from webhook.admission_objects import AdmissionObject
from webhook.label_guard import LabelRule
from webhook.schemas import MAX_EFFORT, Effort, TooComplexError, first_errors

# Parameters are up to 10 KiB; the answer stays readable however many rules they break.
MAX_REPORTED = 10
MAX_SHOWN = 200
MAX_DEPTH = 50


class AdminAccess:
    """Admin access only in namespaces with one of these labels."""

    name = "admin-access"

    def __init__(self, mode: str, labels: Sequence[LabelRule]) -> None:
        self.mode = mode
        self.labels = tuple(labels)

    def check(self, obj: AdmissionObject) -> list[FieldError]:
        """An error for each request with admin access, unless the namespace has one of the labels."""
        if any(rule.matches(obj.namespace_labels) for rule in self.labels):
            return []
        at, spec = obj.claim_spec
        wanted = " or ".join(f"`{rule}`" for rule in self.labels)
        text = (
            f"admin access needs the label {wanted} on the namespace, which {obj.namespace!r} does not have"
        )
        return [
            forbidden((*at, "devices", "requests", index, "exactly", "adminAccess"), text)
            for index, request in enumerate(spec.get("devices", EMPTY).get("requests") or ())
            if request.get("exactly", EMPTY).get("adminAccess")
        ]


class SchemaKey(NamedTuple):
    """The parameters that a schema is for: those of one kind for one driver."""

    driver: str
    api_version: str
    kind: str


def _repeated_key(value: Any) -> str | None:
    """A key that an object, at any depth, has twice; upper and lower case do not differ.

    JSON parsers disagree about the value of such a key: Go's ignores case, and merges the values if they are objects.
    """
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(item)
        elif isinstance(item, dict):
            members = item.pairs if isinstance(item, Members) else item.items()
            seen: set[str] = set()
            for key, member in members:
                if key.casefold() in seen:
                    return key
                seen.add(key.casefold())
                left.append(member)
    return None


class OpaqueParameters:
    """Parameters of drivers checked against JSON Schemas, as a webhook of the driver's own would.

    Parameters for a driver without schemas are not checked; for a driver with schemas, all other kinds are errors.
    """

    name = "opaque-parameters"

    def __init__(self, mode: str, schemas: Mapping[SchemaKey, Validator]) -> None:
        self.mode = mode
        self.schemas = dict(schemas)
        self._drivers = {key.driver for key in schemas}

    def check(self, obj: AdmissionObject) -> list[FieldError]:
        """Errors at the fields of the parameters."""
        errors: list[FieldError] = []
        effort = Effort(MAX_EFFORT)
        for path, opaque in opaque_configurations(obj):
            driver, parameters = opaque.get("driver", ""), opaque.get("parameters")
            if driver in self._drivers and isinstance(parameters, Raw):
                errors.extend(self._check(driver, parameters, (*path, "parameters"), effort))
        return errors

    def _check(self, driver: str, parameters: Raw, path: Path, effort: Effort) -> Iterator[FieldError]:
        repeated = _repeated_key(parameters.value)
        if repeated is not None:
            yield invalid(path, Verbatim("..."), f"has the key {quote(shortened(repeated, MAX_SHOWN))} twice")
            return
        try:
            value = parameters.plain
        except ValueError:  # Python reads no integers of thousands of digits
            yield invalid(path, Verbatim("..."), "has a number that is too long to be checked")
            return
        if not isinstance(value, dict):
            shown = Verbatim("...") if is_deeper(value, MAX_DEPTH) else _shown(value)
            yield invalid(path, shown, "must be an object")
            return
        for name in ("apiVersion", "kind"):
            if not isinstance(value.get(name), str) or not value[name]:
                yield required(
                    (*path, name), f"parameters for driver {driver} must have an apiVersion and a kind"
                )
                return
        key = SchemaKey(driver, value["apiVersion"], value["kind"])
        schema = self.schemas.get(key)
        if schema is None:
            yield self._unknown(key, path)
        else:
            yield from _violations(schema, value, path, effort)

    def _unknown(self, key: SchemaKey, path: Path) -> FieldError:
        versions = sorted({known.api_version for known in self.schemas if known.driver == key.driver})
        if key.api_version not in versions:
            return not_supported((*path, "apiVersion"), key.api_version, versions)
        kinds = sorted(
            known.kind
            for known in self.schemas
            if (known.driver, known.api_version) == (key.driver, key.api_version)
        )
        return not_supported((*path, "kind"), key.kind, kinds)


def opaque_configurations(obj: AdmissionObject) -> Iterator[tuple[Path, Object]]:
    """Each ``opaque`` of a claim, a template or a class with its path."""
    if obj.kind is DEVICE_CLASS:
        at: Path = ("spec", "config")
        configurations = obj.hub.get("spec", EMPTY).get("config")
    else:
        prefix, spec = obj.claim_spec
        at = (*prefix, "devices", "config")
        configurations = spec.get("devices", EMPTY).get("config")
    for index, configuration in enumerate(configurations or ()):
        if "opaque" in configuration:
            yield (*at, index, "opaque"), configuration["opaque"]


def _violations(schema: Validator, value: Object, path: Path, effort: Effort) -> Iterator[FieldError]:
    try:
        if is_deeper(value, MAX_DEPTH):
            raise RecursionError
        found = first_errors(schema, value, MAX_REPORTED + 1, effort)
    except OverflowError:  # of numbers that are to be divided
        yield invalid(path, Verbatim("..."), "has a number that is too large to be checked")
        return
    except RecursionError:  # also of schemas that go deeper than the value
        yield invalid(path, Verbatim("..."), "is nested too deeply to be checked")
        return
    except TooComplexError:
        yield invalid(path, Verbatim("..."), "is too complex to be checked")
        return
    for error in found[:MAX_REPORTED]:
        steps = (step if isinstance(step, int) else str(step) for step in error.absolute_path)
        yield invalid((*path, *steps), _shown(error.instance), shortened(error.message, MAX_SHOWN))
    if len(found) > MAX_REPORTED:
        yield invalid(path, Verbatim("..."), "there are more violations of the schema")


def _shown(value: object) -> object:
    """The value to show in an error: scalars as they are, all other values as text, shortened."""
    if value is None or isinstance(value, (bool, int)):
        return value
    return shortened(value if isinstance(value, str) else repr(value), MAX_SHOWN)
