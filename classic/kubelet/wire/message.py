"""Messages of gRPC as dataclasses; the protobuf runtime reads and writes them.

The fields of a message are stated once, by its dataclass: ``uid: Annotated[str, 2] = ""`` is field 2. :func:`message` makes the
descriptor from them when the class is defined, in a pool of its own, so that no other package's descriptors can be in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as RuntimeMessage
from google.protobuf.message_factory import GetMessageClass

from resourceapi.errors import ClaimcheckError

_POOL = DescriptorPool()
_RUNTIME_CLASSES: dict[type[Message], type[RuntimeMessage]] = {}
_FIELDS: dict[type[Message], tuple[_Field, ...]] = {}

_SCALARS = {
    str: FieldDescriptorProto.TYPE_STRING,
    bytes: FieldDescriptorProto.TYPE_BYTES,
    bool: FieldDescriptorProto.TYPE_BOOL,
}

# Each part takes some hundred times the two bytes that it may have on the wire.
_MOST_PARTS = 20_000

MessageT = TypeVar("MessageT", bound="Message")


class UnreadableMessage(ClaimcheckError):
    """The bytes are not a message of the expected type."""


class Message:
    """The base of all messages."""

    __slots__ = ()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The message that the bytes are; fields that are not known are ignored.

        :raises UnreadableMessage: for bytes that no such message is written as
        """
        try:
            runtime = _RUNTIME_CLASSES[cls].FromString(data)
        except DecodeError as error:
            raise UnreadableMessage(
                f"these are not the bytes of a {_RUNTIME_CLASSES[cls].DESCRIPTOR.name}"
            ) from error
        return _Reader().read(cls, runtime)

    def to_bytes(self) -> bytes:
        """The message as it goes over the wire."""
        return _to_runtime(self).SerializeToString()


@dataclass(frozen=True, slots=True)
class _Field:
    """A field: of ``item`` one value, any number (``repeated``), or one for each key of a mapping (``keyed``)."""

    name: str
    number: int
    item: type
    repeated: bool
    keyed: bool

    @property
    def is_message(self) -> bool:
        return issubclass(self.item, Message)


def message(full_name: str) -> Callable[[type[MessageT]], type[MessageT]]:
    """Declare a dataclass to be the message of this name, such as ``v1alpha3.Claim``.

    Each field is ``Annotated`` with its number, and is a ``str``, ``bytes``, ``bool``, another message ``| None``, a tuple of
    one of these, or a mapping from ``str`` to another message.
    """

    def declare(cls: type[MessageT]) -> type[MessageT]:
        declared = tuple(_declared_fields(cls))
        package, _, name = full_name.rpartition(".")
        file = FileDescriptorProto(name=f"{full_name}.proto", package=package, syntax="proto3")
        descriptor = file.message_type.add(name=name)
        for field in declared:
            _describe(descriptor, full_name, field)
            if field.is_message:
                dependency = _RUNTIME_CLASSES[field.item].DESCRIPTOR.file.name
                if dependency not in file.dependency:
                    file.dependency.append(dependency)
        _POOL.Add(file)
        _RUNTIME_CLASSES[cls] = GetMessageClass(_POOL.FindMessageTypeByName(full_name))
        _FIELDS[cls] = declared
        return cls

    return declare


def _declared_fields(cls: type[Message]) -> list[_Field]:
    hints = get_type_hints(cls, include_extras=True)
    declared = []
    for name in (field.name for field in fields(cls)):  # type: ignore[arg-type]  # every message is a dataclass
        kind, number = get_args(hints[name])
        repeated = get_origin(kind) is tuple
        keyed = get_origin(kind) is Mapping
        item = next((part for part in reversed(get_args(kind)) if part not in (Ellipsis, NoneType)), kind)
        declared.append(_Field(name, number, item, repeated, keyed))
    return declared


def _describe(descriptor: DescriptorProto, full_name: str, field: _Field) -> None:
    described = descriptor.field.add(
        name=field.name, number=field.number, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    if field.keyed:
        # The wire has a mapping as repeated entries, each a message of its own with a key and a value.
        entry = descriptor.nested_type.add(name=f"{field.name.title()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=described.label, type=FieldDescriptorProto.TYPE_STRING)
        _set_type(entry.field.add(name="value", number=2, label=described.label), field.item)
        described.type = FieldDescriptorProto.TYPE_MESSAGE
        described.type_name = f".{full_name}.{entry.name}"
    else:
        _set_type(described, field.item)
    if field.repeated or field.keyed:
        described.label = FieldDescriptorProto.LABEL_REPEATED


def _set_type(described: FieldDescriptorProto, item: type) -> None:
    if issubclass(item, Message):
        described.type = FieldDescriptorProto.TYPE_MESSAGE
        described.type_name = f".{_RUNTIME_CLASSES[item].DESCRIPTOR.full_name}"
    else:
        described.type = _SCALARS[item]


class _Reader:
    """Reads one message, of no more parts than any that kubelet sends."""

    def __init__(self) -> None:
        self._parts = 0

    def read(self, cls: type[MessageT], runtime: RuntimeMessage) -> MessageT:
        return cls(**{field.name: self._value(field, runtime) for field in _FIELDS[cls]})

    def _value(self, field: _Field, runtime: RuntimeMessage) -> Any:
        value = getattr(runtime, field.name)
        if field.repeated or field.keyed:
            self._parts += len(value)
            if self._parts > _MOST_PARTS:
                raise UnreadableMessage(f"the message has more than {_MOST_PARTS:,} parts")
        if field.keyed:
            return {key: self.read(field.item, value[key]) for key in value}
        if field.repeated:
            return tuple(self.read(field.item, item) for item in value) if field.is_message else tuple(value)
        if field.is_message:
            return self.read(field.item, value) if runtime.HasField(field.name) else None
        return value


def _to_runtime(message: Message) -> RuntimeMessage:
    runtime = _RUNTIME_CLASSES[type(message)]()
    for field in _FIELDS[type(message)]:
        _write(field, getattr(message, field.name), runtime)
    return runtime


def _write(field: _Field, value: Any, runtime: RuntimeMessage) -> None:
    target = getattr(runtime, field.name)
    if field.keyed:
        for key, item in value.items():
            target[key].CopyFrom(_to_runtime(item))
    elif field.repeated:
        target.extend(map(_to_runtime, value) if field.is_message else value)
    elif not field.is_message:
        setattr(runtime, field.name, value)
    elif value is not None:
        target.CopyFrom(_to_runtime(value))
