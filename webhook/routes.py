"""The webhooks as routes of a server: ``/validate``, ``/mutate`` and ``/convert``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deviceselectors.request_budget import BudgetSpentError, RequestBudget, within
from resourceapi.limits import CLAIM_EXPRESSIONS_BYTES, STORED_OBJECT_BYTES
from resourceapi.logs import LOGGER, log
from resourceapi.objects import Object
from serving.routes import Caller, HTTPError, Route, Waiting, decode_json
from webhook import converting, mutating, validating
from webhook.context import Context
from webhook.policies import OpaqueParameters
from webhook.reviews import (
    AdmissionRequest,
    ConversionRequest,
    namespace_in_head,
    namespace_of_first,
    parse_admission,
    parse_conversion,
)

if TYPE_CHECKING:
    from webhook.metrics import Metrics


ADMISSION_BYTES = 3 * 1024 * 1024
CONVERSION_BYTES = 32 * 1024 * 1024
# No object that can be stored has more.
EXPRESSIONS_BYTES = min(CLAIM_EXPRESSIONS_BYTES, STORED_OBJECT_BYTES)
_ADMISSION, _CONVERSION = "admission", "conversion"
_Answer = TypeVar("_Answer")


class ReviewLimits(NamedTuple):
    """The largest bodies: bytes of an AdmissionReview, and of a ConversionReview."""

    admission: int = ADMISSION_BYTES
    conversion: int = CONVERSION_BYTES


def deadline(seconds: float) -> RequestBudget:
    """The budget of a review that begins now.

    :param seconds: until its answer.
    """
    return RequestBudget(seconds, EXPRESSIONS_BYTES)


def make_routes(context: Context, metrics: Metrics, limits: ReviewLimits) -> Iterator[Route]:
    """The routes that answer from a context; kinds that are built in need no conversion webhook."""
    keeps_repeated = any(isinstance(policy, OpaqueParameters) for policy in context.policies)
    yield _admission_route("/validate", partial(_validate, context), metrics, limits, keeps_repeated)
    yield _admission_route("/mutate", partial(_mutate, context), metrics, limits, False)
    if context.rules:
        yield Route(
            "/convert",
            partial(_convert, context),
            limits.conversion,
            encode=converting.encode,
            decode=lambda body: parse_conversion(decode_json(body)),
            lane=_CONVERSION,
            namespace=namespace_of_first,
            answered=partial(_conversion_answered, metrics),
            log_fields=_log_fields,
        )


def _admission_route(
    path: str,
    handler: Callable[[AdmissionRequest, Caller], Object | Waiting],
    metrics: Metrics,
    limits: ReviewLimits,
    keeps_repeated: bool,
) -> Route:
    """The route of an admission webhook.

    :param keeps_repeated: whether decoding keeps repeated keys for policies; API servers send them only in opaque
        parameters, which they pass on as they came.
    """
    return Route(
        path,
        handler,
        limits.admission,
        decode=lambda body: parse_admission(decode_json(body, keep_repeated=keeps_repeated)),
        lane=_ADMISSION,
        namespace=namespace_in_head,
        answered=partial(_admission_answered, metrics, path[1:]),
        log_fields=_log_fields,
    )


def _validate(context: Context, request: AdmissionRequest, caller: Caller) -> Object | Waiting:
    answer = _within_budget(caller, lambda _: validating.begin(request, context, caller))
    if isinstance(answer, dict):
        return answer
    return Waiting(
        answer,
        too_late="quota cannot be checked now: the API server does not answer",
        too_many="too many reviews wait for quota",
        namespace=request.namespace,
    )


def _mutate(context: Context, request: AdmissionRequest, caller: Caller) -> Object:
    return _within_budget(caller, lambda _: mutating.answer(request, context))


def _convert(context: Context, request: ConversionRequest, caller: Caller) -> Object:
    return _within_budget(caller, lambda budget: converting.answer(request, context, budget))


def _within_budget(caller: Caller, work: Callable[[RequestBudget], _Answer]) -> _Answer:
    """Run work within the caller's budget.

    :raises HTTPError: if that is spent: for the failurePolicy to decide.
    """
    budget = caller.deadline
    assert isinstance(budget, RequestBudget)
    try:
        with within(budget):
            return work(budget)
    except BudgetSpentError as error:
        raise HTTPError(str(error), 504) from None


def _admission_answered(metrics: Metrics, webhook: str, request: AdmissionRequest, answer: Object) -> None:
    metrics.count_admission(webhook, request.kind, answer["response"])
    log_admission(webhook, request, answer["response"])


def _conversion_answered(metrics: Metrics, request: ConversionRequest, answer: Object) -> None:
    metrics.count_conversion("convert", answer["response"])
    log_conversion("convert", request, answer["response"])


def _log_fields(request: AdmissionRequest | ConversionRequest) -> Mapping[str, str]:
    return {"uid": shown_uid(request)}


_MAX_UID = 100


def log_admission(webhook: str, request: AdmissionRequest, response: Object) -> None:
    """Log the response of an AdmissionReview."""
    is_allowed = response["allowed"]
    level = logging.DEBUG if is_allowed else logging.INFO
    if not LOGGER.isEnabledFor(level):
        return
    log(
        level,
        "admitted" if is_allowed else "refused",
        webhook=webhook,
        uid=shown_uid(request),
        operation=request.operation,
        kind=request.kind,
        namespace=request.namespace,
        name=request.name,
        dryRun=request.dry_run,
        reason=response.get("status", {}).get("message", ""),
    )


def log_conversion(webhook: str, request: ConversionRequest, response: Object) -> None:
    """Log the response of a ConversionReview."""
    result = response["result"]
    level = logging.DEBUG if result["status"] == "Success" else logging.WARNING
    uid, objects = shown_uid(request), len(request.objects)
    log(level, "conversion", webhook=webhook, uid=uid, objects=objects, reason=result.get("message", ""))


def shown_uid(request: AdmissionRequest | ConversionRequest) -> str:
    """The uid of a review, shortened: API servers send 36 characters."""
    return request.uid[:_MAX_UID]
