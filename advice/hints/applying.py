"""Hints for what `kubectl apply` cannot do, and other ways to send an object can."""

from __future__ import annotations

from advice.hints.hint import Hint, Problem
from resourceapi.field_errors import TOO_LONG
from resourceapi.manifests import mapping
from resourceapi.names import ANNOTATIONS_BYTES
from validation.requests import FIELD_CONFLICT, GENERATED_NAME, PATCH_REFUSED, WRONG_TYPE


def _copy_of_the_manifest(problem: Problem) -> str:
    """Annotations that are too large together with the one in which kubectl keeps the manifest."""
    annotations = mapping(problem.object, "metadata", "annotations")
    if sum(len(str(value)) for value in annotations.values()) > ANNOTATIONS_BYTES:
        return ""
    return "use `kubectl apply --server-side`: without it, kubectl keeps a copy of the whole manifest in an annotation"


def _list_of_operations(problem: Problem) -> str:
    if not isinstance(problem.object, list) or not problem.message.endswith("must be a mapping"):
        return ""
    return "a list of operations is a JSON patch: `--patch-type json`"


def _zero(problem: Problem) -> str:
    """A number without which the server takes an object, but kubectl no list."""
    name = problem.message.partition('missing required field "')[2].partition('"')[0]
    return f"add `{name}: 0`, which the server takes it for: kubectl checks the items of a list itself"


HINTS = (
    Hint(
        "null-in-a-list",
        (WRONG_TYPE,),
        "remove it: kubectl checks the items of a list itself, and takes no null here",
        message='unknown object type "nil"',
    ),
    Hint("number-in-a-list", (WRONG_TYPE,), _zero, message="missing required field"),
    Hint(
        "generated-name",
        (GENERATED_NAME,),
        "write a `name`, or let `kubectl create` send the object (`claimcheck validate --create`)",
    ),
    Hint(
        "field-conflict",
        (FIELD_CONFLICT,),
        "leave these fields out, write the values that they have, or take them over with `--force-conflicts`",
    ),
    Hint(
        "no-yaml",
        (PATCH_REFUSED,),
        "use `kubectl apply` without `--server-side`, or leave the character out: the server reads as YAML what it is to apply, "
        "and YAML has no U+007F to U+009F (but for U+0085), U+FFFE and U+FFFF",
        message="control characters are not allowed",
    ),
    Hint(
        "long-key",
        (PATCH_REFUSED,),
        "use `kubectl apply` without `--server-side`, or another key: the server reads as YAML what it is to apply, "
        "where a key is on one line (without U+0085), and has 1,022 characters at most",
        message="did not find expected ',' or '}'",
    ),
    Hint("patch-type", (PATCH_REFUSED,), _list_of_operations),
    Hint("last-applied", (TOO_LONG,), _copy_of_the_manifest, place=r"^metadata\.annotations$"),
)
