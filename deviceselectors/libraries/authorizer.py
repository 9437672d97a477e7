"""Kubernetes' library of authorizers: declared, but no expression of a device selector can get an authorizer."""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime.values import CelError

#: Asking an authorizer.
_CHECK_COST = 350_000


def _unreachable(*arguments: Any) -> Any:
    raise CelError("no such overload")


def _function(name: str, *signatures: str, cost: int | None = None, server: int | None = None) -> Function:
    overloads = [Overload(signature, _unreachable) for signature in signatures]
    estimate = None if cost is None else lambda arguments: (cost, None)
    return Function(name, *overloads, cost=cost, estimate=estimate, server=server)


FUNCTIONS = (
    _function("path", ".authorizer_path Authorizer; string > PathCheck"),
    _function("group", ".authorizer_group Authorizer; string > GroupCheck"),
    _function("serviceAccount", ".authorizer_serviceaccount Authorizer; string; string > Authorizer"),
    _function("resource", ".groupcheck_resource GroupCheck; string > ResourceCheck"),
    _function("subresource", ".resourcecheck_subresource ResourceCheck; string > ResourceCheck"),
    _function("namespace", ".resourcecheck_namespace ResourceCheck; string > ResourceCheck"),
    _function("name", ".resourcecheck_name ResourceCheck; string > ResourceCheck"),
    _function("fieldSelector", ".authorizer_fieldselector ResourceCheck; string > ResourceCheck", server=31),
    _function("labelSelector", ".authorizer_labelselector ResourceCheck; string > ResourceCheck", server=31),
    _function(
        "check",
        ".pathcheck_check PathCheck; string > Decision",
        ".resourcecheck_check ResourceCheck; string > Decision",
        cost=_CHECK_COST,
    ),
    _function("allowed", ".decision_allowed Decision > bool"),
    _function("errored", ".decision_errored Decision > bool"),
    _function("error", ".decision_error Decision > string"),
    _function("reason", ".decision_reason Decision > string"),
)
