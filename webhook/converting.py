"""The conversion webhook: objects of one version of a CRD in another, as the API server converts the built-in ones."""

from __future__ import annotations

from typing import Any

from deviceselectors.request_budget import RequestBudget
from resourceapi.decoding import DecodingError
from resourceapi.field_path import render
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.server import Server
from webhook.context import Context
from webhook.reviews import converted, not_converted, parse_conversion

# A request of thousands of broken objects gets an answer of a readable size.
MAX_REPORTED = 10


class _Inconvertible(Exception):
    """Why one object cannot be had in a version."""


def convert(review: Any, context: Context, budget: RequestBudget | None = None) -> Object:
    """The answer to a ConversionReview: all objects, their metadata as it was; or what is wrong with which of them.

    The converted objects take the places of the review's, so that a list is not in memory twice.

    :param budget: who waits, and for how long; None if it may take as long as it takes.
    :raises WebhookError: if it is no ConversionReview.
    :raises BudgetSpentError: if nobody waits any more.
    """
    request = parse_conversion(review)
    objects = request.objects
    problems: list[str] = []
    wrong = 0
    for index, obj in enumerate(objects):
        if budget is not None:
            budget.insist()
        try:
            objects[index] = _convert(obj, request.desired, context.server)
        except _Inconvertible as error:
            wrong += 1
            if wrong <= MAX_REPORTED:
                problems.append(f"{_named(index, obj)}: {error}")
    if budget is not None:
        budget.insist()  # before the answer is written
    if not problems:
        return converted(request, objects)
    message = "; ".join(problems)
    if wrong > MAX_REPORTED:
        message += f"; and {wrong - MAX_REPORTED} more"
    return not_converted(request, message)


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
    """Which object it is, for a message."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return f"objects[{index}]"
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if isinstance(namespace, str) and namespace else metadata["name"]
    return f"objects[{index}] ({name})"
