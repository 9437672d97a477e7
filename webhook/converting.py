"""The conversion webhook: objects of one version of a CRD in another, as the API server converts the built-in ones."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from json.encoder import encode_basestring
from typing import Any

from deviceselectors.request_budget import RequestBudget
from resourceapi.decoding import DecodingError
from resourceapi.field_errors import render
from resourceapi.go_text import json_parts
from resourceapi.json_text import may_have_literals
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.releases import split_api_version
from serving.routes import LARGE_BYTES, encode_json, json_bytes
from validation.server import Server
from webhook.context import Context
from webhook.reviews import ConversionRequest, converted, not_converted, parse_conversion

# The answer to a request with thousands of broken objects stays readable.
MAX_REPORTED = 10
MAX_NAME = 1000
# Parts of a large answer that are joined at a time.
_PARTS = 4096


class _Inconvertible(Exception):
    """Why an object cannot be converted to a version."""


def convert(review: Any, context: Context, budget: RequestBudget | None = None) -> Object:
    """The answer to a ConversionReview: all objects, their metadata as it was; or which of them cannot be converted, and why.

    The converted objects take the places of the review's, so that a list is not in memory twice.

    :param budget: checked before each object; None for no limit.
    :raises WebhookError: if it is no ConversionReview.
    :raises BudgetSpentError: if the client no longer waits.
    """
    return answer(parse_conversion(review), context, budget)


def answer(request: ConversionRequest, context: Context, budget: RequestBudget | None) -> Object:
    """The answer to the request in a ConversionReview, as :func:`convert` gives it.

    :raises BudgetSpentError: if the client no longer waits.
    """
    objects = request.objects
    problems: list[str] = []
    failures = 0
    for index, obj in enumerate(objects):
        if budget is not None:
            budget.insist()
        try:
            objects[index] = _convert(obj, request.desired, context.server)
        except _Inconvertible as error:
            failures += 1
            if failures <= MAX_REPORTED:
                problems.append(f"{_named(index, obj)}: {error}")
    if budget is not None:
        budget.insist()  # before the answer is encoded
    if not problems:
        return converted(request, objects)
    message = "; ".join(problems)
    if failures > MAX_REPORTED:
        message += f"; and {failures - MAX_REPORTED} more"
    return not_converted(request, message)


def encode(body: bytes, answer: Object) -> bytes | bytearray:
    """The answer to a conversion as JSON.

    Only converted objects can have numbers that must be written as they came, or be nested over many levels; encoding
    takes several times as long then.

    :param body: of the request.
    """
    if not may_have_literals(body):
        with suppress(RecursionError):
            return encode_json(body, answer) if len(body) < LARGE_BYTES else _plain(answer)
    parts = json_parts(answer, encode_basestring)
    encoded = bytearray()
    while some := "".join(islice(parts, _PARTS)):
        encoded += json_bytes(some)
    return encoded


def _plain(answer: Object) -> bytearray:
    """The answer as JSON, one object after the other, so that other threads take turns."""
    response = answer["response"]
    around = encode_json(b"", {**answer, "response": {**response, "convertedObjects": []}})
    before, list_, after = around.partition(b'"convertedObjects":[]')
    encoded = bytearray(before + list_[:-1])
    for index, obj in enumerate(response["convertedObjects"]):
        encoded += b"," * (index > 0) + encode_json(b"", obj)
    encoded += b"]" + after
    return encoded


def _convert(obj: Object, desired: str, server: Server) -> Object:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise _Inconvertible("apiVersion and kind must be strings")
    for version in (api_version, desired):
        group, name = split_api_version(version)
        if group != GROUP or kind not in KINDS or name not in KINDS[kind].versions:
            raise _Inconvertible(f"there is no {kind[:100]} in {version[:100]}")
    if api_version == desired:
        return obj
    try:
        result = server.read(obj, desired)
    except DecodingError as error:
        raise _Inconvertible(f"{render(error.path)}: {error.text}" if error.path else error.text) from None
    if "metadata" in obj:
        result["metadata"] = obj["metadata"]
    return result


def _named(index: int, obj: Object) -> str:
    """The object's position and name, for a message."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return f"objects[{index}]"
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if isinstance(namespace, str) and namespace else metadata["name"]
    return f"objects[{index}] ({shortened(name, MAX_NAME)})"
