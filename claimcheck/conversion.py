"""Objects in another API version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from claimcheck.answers.convert import convert_text, convert_value
from claimcheck.inputs import is_model, plain
from documents.source import MAX_FILE_BYTES
from resourceapi.errors import Unanswerable
from resourceapi.model.versions import SCHEMAS


@overload
def convert(obj: str, *, to: str = "v1") -> str: ...


@overload
def convert(obj: Mapping[str, Any], *, to: str = "v1") -> dict[str, Any]: ...


@overload
def convert(obj: Any, *, to: str = "v1") -> Any: ...


def convert(obj: Any, *, to: str = "v1") -> Any:
    """An object of ``resource.k8s.io`` in another version; the same if there is nothing to convert.

    :param obj: a dictionary or a model of ``kubernetes``, or a text in YAML or JSON, which keeps its comments and layout and may have
        several objects.
    :param to: the version, such as ``v1`` or ``v1beta1``.
    :returns: a dictionary, or a text for a text.
    :raises ClaimcheckError: if the version cannot hold an object, or one cannot be read.
    """
    if to not in SCHEMAS:
        raise Unanswerable(f"to: expected one of {', '.join(SCHEMAS)}, found {to!r}")
    if isinstance(obj, str):
        if len(obj) > MAX_FILE_BYTES:
            raise Unanswerable(f"text: larger than {MAX_FILE_BYTES >> 20} MiB")
        converted = convert_text(obj, "text", to, SCHEMAS)
        for problem in converted.problems:
            raise Unanswerable(str(problem), problem.hint)
        return converted.text
    if not isinstance(obj, Mapping) and not is_model(obj):
        raise Unanswerable(f"expected an object or a text, found {type(obj).__name__}")
    return convert_value(plain(obj), to, SCHEMAS)
