"""Files that look like manifests and are not read: a note about each."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from advice.findings import NOTE, Finding, Result
from documents.finding import (
    HIDDEN,
    KUSTOMIZATION,
    LINK,
    NO_DIRECTORY,
    NO_FILE,
    PART_OF_CHART,
    PATCH,
    SUFFIX,
    TEMPLATES,
    VALUES,
    Files,
)
from resourceapi.model import workloads
from validation.rule_names import SKIPPED_FILE

_NAME_IT = "name the file itself to validate it, or leave it out with --exclude"
_NOTES = {
    HIDDEN: ("not validated, as it is hidden or in a hidden directory", _NAME_IT),
    PART_OF_CHART: (
        "not validated, as it is part of a Helm chart",
        "validate what Helm makes of the chart (--helm); move manifests that Helm does not install out of it",
    ),
    PATCH: (
        "not validated, as a kustomization names it as a patch",
        "validate what `kubectl kustomize` makes of it, and name the file itself or leave it out with --exclude",
    ),
    LINK: ("not validated, as it is a link out of the directory or to something hidden", _NAME_IT),
    SUFFIX: ("not validated, as its suffix is not in lower case", "rename it to .yaml, .yml or .json"),
    NO_FILE: ("not validated, as it is neither a file nor a link to one", "remove it"),
    NO_DIRECTORY: ("nothing in it is validated, as the directory cannot be listed", "change its permissions"),
}


# One of these is in every text with the claims of a pod, however they are written.
_TRACES_OF_CLAIMS = (b"laims", b"\\", b"!")


class _NoSource:
    """The lines of a file that is not read."""

    line = 0

    def source_line(self, number: int) -> str:
        return ""


def note(files: Files, *, rendered: bool, built: Collection[str] = ()) -> Iterator[Result]:
    """A result with a note for each file that was left out.

    :param rendered: whether Helm makes manifests of charts; then their templates and own values are not skipped.
    :param built: the files that kustomize has read, as normalized paths.
    """
    source = _NoSource()
    with_claims: bool | None = None
    for file, reason, brought in files.skipped():
        if reason in (PATCH, KUSTOMIZATION) and os.path.normpath(file) in built:
            continue
        if rendered and reason == PART_OF_CHART and _is_read_by_helm(file):
            continue
        if reason == KUSTOMIZATION:
            if with_claims is None:
                with_claims = files.mentions(_TRACES_OF_CLAIMS)
            wanted = [each.what for each in brought if _is_reviewed(each.kind, with_claims=with_claims)]
            if not wanted:
                continue
            message, hint = _about_kustomization(file, wanted)
        else:
            message, hint = _NOTES[reason]
        result = Result(file, 1, source)
        result.findings.append(Finding(NOTE, SKIPPED_FILE, message, hint=hint))
        yield result


def _is_reviewed(kind: str, *, with_claims: bool) -> bool:
    """Whether objects of a kind are validated; workloads are if they have claims."""
    from advice.hints.group import KINDS_OF_THE_GROUP
    from documents.kustomizations import ANY

    return kind == ANY or kind in KINDS_OF_THE_GROUP or (with_claims and kind in workloads.RESOURCES)


def _about_kustomization(file: str, brought: Iterable[str]) -> tuple[str, str]:
    from shlex import quote

    command = f"kubectl kustomize {quote(os.path.dirname(file) or os.curdir)} | claimcheck validate -"
    message = f"what kustomize makes of it is not validated, as it has {', '.join(dict.fromkeys(brought))}"
    return message, f"validate that: {command}; and leave this file out with --exclude"


def _is_read_by_helm(file: str) -> bool:
    parts = file.split(os.sep)
    return TEMPLATES in parts or parts[-1] == f"{VALUES}.yaml"
