"""The entry point of ``claimcheck``: runs a subcommand and turns errors into messages and exit codes.

Exit codes: 0 success, 1 the answer is negative (invalid, does not fit), 2 some of the work could not be done.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from commandline.config_file import located, settle
from commandline.errors import INTERRUPTED, SUCCESS, UNFINISHED, WorkerLost
from commandline.options import gather_paths
from commandline.subcommands import COMPLETE, SERVE, SUBCOMMANDS, module_of, parser_of
from resourceapi.errors import Unanswerable

_OBJECTS, _OBJECTS_OF_SERVER = 300_000, 100_000
# Errors of writing to standard output: the reader closed the pipe, the device is full or broken, the file too large.
_UNWRITABLE = frozenset((errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments and return its exit code.

    Without arguments it is run with the process's own; then the process may end here.
    """
    if arguments is not None:
        return _main(list(arguments))
    serving = sys.argv[1:2] == [SERVE]
    _collect_garbage_rarely(_OBJECTS_OF_SERVER if serving else _OBJECTS)
    code = _main(sys.argv[1:])
    if not serving:  # a server may have threads
        _leave(code)
    return code


def complete() -> int:
    """What kubectl runs to complete ``kubectl claimcheck``."""
    return main([COMPLETE, *sys.argv[1:]])


def _main(arguments: list[str]) -> int:
    _make_printable()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except (Unanswerable, WorkerLost) as error:
        from commandline.reports.escaping import complain

        hint = error.hint if isinstance(error, Unanswerable) else ""
        complain(f"claimcheck: {error}", *hint.splitlines())
        return UNFINISHED
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        # Nothing may be written to standard output any more, not even when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # then whoever reads it has gone
            print(f"claimcheck: cannot write the output: {(error.strerror or '').lower()}", file=sys.stderr)
        return UNFINISHED
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    try:
        if first in SUBCOMMANDS:
            parser = parser_of(first)
            options = parser.parse(arguments[1:])
        elif not arguments or first in ("-h", "--help"):
            return _help(arguments)
        elif first == COMPLETE:
            from commandline.completion import complete

            return complete(arguments[1:])
        elif arguments == ["--version"]:
            return _print_version()
        else:
            return _no_command(first)
    except SystemExit as exit:  # the user has been told why
        return exit.code if isinstance(exit.code, int) else UNFINISHED
    gather_paths(options)
    if parser.configurable:
        settle(options, parser)
    try:
        return int(module_of(first, "run").run(options))
    except Unanswerable as error:
        raise located(error, options) from None


def _help(arguments: list[str]) -> int:
    from commandline.help import overview

    print(overview(), end="", file=sys.stdout if arguments else sys.stderr)
    return SUCCESS if arguments else UNFINISHED


def _print_version() -> int:
    from commandline.distribution import version

    print(f"claimcheck {version()}")
    return SUCCESS


def _no_command(given: str) -> int:
    """Say that the first argument is not a command, and what may be meant."""
    from commandline.help import unknown_command
    from commandline.reports.escaping import complain

    complain(*unknown_command(given))
    return UNFINISHED


def _collect_garbage_rarely(objects: int) -> None:
    """Run the cyclic garbage collector only after this many new objects.

    There is almost no cyclic garbage, and with the default threshold the collector takes a tenth of a long run.
    """
    import gc

    gc.set_threshold(objects)


def _leave(code: int) -> None:
    """End the process without freeing its objects first, which takes as long as validating a hundred manifests."""
    if sys.gettrace() is None and sys.getprofile() is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _make_printable() -> None:
    """Escape characters that the terminal's encoding lacks, and discard output to closed streams."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
