"""JSONPatch (RFC 6902): the operations that make one value of another."""

from __future__ import annotations

from typing import Any

Operation = dict[str, Any]
# A list of more entries than any may have in the API is replaced as a whole: defaults for each of a million entries are
# hundreds of megabytes of operations.
MOST_COMPARED = 1000


def difference(before: Any, after: Any, pointer: str = "") -> list[Operation]:
    """The operations that turn ``before`` into ``after``; the order of members does not count.

    Lists of other lengths are replaced as a whole, as are very long ones: what is patched here are defaults and dropped
    fields, which do not move entries.
    """
    operations: list[Operation] = []
    _compare(before, after, pointer, operations)
    return operations


def _compare(before: Any, after: Any, pointer: str, operations: list[Operation]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before:
            if name not in after:
                operations.append({"op": "remove", "path": _member(pointer, name)})
        for name, value in after.items():
            if name in before:
                _compare(before[name], value, _member(pointer, name), operations)
            else:
                operations.append({"op": "add", "path": _member(pointer, name), "value": value})
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after) <= MOST_COMPARED:
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            _compare(one, other, f"{pointer}/{index}", operations)
    elif type(before) is not type(after) or before != after:
        operations.append({"op": "replace", "path": pointer, "value": after})


def _member(pointer: str, name: str) -> str:
    if "~" in name or "/" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{pointer}/{name}"
