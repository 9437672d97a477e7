"""What becomes of rewritten files: they are printed, written, or compared with what they were."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from errno import EINVAL
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.reports.escaping import complain, on_one_line, without_commands
from commandline.terminal import BOLD, CYAN, GREEN, RED, is_colored, paint
from documents.errors import DocumentError
from documents.source import STANDARD_INPUT, decode, read_file
from resourceapi.phrases import number

if TYPE_CHECKING:
    from argparse import Namespace


class Result(ABC):
    """What becomes of rewritten files."""

    def insist_on_use_for(self, file: str) -> None:  # noqa: B027 - most can be done with any file
        """Check that this can be done with a file.

        :raises UsageError: if it cannot.
        """

    @abstractmethod
    def add(self, file: str, text: str, converted: str) -> None:
        """Do it with a file: its text before and after.

        :raises DocumentError: if it cannot be written.
        """

    def finish(self) -> int:
        """Say what is to be said about all files; returns the exit code."""
        return SUCCESS


class StandardOutput(Result):
    """All files are printed, as one stream of documents."""

    def __init__(self) -> None:
        self._written = False

    def add(self, file: str, text: str, converted: str) -> None:
        """Print it."""
        if not converted.strip():
            return
        if self._written and not converted.startswith("---"):
            sys.stdout.write("---\n")
        sys.stdout.write(converted if converted.endswith("\n") or not converted else converted + "\n")
        self._written = self._written or bool(converted)


class InPlace(Result):
    """The files that change are written."""

    def insist_on_use_for(self, file: str) -> None:
        """Check that it is not standard input."""
        if file == STANDARD_INPUT:
            raise UsageError("--in-place needs files: standard input cannot be rewritten")

    def add(self, file: str, text: str, converted: str) -> None:
        """Write it, or remove the file if nothing is left in it."""
        if converted == text:
            return
        try:
            if not converted:
                os.remove(file)
                return
            with open(file, "r+b") as former:  # whoever may not write it may not replace it
                status = os.fstat(former.fileno())
            write_whole(file, [converted], status)
        except OSError as error:
            raise DocumentError(file, 0, 0, (error.strerror or str(error)).lower()) from None


def write_whole(file: str, parts: Iterable[str], former: os.stat_result | None = None) -> None:
    """Write a file beside, then have it take the place of this one, which a failure leaves as it is. Links are followed.

    :param former: whose mode and owner it gets; None for one that nobody else may read.
    :raises OSError: if it cannot be written.
    """
    from tempfile import mkstemp

    target = os.path.realpath(file)
    if former and not S_ISREG(former.st_mode):
        raise OSError(EINVAL, "Not a regular file")
    descriptor, beside = mkstemp(".unfinished", ".claimcheck-", os.path.dirname(target))
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.writelines(parts)
            stream.flush()
            if former:
                with suppress(PermissionError):  # only root gives files to others
                    os.fchown(descriptor, former.st_uid, former.st_gid)
                os.fchmod(descriptor, S_IMODE(former.st_mode))
            os.fsync(descriptor)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


class Comparison(Result):
    """Nothing is written: it is shown what would change, or only listed where.

    :param show: whether to show the lines that would change.
    """

    def __init__(self, *, show: bool, colored: bool) -> None:
        self._show = show
        self._colored = colored
        self._changed = self._unchanged = 0

    def add(self, file: str, text: str, converted: str) -> None:
        """Show or list it if it would change."""
        if converted == text:
            self._unchanged += 1
            return
        self._changed += 1
        if not self._show:
            print(without_commands(on_one_line(f"would change: {file}")))
            return
        from commandline.differences import differences

        before, after = (each.removesuffix("\n").split("\n") for each in (text, converted))
        shown = list(differences(before, after))
        for line in [f"--- {file}", f"+++ {file}", *shown] if shown else []:
            print(without_commands(paint(on_one_line(line), _color_of(line), self._colored)))

    def finish(self) -> int:
        """Count the files."""
        unchanged = f", {number(self._unchanged, 'file')} would not" if self._unchanged else ""
        complain(f"{number(self._changed, 'file')} would change{unchanged}")
        return NEGATIVE if self._changed else SUCCESS


def _color_of(line: str) -> str:
    if line.startswith(("---", "+++")):
        return BOLD
    return {"+": GREEN, "-": RED, "@": CYAN}.get(line[:1], "")


def result_of(options: Namespace) -> Result:
    """What the options say that becomes of rewritten files (:func:`commandline.options.add_rewriting`).

    :raises UsageError: for options that contradict each other.
    """
    if (options.check or options.diff) and options.in_place:
        raise UsageError("--in-place writes files, --check and --diff do not: use only one of them")
    if options.check or options.diff:
        return Comparison(show=options.diff, colored=is_colored(options.color, sys.stdout))
    return InPlace() if options.in_place else StandardOutput()


class Rewriting:
    """Files that are read and rewritten one after another; says what is wrong with them.

    :ivar problems: what was wrong.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.problems: list[DocumentError] = []
        self.exit_code = SUCCESS

    def texts(self, found: Iterable[str | DocumentError]) -> Iterator[tuple[str, str]]:
        """The files that can be read, with their texts.

        :raises UsageError: for a file that cannot be rewritten so.
        """
        for file in found:
            try:
                if isinstance(file, DocumentError):
                    raise file
                self.result.insist_on_use_for(file)
                text = decode(read_file(file), file)
            except DocumentError as error:
                self.complain(error, NEGATIVE if error.line else UNFINISHED)
            else:
                yield file, text

    def write(self, file: str, text: str, converted: str) -> None:
        """Print, write or compare a file."""
        try:
            self.result.add(file, text, converted)
        except DocumentError as error:
            self.complain(error, UNFINISHED)

    def complain(self, error: DocumentError, code: int) -> None:
        """Say what is wrong, and end with this exit code or a greater one."""
        complain(str(error), *([f"  hint: {error.hint}"] if error.hint else ()))
        self.problems.append(error)
        self.exit_code = max(self.exit_code, code)
