"""Log lines about verdicts: refusals and failed conversions always, all others when debugging."""

from __future__ import annotations

import logging

from resourceapi.logs import LOGGER, log
from resourceapi.objects import Object
from webhook.reviews import AdmissionRequest, ConversionRequest

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
