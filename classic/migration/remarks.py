"""What a migration has to say about an object: what is lost, what means something else now, what keeps it from migrating."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import Key, Path

if TYPE_CHECKING:
    from documents import Document

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)


class Remark(NamedTuple):
    """A remark about a field of an object.

    :ivar of_others: whether it is about what other files may have.
    :ivar severity: ``error``: the object stays as it is; ``warning``: something has no equivalent, or is left out;
        ``note``: something is done in another way now.
    """

    document: Document
    severity: str
    path: Path
    text: str
    hint: str = ""
    of_others: bool = False

    @property
    def line(self) -> int:
        """The line of the field, or that on which the object begins."""
        return self.document.locate(self.path).line if self.path else self.document.line


class CannotMigrate(ClaimcheckError):
    """An object that stays as it is, and why.

    :param of_others: whether other files may have what is missing.
    """

    def __init__(self, path: Path, text: str, hint: str = "", *, of_others: bool = False) -> None:
        super().__init__(text)
        self.of_others = of_others
        self.path = path
        self.text = text
        self.hint = hint


class Remarks:
    """The remarks about one object."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[Remark] = []

    def warn(self, path: Path, text: str, hint: str = "") -> None:
        """Something has no equivalent, or is left out."""
        self.found.append(Remark(self.document, WARNING, path, text, hint))

    def note(self, path: Path, text: str, hint: str = "") -> None:
        """Something is done in another way now."""
        self.found.append(Remark(self.document, NOTE, path, text, hint))

    def refuse(self, error: CannotMigrate) -> None:
        """The object stays as it is; what has been said about it before does not count."""
        self.found = [Remark(self.document, ERROR, error.path, error.text, error.hint, error.of_others)]

    def warn_of_unknown(self, value: dict[str, Any], known: tuple[str, ...], path: Path = ()) -> None:
        """Fields that the API never had are left out."""
        for name, member in value.items():
            if name not in known and member is not None:
                self.warn((*path, step(name)), "no field of the classic API: left out")


def step(name: str) -> Any:
    """A key as a step of a path: in brackets where a dot would not do."""
    return Key(name) if "/" in name or "." in name else name


def members(value: Any, path: Path, what: str = "a mapping") -> dict[str, Any]:
    """The mapping at a path; an empty one if it is absent.

    :raises CannotMigrate: if it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CannotMigrate(path, f"expected {what}")
    return value


def items(value: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The mappings in the list at a path with their paths.

    :raises CannotMigrate: if it is something else.
    """
    if value is None:
        return
    if not isinstance(value, list):
        raise CannotMigrate(path, "expected a list")
    for index, item in enumerate(value):
        yield (*path, index), members(item, (*path, index))


def string(value: dict[str, Any], key: str, path: Path) -> str:
    """The text at a key; empty if it is absent.

    :raises CannotMigrate: if it is something else.
    """
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise CannotMigrate((*path, key), "expected a string")
    return found
