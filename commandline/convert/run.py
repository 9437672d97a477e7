"""Runs ``claimcheck convert``: rewrites manifests in another API version and keeps comments and layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimcheck.answers.convert import convert_text
from commandline.convert.results import Result, result_of
from commandline.exit_codes import NEGATIVE, UNFINISHED
from commandline.options import insist_on_paths
from commandline.reading import find, search
from commandline.reports.escaping import complain
from documents.errors import DocumentError
from documents.source import decode, read_file
from resourceapi.releases import Profile

if TYPE_CHECKING:
    from argparse import Namespace

    from documents.finding import Files


def run(options: Namespace) -> int:
    """Convert the files that the options name. A file with an object that cannot be converted is not written."""
    insist_on_paths(options)
    conversion = _Conversion(options.to, options.kube_version, result_of(options))
    files = search(options)
    for found in find(options, files):
        conversion.add(found)
    conversion.add_left_out(files)
    conversion.finish()
    return conversion.exit_code


class _Conversion:
    def __init__(self, version: str, release: str | None, result: Result) -> None:
        self.version = version
        profile = Profile(release) if release else Profile()
        self.schemas = profile.schemas
        self.minor = profile.minor if release else None
        self.result = result
        self.exit_code = 0
        self._is_used = False  # whether there was a file at all

    def add(self, found: str | DocumentError) -> None:
        """Convert one file."""
        self._is_used = True
        try:
            if isinstance(found, DocumentError):
                raise found
            self.result.insist_on_use_for(found)
            text = decode(read_file(found), found)
        except DocumentError as error:
            self._complain(error, NEGATIVE if error.line else UNFINISHED)
            return
        converted = convert_text(text, found, self.version, self.schemas, self.minor)
        for problem in converted.problems:
            self._complain(problem, NEGATIVE)
        if not converted.problems:
            try:
                self.result.add(found, text, converted.text)
            except DocumentError as error:
                self._complain(error, UNFINISHED)

    def add_left_out(self, files: Files) -> None:
        """Say which files have objects in other versions and are no manifests that could be rewritten."""
        from commandline.convert.left_out import left_out

        found = list(left_out(files))
        for each in found:
            if each.version != self.version:
                self._complain(each.error(), NEGATIVE)
        if files.charts and not self._is_used and not found:
            complain("nothing was converted: templates of Helm charts are no manifests, rewrite them by hand")
            self.exit_code = max(self.exit_code, NEGATIVE)

    def finish(self) -> None:
        """Say what the result is for all files."""
        self.exit_code = max(self.exit_code, self.result.finish())

    def _complain(self, error: DocumentError, code: int) -> None:
        complain(str(error), *([f"  hint: {error.hint}"] if error.hint else ()))
        self.exit_code = max(self.exit_code, code)
