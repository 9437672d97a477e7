"""Reads the objects of the input from files, directories and standard input."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from advice.findings import NOTE, WARNING, Finding, Result
from claimcheck.answers.cluster_context import ClusterContext
from claimcheck.answers.outcome import Failure, Outcome
from claimcheck.answers.reading import Input, Text, read_files
from commandline.errors import UsageError
from commandline.reports.escaping import complain
from documents.errors import DocumentError, EmptyDirectory
from documents.finding import (
    HIDDEN,
    KUSTOMIZATION,
    LINK,
    NO_DIRECTORY,
    NO_FILE,
    PACKED,
    PART_OF_CHART,
    PATCH,
    SUFFIX,
    TEMPLATES,
    VALUES,
    Files,
    find_files,
)
from documents.source import STANDARD_INPUT
from resourceapi.model import workloads
from resourceapi.phrases import number
from validation.requests import SKIPPED_FILE

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from documents.manifest import Manifest
    from resourceapi.releases import Profile


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
    return TEMPLATES in parts or parts[-1] == f"{VALUES}.yaml" or parts[-1].endswith(PACKED)


def read(arguments: Iterable[str]) -> Iterator[Manifest | Result | Failure]:
    """The objects in files, directories and standard input (``-``), in order; see :func:`claimcheck.answers.reading.read_files`."""
    files = find_files(arguments)
    found = list(files)
    _tell_of_links(files)
    return read_files(found)


def search(options: Namespace) -> Files:
    """The files of ``options.paths`` without those of ``--exclude``."""
    return Files(options.paths, _exclusion(options))


def find(options: Namespace, files: Files | None = None) -> list[str | DocumentError]:
    """The same as a list. Tells the user what is left out of Helm charts and kustomizations.

    :param files: what :func:`search` gives, for those who ask it afterwards what was left out.
    """
    files = search(options) if files is None else files
    found = list(files)
    _tell(files, options)
    return found


def find_and_render(options: Namespace, profile: Profile, unread: Outcome) -> list[Input]:
    """The same as :func:`find`, and with ``--helm`` and ``--kustomize`` what these make of charts and kustomizations. A directory without manifests is no error.

    :param profile: the server that templates of charts are told of.
    :param unread: files that look like manifests and are not read are added, each with a note, and what a ``.claimcheck.yaml`` leaves out.
    :raises UsageError: if there is no ``helm``.
    """
    files = search(options)
    found: list[Input] = list(files)
    _tell(files, options)
    if options.fail_on_skipped:
        unread.remarks = [*told_of_exclusion(files, options), *_told_of_settings(options)]
    built: Collection[str] = ()
    if options.kustomize:
        from commandline.kustomize import build_all, without_built

        texts, built = build_all(files.kustomized)
        found = [*without_built(found, built, named=options.paths), *texts]
    if options.helm:
        from commandline.helm import render_all

        made = sum(len(each.content) for each in found if isinstance(each, Text))
        found += render_all(files.charts, profile, tell=complain, made=made)

    unread.skipped_files += note(files, rendered=options.helm, built=built)
    manifests = []
    for each in found:
        if not isinstance(each, EmptyDirectory):
            manifests.append(each)
        elif not options.quiet:
            complain(f"{each.file}: {each.message}")
    return manifests


def _tell(files: Files, options: Namespace) -> None:
    """Say what is left out of what the options name."""
    _tell_of_links(files)
    if not getattr(options, "quiet", False):
        if not getattr(options, "helm", False):
            for chart in files.charts:
                complain(_about_chart(chart, can_render=hasattr(options, "helm")))
        if not getattr(options, "kustomize", False):
            _tell_of_patches(files)


def _tell_of_links(files: Files) -> None:
    """Say what has not been read, although it looks like a file of the directory."""
    if files.links:
        others = f" and {len(files.links) - 1} more" if len(files.links) > 1 else ""
        complain(
            f"claimcheck: not read: {files.links[0]}{others}: links to hidden files, or out of the directory"
        )


def told_of_exclusion(files: Files, options: Namespace) -> Iterator[tuple[str, str]]:
    """Say what a ``.claimcheck.yaml`` leaves out, which whoever proposes a change can change; also if it asks for quiet."""
    place = options.configured.get("--exclude")
    if not place or not files.excluded or options.config:
        return
    left_out = (
        f"{number(files.excluded, 'file')} or directories" if files.excluded > 1 else "a file or directory"
    )
    told = f"{place}: exclude leaves out {left_out}, such as {files.first_excluded}"
    complain(f"claimcheck: {told}")
    yield WARNING, told


#: The options in a ``.claimcheck.yaml`` that hide no error, and the one of which more is told.
_HARMLESS = frozenset(
    ("--notes", "--show-all", "--quiet", "--warnings-as-errors", "--fail-on-empty", "--exclude")
)


def _told_of_settings(options: Namespace) -> Iterator[tuple[str, str]]:
    """Say which options a ``.claimcheck.yaml`` sets that decide the verdict: with other ones, objects may be invalid."""
    names = [option.removeprefix("--") for option in options.configured if option not in _HARMLESS]
    if not names or options.config:
        return
    file = next(iter(options.configured.values())).rpartition(":")[0]
    told = f"objects are judged as {file} says: {', '.join(names)}"
    complain(f"claimcheck: {told}")
    yield NOTE, told


def _exclusion(options: Namespace) -> Callable[[str], bool] | None:
    if not options.exclude:
        return None
    from documents.finding import MOST_CHARACTERS, MOST_PATTERNS, Exclusion

    if len(options.exclude) > MOST_PATTERNS:
        raise UsageError(
            f"--exclude: {len(options.exclude):,} patterns; at most {MOST_PATTERNS} are possible"
        )
    if (characters := sum(map(len, options.exclude))) > MOST_CHARACTERS:
        raise UsageError(
            f"--exclude: patterns of {characters:,} characters in all; at most {MOST_CHARACTERS:,} are possible"
        )
    return Exclusion(options.exclude, options.exclude_base)


def _about_chart(directory: str, *, can_render: bool) -> str:
    from shlex import quote

    command = f"helm template {quote(directory)} | claimcheck validate -"
    how = f"{command}, or --helm" if can_render else command
    return f"{directory}: the templates of a Helm chart are skipped; to check what it makes: {how}"


def _tell_of_patches(files: Files) -> None:
    from shlex import quote

    for directory in files.kustomizations:
        how = f"kubectl kustomize {quote(directory)} | claimcheck validate -"
        complain(f"{directory}: the patches of a kustomization are skipped; to check what it makes: {how}")


def read_named(option: str, arguments: list[str]) -> Iterator[Manifest | Result | Failure]:
    """The objects in the files of an option. Without all of them, the answer would be wrong.

    :raises UsageError: if a named file or directory does not exist or cannot be read at all.
    """
    for found in read(arguments):
        if isinstance(found, Failure) and found.file in arguments:
            raise UsageError(f"{option} {found.file}: {found.message}")
        yield found


def insist_on_one_reader(*arguments: Iterable[str]) -> None:
    """Check that standard input is named at most once.

    :raises UsageError: if several of these groups of arguments name it.
    """
    if sum(STANDARD_INPUT in group for group in arguments) > 1:
        raise UsageError(f"{STANDARD_INPUT} stands for standard input, which can be read only once")


def context_of(namespace_labels: Iterable[str]) -> ClusterContext:
    """The context of a run, with the labels of the option.

    :param namespace_labels: its values, ``k=v,…`` for all namespaces or ``NAMESPACE:k=v,…`` for one.
    :raises UsageError: if one is neither.
    """
    return ClusterContext(parse_labels(text) for text in namespace_labels)


def parse_labels(text: str) -> tuple[str, dict[str, str]]:
    """A value of ``--namespace-labels`` as namespace (empty: all) and labels.

    :raises UsageError: if it is neither ``k=v,…`` nor ``NAMESPACE:k=v,…``.
    """
    namespace, colon, labels = text.partition(":")
    if not colon:
        namespace, labels = "", text
    return namespace, dict(_pairs(labels, text))


def _pairs(text: str, whole: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--namespace-labels {whole}: expected [NAMESPACE:]KEY=VALUE[,…]")
        yield key.strip(), value.strip()
