"""What callers hand over, as manifests: dictionaries, YAML or JSON texts, files, models of the package ``kubernetes``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from claimcheck.answers.outcome import Failure
from documents.errors import DocumentError
from documents.manifest import Unwritten
from documents.source import MAX_FILE_BYTES
from documents.tree import MAX_DEPTH, MAX_VALUES
from resourceapi.errors import Unanswerable
from resourceapi.gates import GateError
from resourceapi.kinds import kind_in
from resourceapi.measured import NEWEST
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.releases import Profile, UnknownRelease

if TYPE_CHECKING:
    from advice.findings import Result
    from documents.manifest import Manifest


#: One object or several: a mapping, a model of ``kubernetes``, a text in YAML or JSON, the path of a file or directory, or any of
#: these in an iterable.
Objects = Any
#: How the names of models begin: ``V1Pod``, ``V1beta1DeviceClass``, ``ResourceV1ResourceClaim``.
_MODEL = re.compile(r"(?:Resource|Core)?V(\d+(?:(?:alpha|beta)\d+)?)([A-Z][A-Za-z]*)")
_CORE_KINDS = ("Namespace", "Node", "ResourceQuota")
#: The largest number of digits of a whole number.
_DIGITS = 400


def manifests_in(given: Objects, profile: Profile) -> Iterator[Manifest | Result | Failure]:
    """The objects that were handed over, in order, as :func:`claimcheck.answers.reading.read_files` gives those of files.

    :param profile: the server that has to know which documents are lists of objects.
    :raises Unanswerable: for what cannot be an object.
    """
    for number, each in enumerate(each_of(given), 1):
        yield from manifests_of(each, number, profile)


def values_in(given: Objects, profile: Profile) -> Iterator[Manifest]:
    """The same, where all of it has to be readable.

    :raises Unanswerable: with what is wrong with the first that is not.
    """
    from advice.findings import Result

    for found in manifests_in(given, profile):
        if isinstance(found, Failure):
            raise Unanswerable(f"{found.file}: {found.message}")
        if isinstance(found, Result):
            finding = found.findings[0]
            raise Unanswerable(f"{found.file}:{finding.line}: {finding.message}", finding.hint)
        yield found


def is_model(value: object) -> bool:
    """Whether a value is a model of the package ``kubernetes``, which need not be there to tell."""
    return isinstance(getattr(value, "attribute_map", None), Mapping) and hasattr(value, "openapi_types")


def plain(value: object, name: str = "object") -> Any:
    """A value as JSON has it, with the keys of Kubernetes.

    :param name: what messages call it.
    :raises Unanswerable: if it is nested too deeply, or has too many values or one that JSON does not have.
    """
    return _Reader(name).read(value, 0)


def each_of(given: Objects) -> Iterable[Any]:
    """What was handed over, one by one.

    :raises Unanswerable: if it is neither an object nor several.
    """
    if isinstance(given, (str, bytes, os.PathLike, Mapping)) or is_model(given):
        return (given,)
    if isinstance(given, Iterable):
        return given
    raise Unanswerable(f"expected an object or several, found {type(given).__name__}")


def manifests_of(given: Any, number: int, profile: Profile) -> Iterator[Manifest | Result | Failure]:
    """The objects of one of them.

    :param number: which it is, from 1, for messages.
    :raises Unanswerable: for what cannot be an object.
    """
    from claimcheck.answers.reading import Input, Text, read_files
    from documents.finding import find_files

    if isinstance(given, (str, bytes)):
        name = "text" if number == 1 else f"text {number}"
        content = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
        too_large = DocumentError(name, 0, 0, f"larger than {MAX_FILE_BYTES >> 20} MiB")
        read: list[Input] = [Text(name, content) if len(content) <= MAX_FILE_BYTES else too_large]
        yield from read_files(read, profile)
    elif isinstance(given, os.PathLike):
        yield from read_files(list(find_files([os.fsdecode(given)])), profile)
    else:
        name = "object" if number == 1 else f"object {number}"
        value = plain(given, name)
        if not isinstance(value, dict):
            raise Unanswerable(f"{name}: expected a mapping, found {type(given).__name__}")
        for index, item in enumerate(_items(value)):
            yield Unwritten(name, item, index)


def _items(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects of a list as ``kubectl get`` and the API server write it, or the object itself."""
    kind, items = value.get("kind"), value.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield value
        return
    of_items = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for item in items:
        if not isinstance(item, dict):
            raise Unanswerable(f"every item of a {kind} must be an object")
        yield {**of_items, **item} if of_items["kind"] else item


class _Reader:
    """Copies a value, as long as it is no larger than a document may be."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values = self._characters = 0

    def read(self, value: object, depth: int) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._refused(f"more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise self._refused(f"more than {MAX_DEPTH} levels")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Enum):
            return self.read(value.value, depth + 1)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            if value.bit_length() > _DIGITS * 10 // 3:
                raise self._refused(f"a number of more than {_DIGITS} digits")
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self._refused(f"{value} is no number in JSON")
            return float(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.read(each, depth + 1) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.read(each, depth + 1) for each in value]
        return self._other(value, depth)

    def _other(self, value: object, depth: int) -> Any:
        if is_model(value):
            return self._model(value, depth)
        if isinstance(value, (datetime, date)):
            return value.isoformat().replace("+00:00", "Z")
        if isinstance(value, Decimal):
            return str(value)
        raise self._refused(f"{type(value).__name__} is nothing that JSON has")

    def _model(self, model: Any, depth: int) -> dict[str, Any]:
        """The fields of a model that are set, and what kind it is of, which models need not say."""
        fields = ((key, getattr(model, attribute)) for attribute, key in model.attribute_map.items())
        value = {key: self.read(each, depth + 1) for key, each in fields if each is not None}
        if "apiVersion" in model.attribute_map.values():
            value = {**_type_of_model(type(model).__name__), **value}
        return value

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise self._refused(f"a key is {type(key).__name__}, expected a string")
        return self._text(key)

    def _text(self, text: str) -> str:
        self._characters += len(text)
        if self._characters > MAX_FILE_BYTES:
            raise self._refused(f"larger than {MAX_FILE_BYTES >> 20} MiB")
        return str(text)

    def _refused(self, reason: str) -> Unanswerable:
        return Unanswerable(f"{self._name}: {reason}")


def _type_of_model(name: str) -> dict[str, str]:
    """``apiVersion`` and ``kind`` of a model by the name of its class; nothing if that does not say."""
    found = _MODEL.fullmatch(name)
    if found is None:
        return {}
    version, kind = "v" + found[1], found[2]
    listed = kind.removesuffix("List")
    for group in (GROUP, OWN_GROUP):
        row = kind_in(group, listed, version)
        if row is not None and version in row.versions:
            return {"apiVersion": f"{group}/{version}", "kind": kind}
    for group, kinds in workloads.KINDS.items():
        if version == "v1" and (listed in kinds or (not group and listed in _CORE_KINDS)):
            return {"apiVersion": f"{group}/v1".lstrip("/"), "kind": kind}
    return {}


# The release and feature gates that a question is about.


def profile_of(kube_version: str | None, feature_gates: Mapping[str, bool] | None) -> Profile:
    """The server of a release.

    :param kube_version: such as ``1.37``, the newest one if it is None.
    :raises Unanswerable: for a release that is not known, or gates that it does not have.
    """
    try:
        return Profile(kube_version or f"1.{NEWEST}", feature_gates)
    except UnknownRelease as error:
        raise Unanswerable(f"kube_version: {error}") from None
    except GateError as error:
        raise Unanswerable(f"feature_gates: {error}") from None
