"""``claimcheck ui``: a page that shows a cluster's devices, who holds them, and why pods wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import SUCCESS, UsageError
from commandline.options import add_cluster, add_inventory, add_server_options
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    import socket
    from argparse import ArgumentParser, Namespace
    from contextlib import ExitStack
    from threading import Event

    from commandline.page.cluster_pages import ClusterPages, Objects
    from serving.browser_pages import File

DESCRIPTION = (
    "Show a cluster in a browser: why pods wait and what would help, all devices on a map, and who holds them. Nothing on the page "
    "changes the cluster. Only who has the printed address gets an answer, on this machine."
)
EXAMPLES = """examples:
  claimcheck ui                                the cluster that kubectl asks
  claimcheck ui --open                         and open the page in a browser
  claimcheck ui --inventory cluster.yaml       the objects in this file
  claimcheck ui --context prod --port 9000     another cluster, another port

The page shows what the user of the kubeconfig may read, and follows the cluster as it changes. SIGINT (Ctrl-C) and SIGTERM end it.

exit codes: 0 stopped by a signal, 2 the cluster could not be asked, or the port is taken
"""
#: How long others wait for their answers while one is made.
SECONDS = 60.0
#: Where a bookmark finds it again.
PORT = 8820
_STATIC = {"/": "index.html", "/page.js": "page.js", "/page.css": "page.css", "/editor.js": "editor.js"}
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_inventory(
        parser,
        "the cluster's objects, in any version, Pods and Nodes included; a directory or a file",
    )
    add_cluster(parser, "show a live cluster, as without --inventory")
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=_port,
        default=PORT,
        help=f"the port on 127.0.0.1; 0 for any free one; default: {PORT}",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_timeout(parser, "what the page asks for at once", SECONDS)
    add_server_options(parser)


def _port(given: str) -> int:
    from argparse import ArgumentTypeError

    if not (given.isascii() and given.isdigit() and int(given[:6]) <= 65_535):
        raise ArgumentTypeError(f"{given}: expected a number from 0 to 65535")
    return int(given)


def run(options: Namespace) -> int:
    """Show the page until a signal stops the process.

    :raises UsageError: for a cluster that does not answer, or a port that is taken.
    """
    import asyncio
    from threading import Event

    options.live, options.namespace = options.live or not options.inventory, None  # that of the context
    ending = Event()
    pages = _live_pages(options, ending) if not options.inventory else _inventory_pages(options)
    try:
        asyncio.run(_show(_listener(options.port), pages, opens=options.open))
    finally:
        ending.set()
    return SUCCESS


async def _show(listener: socket.socket, pages: ClusterPages, *, opens: bool) -> None:
    import asyncio
    from contextlib import ExitStack
    from signal import SIGINT, SIGTERM

    from commandline.page.cluster_pages import POSTED
    from serving.browser_pages import Site, browser_served

    stopped = asyncio.Event()
    for each in (SIGINT, SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    site = Site(_files(), pages.answers, POSTED, pages.version)
    async with browser_served(listener, site) as address:
        print(address, flush=True)
        with ExitStack() as opened:
            if opens:
                await asyncio.to_thread(_open, address, opened)
            await stopped.wait()


def _open(address: str, opened: ExitStack) -> None:
    """Open the address in a browser by a file that leads there: all on this machine can read the arguments of commands.

    :param opened: takes the file away in the end.
    """
    import webbrowser
    from pathlib import Path
    from tempfile import TemporaryDirectory

    directory = opened.enter_context(
        TemporaryDirectory(prefix="claimcheck-ui-")
    )  # which nobody else can read
    file = Path(directory, "open.html")
    file.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="ascii"
    )
    webbrowser.open(file.as_uri())


def _listener(port: int) -> socket.socket:
    from serving.listening import listen

    try:
        return listen("127.0.0.1", port)
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror or error}; --port 0 takes any free one") from None


def _files() -> dict[str, File]:
    """The page, as ``web/`` is made into it."""
    from importlib.resources import files

    from serving.browser_pages import File

    static = files("commandline.page") / "static"
    return {
        path: File(f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8", (static / name).read_bytes())
        for path, name in _STATIC.items()
    }


def _inventory_pages(options: Namespace) -> ClusterPages:
    """Those of files, which are read once.

    :raises UsageError: for options that contradict each other.
    """
    from commandline.live_cluster import cluster_or_inventory
    from commandline.options import profile_of
    from commandline.page.cluster_pages import ClusterPages
    from commandline.scenario import read_cluster

    objects = read_cluster(options, cluster_or_inventory(options), profile_of(options))
    return ClusterPages(", ".join(options.inventory), lambda: objects, is_live=False, seconds=options.timeout)


def _live_pages(options: Namespace, ending: Event) -> ClusterPages:
    """Those of a live cluster, which is followed until told to end.

    :raises UsageError: if it does not answer.
    """
    from commandline.live_cluster import followed_cluster
    from commandline.page.cluster_pages import ClusterPages
    from serving.routes import HTTPError

    followed, client = followed_cluster(options)
    followed.follow(client, ending)

    def read() -> Objects:
        if missing := followed.missing:
            raise HTTPError(f"still reading {', '.join(missing)}", 503)
        return followed.state()

    return ClusterPages(followed.name, read, lambda: followed.changes, is_live=True, seconds=options.timeout)
