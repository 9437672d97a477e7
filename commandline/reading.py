"""Reads the objects of the input from files, directories and standard input."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from claimcheck.answers.outcome import Failure
from claimcheck.answers.reading import Input, read_files
from commandline.errors import UsageError
from commandline.reports.escaping import complain
from documents.errors import DocumentError, EmptyDirectory
from documents.finding import Files, find_files
from documents.source import STANDARD_INPUT
from resourceapi.phrases import number

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from advice.findings import Result
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


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


def find_and_render(options: Namespace, profile: Profile, skipped: list[Result]) -> list[Input]:
    """The same as :func:`find`, and with ``--helm`` and ``--kustomize`` what these make of charts and kustomizations. A directory without manifests is no error.

    :param profile: the server that templates of charts are told of.
    :param skipped: files that look like manifests and are not read are appended, each with a note.
    :raises UsageError: if there is no ``helm``.
    """
    files = search(options)
    found: list[Input] = list(files)
    _tell(files, options)
    if options.fail_on_skipped:
        _tell_of_exclusion(files, options)
    built: Collection[str] = ()
    if options.kustomize:
        from commandline.kustomize import build_all, without_built

        texts, built = build_all(files.kustomized)
        found = [*without_built(found, built, named=options.paths), *texts]
    if options.helm:
        from commandline.helm import render_all

        found += render_all(files.charts, profile, tell=complain)
    from commandline.skipped_files import note

    skipped += note(files, rendered=options.helm, built=built)
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


def _tell_of_exclusion(files: Files, options: Namespace) -> None:
    """Say what a ``.claimcheck.yaml`` leaves out, which whoever proposes a change can change; also if it asks for quiet."""
    place = options.configured.get("--exclude")
    if place and files.excluded and not options.config:
        left_out = (
            f"{number(files.excluded, 'file')} or directories"
            if files.excluded > 1
            else "a file or directory"
        )
        complain(f"claimcheck: {place}: exclude leaves out {left_out}, such as {files.first_excluded}")


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
