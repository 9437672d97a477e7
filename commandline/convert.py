"""``claimcheck convert``: rewrites manifests in another API version and keeps comments and layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from commandline.errors import NEGATIVE
from commandline.options import add_paths, add_rewriting, insist_on_paths
from commandline.reading import find, search
from commandline.reports.escaping import complain
from commandline.rewriting import Rewriting, result_of
from documents.errors import DocumentError
from documents.finding import PART_OF_CHART, PATCH, SUFFIX
from documents.source import decode, read_file
from resourceapi.model.versions import GROUP, SCHEMAS
from resourceapi.releases import MODERN_RELEASES, PROPOSALS, Profile

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from documents.finding import Files


DESCRIPTION = f"Rewrite objects of {GROUP} in another API version. Comments and layout are kept."
EXAMPLES = """examples:
  claimcheck convert --to v1 claim.yaml               writes the result to standard output
  claimcheck convert --to v1 --in-place manifests/    rewrites the files
  claimcheck convert --to v1 --check manifests/       lists the files that are not in v1 yet
  claimcheck convert --to v1 --diff manifests/        shows what would change
  claimcheck convert --to v1beta1 --kube-version 1.32 claim.yaml
                                                      for a cluster of that release
  kubectl get resourceclaims -o yaml | claimcheck convert --to v1beta1 -

Other objects in the files are left unchanged. If the version cannot represent a value, the error names the field.

exit codes: 0 everything is converted, 1 an object cannot be converted, or a file would change (--check, --diff), 2 a file could not be read or written
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(parser)
    parser.add_argument(
        "--to",
        metavar="VERSION",
        required=True,
        type=lambda version: version.removeprefix(f"{GROUP}/"),
        choices=tuple(SCHEMAS),
        help=", ".join(SCHEMAS),
    )
    parser.add_argument(
        "--kube-version",
        metavar="RELEASE",
        type=_release,
        choices=MODERN_RELEASES,
        help="the release that the files are for: versions and fields that it does not have are errors; "
        f"{', '.join(MODERN_RELEASES)} ({PROPOSALS} is the newest one with the fields of enhancement proposals); "
        f"default: every version, with the fields of {MODERN_RELEASES[-2]}. What it drops because a gate is off, `validate` tells",
    )
    add_rewriting(parser)


def _release(given: str) -> str:
    """A release by its name: without a leading `v` and a patch number, as `validate` takes it."""
    from resourceapi.releases import Profile, UnknownRelease

    try:
        return Profile(given).name
    except UnknownRelease:  # it is none of the choices
        return given


_REASONS = {
    PART_OF_CHART: (
        "in a part of a Helm chart, which is not converted",
        "rewrite it by hand: it may have templates",
    ),
    PATCH: ("in a patch of a kustomization, which is not converted", "name the file itself to convert it"),
    SUFFIX: ("in a file that is not read", "rename it to .yaml, .yml or .json, or name the file itself"),
}
_version = re.compile(
    rf"""^[ \t-]*["']?apiVersion["']?[ \t]*:[ \t]*["']?({re.escape(GROUP)}/([^"'\s]+))""", re.MULTILINE
)


class LeftOut(NamedTuple):
    """The version that an object is in, in a file that was left out."""

    file: str
    reason: str
    line: int
    column: int
    version: str

    def error(self) -> DocumentError:
        """That it is not converted."""
        what, hint = _REASONS[self.reason]
        return DocumentError(self.file, self.line, self.column, f"{GROUP}/{self.version} {what}", hint)


def left_out(files: Files) -> Iterator[LeftOut]:
    """The versions of objects in the files that were left out, each version once for a file.

    :param files: after a search.
    """
    for file, reason, _ in files.skipped():
        if reason not in _REASONS:
            continue
        try:
            text = decode(read_file(file), file)
        except DocumentError:  # nobody asked to read it
            continue
        seen: set[str] = set()
        for found in _version.finditer(text):
            if found[2] not in seen:
                seen.add(found[2])
                line_start = text.rfind("\n", 0, found.start(1)) + 1
                line = text.count("\n", 0, line_start) + 1
                yield LeftOut(file, reason, line, found.start(1) - line_start + 1, found[2])


def run(options: Namespace) -> int:
    """Convert the files that the options name. A file with an object that cannot be converted is not written."""
    from claimcheck.answers.convert import convert_text

    insist_on_paths(options)
    rewriting = Rewriting(result_of(options))
    profile = Profile(options.kube_version) if options.kube_version else Profile()
    minor = profile.minor if options.kube_version else None
    files = search(options)
    found = find(options, files)
    for file, text in rewriting.texts(found):
        converted = convert_text(text, file, options.to, profile.schemas, minor)
        for problem in converted.problems:
            rewriting.complain(problem, NEGATIVE)
        if not converted.problems:
            rewriting.write(file, text, converted.text)
    not_read = list(left_out(files))
    for each in not_read:
        if each.version != options.to:
            rewriting.complain(each.error(), NEGATIVE)
    if files.charts and not found and not not_read:
        complain("nothing was converted: templates of Helm charts are no manifests, rewrite them by hand")
        rewriting.exit_code = max(rewriting.exit_code, NEGATIVE)
    return max(rewriting.exit_code, rewriting.result.finish())
