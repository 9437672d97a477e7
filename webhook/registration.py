"""Whether the API server asks about every change that the configuration guards.

What it asks about stands in a webhook configuration, which may have been made for another configuration of the service: with
`claimcheck manifests --url` and without `--config`, say. Nobody would notice that a label is not guarded.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from threading import Thread

from resourceapi.api_client import NOT_FOUND, Api, Unavailable, get_object
from resourceapi.logs import log
from resourceapi.manifests import entries, text
from resourceapi.objects import Object

#: The condition in it with the labels that are guarded.
CONDITION = "label-changes"
_NAME = "claimcheck-namespaces"
_PATH = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{_NAME}"
_APPLY = "apply what `claimcheck manifests --config FILE` prints for this configuration"


def in_cel(key: str) -> str:
    """The key of a label in the condition."""
    return "'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unregistered(configuration: Object, keys: Collection[str]) -> list[str]:
    """The keys of guarded labels of whose changes the API server does not tell.

    :param configuration: the webhook configuration; without the condition the API server tells of all changes.
    """
    for webhook in entries(configuration, "webhooks"):
        for condition in entries(webhook, "matchConditions"):
            if text(condition, "name") == CONDITION:
                listed, _, _ = text(condition, "expression").partition("]")
                return [key for key in keys if in_cel(key) not in listed]
    return []


def check_registration(api: Api, keys: Collection[str]) -> None:
    """Log which guarded labels the API server does not ask about. If the service may not know, nothing is said."""
    try:
        configuration = get_object(api, _PATH, "ValidatingWebhookConfiguration", _NAME)
    except Unavailable as error:
        missing = list(keys) if error.code == NOT_FOUND else []
    else:
        missing = unregistered(configuration, keys)
    if missing:
        log(logging.WARNING, "labels are not guarded", labels=missing, webhooks=_NAME, hint=_APPLY)


def start_check(api: Api, keys: Collection[str]) -> None:
    """Check in the background: the API server may not answer, and is asked for nothing else here."""
    Thread(target=check_registration, args=(api, keys), name="registration", daemon=True).start()
