"""The entry point of ``claimcheck``: runs a subcommand and turns errors into messages and exit codes.

Exit codes: 0 success, 1 the answer is negative (invalid, does not fit), 2 some of the work could not be done.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commandline.errors import UsageError, WorkerLost
from commandline.exit_codes import INTERRUPTED, UNFINISHED

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import ModuleType

SERVE = "serve"
#: The subcommands with their summaries. The package of each has the modules ``options`` and ``run``.
SUBCOMMANDS = {
    "validate": "report what kube-apiserver would answer to manifests",
    "convert": "rewrite manifests in another API version",
    "cel": "check a CEL expression, its cost and its results on devices",
    "quota": "show what claims count against ResourceQuotas, and whether they fit",
    "explain": "explain why pods and claims get no devices, and what would help",
    "simulate": "show where pods would be placed, what is left, and which new nodes they need",
    SERVE: "serve admission and conversion webhooks for kube-apiserver",
    "inject-ca": "keep the webhooks' certificate authority up to date in webhook configurations and CRDs",
    "manifests": "print the manifests that deploy the webhooks",
    "migrate-storage": "move a cluster's DRA objects when CRDs start or stop serving them",
}
_OBJECTS, _OBJECTS_OF_SERVER = 300_000, 100_000
# Errors of writing to standard output: the reader closed the pipe, the device is full or broken, the file too large.
_UNWRITABLE = frozenset((errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments and return its exit code.

    Without arguments it is run with the process's own; then the process may end here.
    """
    if arguments is not None:
        return _main(list(arguments))
    serving = SERVE in sys.argv
    _collect_garbage_rarely(_OBJECTS_OF_SERVER if serving else _OBJECTS)
    code = _main(sys.argv[1:])
    if not serving:  # a server may have threads
        _leave(code)
    return code


def _main(arguments: list[str]) -> int:
    _make_printable()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except (UsageError, WorkerLost) as error:
        from commandline.reports.escaping import complain

        complain(f"claimcheck: {error}")
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
    from argparse import ArgumentParser

    from commandline.help_formatter import Formatter

    description = (
        "Check Kubernetes DRA objects, and answer questions about them, before they reach the cluster."
    )
    parser = ArgumentParser(prog="claimcheck", description=description, formatter_class=Formatter)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(prog=parser.prog, dest="subcommand", metavar="COMMAND")
    wanted = next((argument for argument in arguments if argument in SUBCOMMANDS), "")
    chosen = parser
    for name, summary in SUBCOMMANDS.items():
        if name == wanted:
            chosen = subparsers.add_parser(name, help=summary, formatter_class=Formatter)
            module_of(name, "options").add_arguments(chosen)
        else:
            subparsers.add_parser(name, help=summary, add_help=False)
    try:
        options, unknown = parser.parse_known_args(arguments)
        if unknown:
            chosen.error(_unrecognized(unknown, chosen))
    except SystemExit as exit:  # argparse has said why
        return exit.code if isinstance(exit.code, int) else UNFINISHED
    if options.version:
        return _print_version()
    if not options.subcommand:
        parser.print_help(sys.stderr)
        return UNFINISHED
    return int(module_of(options.subcommand, "run").run(options))


def _unrecognized(unknown: Sequence[str], parser: ArgumentParser) -> str:
    """The message of argparse about unknown arguments, with the option that was probably meant."""
    from resourceapi.nearness import nearest

    names = [name for name in parser._option_string_actions if name.startswith("--")]
    meant = nearest(unknown[0].partition("=")[0], names)
    return f"unrecognized arguments: {' '.join(unknown)}" + (f" (did you mean {meant}?)" if meant else "")


def module_of(subcommand: str, name: str) -> ModuleType:
    """A module of a subcommand's package: ``options`` or ``run``; loaded only when needed, for a fast start."""
    from importlib import import_module

    return import_module(f"commandline.{subcommand.replace('-', '_')}.{name}")


def _print_version() -> int:
    from importlib.metadata import version

    print(f"claimcheck {version('claimcheck')}")
    return 0


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
