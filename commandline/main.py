"""The command's entry: which subcommand, and how it ends.

Exit codes: 0 all is well, 1 something is not, 2 the work could not be done.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commandline.errors import UsageError, WorkerLost

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import ModuleType

SERVE = "serve"
SUBCOMMANDS = {
    "validate": ("commandline.validate.run", "what kube-apiserver would say about manifests"),
    "convert": ("commandline.convert.run", "rewrite manifests in another API version"),
    "cel": ("commandline.cel.run", "what a CEL expression is, costs, and gives on devices"),
    "quota": ("commandline.quota.run", "what claims count against quotas, and whether they fit"),
    "explain": ("commandline.explain.run", "why pods and claims get no devices, and what would help"),
    "simulate": (
        "commandline.simulate.run",
        "where pods would go, what would be left, which new nodes they need",
    ),
    SERVE: ("commandline.serve.run", "answer kube-apiserver's webhooks"),
    "inject-ca": (
        "commandline.inject_ca.run",
        "keep the webhooks' authority where kube-apiserver looks for it",
    ),
    "manifests": ("commandline.manifests.run", "what deploys the webhooks in a cluster"),
    "migrate-storage": (
        "commandline.migrate_storage.run",
        "take a cluster's DRA objects along when CRDs begin or cease to serve them",
    ),
}
_OBJECTS, _OBJECTS_OF_SERVER = 300_000, 100_000
# Errors of writing to standard output: the reader has gone, the device is full or broken, the file too large.
_UNWRITABLE = frozenset((errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG))
UNFINISHED = 2
INTERRUPTED = 130


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

    description = "Answers about DRA objects before the cluster does."
    parser = ArgumentParser(prog="claimcheck", description=description, formatter_class=Formatter)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(prog=parser.prog, dest="subcommand", metavar="COMMAND")
    wanted = next((argument for argument in arguments if argument in SUBCOMMANDS), "")
    module, asked = None, parser
    for name, (path, summary) in SUBCOMMANDS.items():
        if name == wanted:
            module = _load(path)
            asked = subparsers.add_parser(name, help=summary, formatter_class=Formatter)
            module.add_arguments(asked)
        else:
            subparsers.add_parser(name, help=summary, add_help=False)
    try:
        options, unknown = parser.parse_known_args(arguments)
        if unknown:
            asked.error(_unrecognized(unknown, asked))
    except SystemExit as exit:  # argparse has said why
        return exit.code if isinstance(exit.code, int) else UNFINISHED
    if options.version:
        return _print_version()
    if module is None:
        parser.print_help(sys.stderr)
        return UNFINISHED
    return int(module.run(options))


def _unrecognized(unknown: Sequence[str], parser: ArgumentParser) -> str:
    """argparse's message about arguments, with the option that may be meant."""
    from resourceapi.nearness import nearest

    names = [name for name in parser._option_string_actions if name.startswith("--")]
    meant = nearest(unknown[0].partition("=")[0], names)
    return f"unrecognized arguments: {' '.join(unknown)}" + (f" (did you mean {meant}?)" if meant else "")


def _load(path: str) -> ModuleType:
    from importlib import import_module

    return import_module(path)


def _print_version() -> int:
    from importlib.metadata import version

    print(f"claimcheck {version('claimcheck')}")
    return 0


def _collect_garbage_rarely(objects: int) -> None:
    """Look for cyclic garbage after so many new objects: there is hardly any, and looking takes a tenth of a long run."""
    import gc

    gc.set_threshold(objects)


def _leave(code: int) -> None:
    """End the process without taking everything apart first, which takes as long as a hundred objects."""
    if sys.gettrace() is None and sys.getprofile() is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _make_printable() -> None:
    """Names and texts from files may hold what the terminal's encoding lacks; show such characters escaped.

    What would go to a closed stream goes nowhere.
    """
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
