"""What claims and classes ask of the GPU driver: the objects that their ``parametersRef`` names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote as url_quote

from resourceapi import quantity
from resourceapi.api_client import NOT_FOUND, Api, Unavailable, get_object
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import quote
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.quantity import Quantity, QuantityError

GROUP = "gpu.example.com"
VERSION = "v1"
REQUIREMENTS, INIT = "GPURequirements", "GPUInit"
#: The plurals, as in URLs.
RESOURCES = {REQUIREMENTS: "gpurequirements", INIT: "gpuinits"}
#: The GPUs that a node may have.
MOST_GPUS = 64
#: The bytes of an ``initCommand``: it becomes a part of each allocation, which may have 16 KiB.
MOST_COMMAND_BYTES = 4 * 1024
#: What the API server's quantities of bytes can hold.
MOST_BYTES = (1 << 63) - 1
#: The characters of a wrong value that a message quotes.
MOST_SHOWN = 100


class ParametersError(ClaimcheckError):
    """Parameters that the driver cannot use; the text says which field is wrong and what is expected."""


@dataclass(frozen=True)
class GPURequirements:
    """What a claim asks for: so many GPUs of one node, and so many bytes of memory of each; None is all of a GPU's."""

    memory: int | None = None
    count: int = 1


class GPUInit(NamedTuple):
    """What a class adds to its claims: a command that initializes a GPU."""

    init_command: tuple[str, ...] = ()


class Reference(NamedTuple):
    """An object that holds parameters; the namespace is empty for one that is in none."""

    kind: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """That of the object in the API."""
        namespace = f"/namespaces/{url_quote(self.namespace, safe='')}" if self.namespace else ""
        return f"/apis/{GROUP}/{VERSION}{namespace}/{RESOURCES[self.kind]}/{url_quote(self.name, safe='')}"


def claim_reference(claim: Object) -> Reference | None:
    """The object that a claim names for its parameters; None if it names none.

    :raises ParametersError: if the driver has no such kind for claims.
    """
    given = claim["spec"].get("parametersRef")
    if not given:
        return None
    _insist_on_kind(given, REQUIREMENTS)
    return Reference(REQUIREMENTS, claim["metadata"]["namespace"], given["name"])


def class_reference(resource_class: Object) -> Reference | None:
    """The object that a class names for its parameters; None if it names none.

    :raises ParametersError: if the driver has no such kind for classes.
    """
    given = resource_class.get("parametersRef")
    if not given:
        return None
    _insist_on_kind(given, INIT)
    if given.get("namespace"):
        raise ParametersError(f"parametersRef.namespace: must be empty, as a {INIT} is in no namespace")
    return Reference(INIT, "", given["name"])


def _insist_on_kind(reference: Object, kind: str) -> None:
    group, name = reference.get("apiGroup", ""), reference.get("kind", "")
    if (group, name) != (GROUP, kind):
        found = f"{name}.{group}" if group else name
        raise ParametersError(f"parametersRef: {quote(found)}: the kind must be {kind}.{GROUP}")


def requirements(obj: Mapping[str, Any]) -> GPURequirements:
    """What a GPURequirements object asks for.

    :raises ParametersError: if a field has a wrong value.
    """
    given = obj.get("memory")
    memory = None if given is None else memory_bytes(given, "memory")
    count = obj.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_GPUS:
        raise ParametersError(f"count: {_shown(count)}: must be a whole number from 1 to {MOST_GPUS}")
    return GPURequirements(memory, count)


def initialization(obj: Mapping[str, Any]) -> GPUInit:
    """What a GPUInit object adds.

    :raises ParametersError: if a field has a wrong value.
    """
    command = obj.get("initCommand")
    if command is None:
        return GPUInit()
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise ParametersError(f"initCommand: {_shown(command)}: must be a list of strings")
    if sum(len(word.encode()) for word in command) > MOST_COMMAND_BYTES:
        raise ParametersError(f"initCommand: may not be longer than {MOST_COMMAND_BYTES:,} bytes")
    return GPUInit(tuple(command))


def memory_bytes(given: object, field: str) -> int:
    """The bytes that a quantity of memory stands for.

    :param field: where it is written, for the message.
    :raises ParametersError: unless it is a whole number of bytes above zero.
    """
    try:
        found = quantity.from_json(given)
    except QuantityError as error:
        raise ParametersError(f"{field}: {_shown(given)}: must be a quantity such as 2Gi: {error}") from None
    if found.is_fractional() or found.sign() <= 0 or found.cmp_int(MOST_BYTES) > 0:
        raise ParametersError(
            f"{field}: {_shown(given)}: must be a whole number of bytes above 0, such as 2Gi"
        )
    return found.value()


def written(memory: int) -> str:
    """Bytes as a quantity, such as ``2Gi``."""
    return str(Quantity(memory, 0, quantity.BINARY_SI))


def _shown(value: object) -> str:
    return quote(shortened(value if isinstance(value, str) else repr(value), MOST_SHOWN))


# Reading the objects that hold parameters from the API server, whenever they are needed: they may have
# changed.


class ParameterObjects:
    """The GPURequirements and GPUInits of a cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def read(self, reference: Reference) -> Object:
        """The object that a reference names.

        :raises ParametersError: if there is none; Unavailable if the API server does not say.
        """
        try:
            return await asyncio.to_thread(
                get_object, self._api, reference.path, reference.kind, reference.name
            )
        except Unavailable as error:
            if error.code != NOT_FOUND:
                raise
            where = f" in namespace {reference.namespace}" if reference.namespace else ""
            raise ParametersError(f"there is no {reference.kind}.{GROUP} {reference.name}{where}") from None
