"""``claimcheck ui``: a page that shows a cluster's devices, who holds them, and why pods wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import SUCCESS, UsageError
from commandline.options import add_cluster, add_inventory, add_server_options
from commandline.plain_http import LOOPBACK, address_of
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    import socket
    from argparse import ArgumentParser, Namespace
    from contextlib import ExitStack
    from threading import Event

    from claimcheck.watching.followed_cluster import FollowedCluster
    from cluster.client import Client
    from commandline.page.cluster_pages import ClusterPages, Objects
    from serving.browser_pages import File, Site

DESCRIPTION = (
    "Show a cluster in a browser: why pods wait and what would help, all devices on a map, and who holds them. Nothing on the page "
    "changes the cluster. Only who has the printed address gets an answer, on this machine; or, with --sign-in, people with a token of "
    "the cluster, who see what they may read there."
)
EXAMPLES = """examples:
  claimcheck ui                                the cluster that kubectl asks
  claimcheck ui --open                         and open the page in a browser
  claimcheck ui --inventory cluster.yaml       the objects in this file
  claimcheck ui --context prod --port 9000     another cluster, another port
  claimcheck ui --sign-in --certificate tls.crt --key tls.key --address 10.0.0.1
                                               for people who sign in, as manifests/ui deploys it

The page shows what the user of the kubeconfig, or of the pod, may read, and follows the cluster as it changes. SIGINT (Ctrl-C) and SIGTERM end it.

exit codes: 0 stopped by a signal, 2 the cluster could not be asked, or the port is taken
"""
#: How long others wait for their answers while one is made.
SECONDS = 60.0
#: Where a bookmark finds it again.
PORT = 8820
#: How long the API server may take to say who somebody is, or what they may do.
REVIEW_SECONDS = 5.0
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
        help=f"the port to serve at; 0 for any free one; default: {PORT}",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--sign-in",
        action="store_true",
        help="serve people who sign in with a bearer token of the cluster (TokenReview), over TLS; each sees what they may read there "
        "(SubjectAccessReview)",
    )
    parser.add_argument("--certificate", metavar="FILE", help="with --sign-in: the certificate, PEM")
    parser.add_argument("--key", metavar="FILE", help="with --sign-in: its key, PEM")
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        default=LOOPBACK,
        help=f"with --sign-in: the IP address to serve at; default: {LOOPBACK}",
    )
    parser.add_argument(
        "--audience",
        metavar="NAME",
        action="append",
        default=[],
        help="with --sign-in: tokens have to be for this audience; can be repeated; default: that of the API server",
    )
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

    _check(options)
    options.live, options.namespace = options.live or not options.inventory, None  # that of the context
    ending = Event()
    try:
        if options.sign_in:
            asyncio.run(_show_people(options, ending))
        else:
            pages = _live_pages(options, ending) if not options.inventory else _inventory_pages(options)
            listener = _listener(LOOPBACK, options.port)
            asyncio.run(_show(listener, pages, opens=options.open))
    finally:
        ending.set()
    return SUCCESS


def _check(options: Namespace) -> None:
    """Check which options go together.

    :raises UsageError: for others.
    """
    if not options.sign_in:
        for name in ("certificate", "key", "audience"):
            if getattr(options, name):
                raise UsageError(f"ui: --{name} is for --sign-in")
        if options.address != LOOPBACK:
            raise UsageError(
                "ui: --address is for --sign-in: whoever reaches the port would see what you may read"
            )
        return
    if options.inventory:
        raise UsageError("ui: --sign-in is for a live cluster, which knows people and their rights")
    if not (options.certificate and options.key):
        raise UsageError(
            "ui: --sign-in needs --certificate FILE and --key FILE: tokens are not sent in the clear"
        )
    address_of("ui: --address", options.address)


async def _show(listener: socket.socket, pages: ClusterPages, *, opens: bool) -> None:
    from serving.browser_pages import browser_served

    async with browser_served(listener, _site(), pages.visitor("")) as address:
        await _shown(address, opens=opens)


async def _show_people(options: Namespace, ending: Event) -> None:
    """Show a live cluster to people who sign in."""
    from pathlib import Path

    from commandline.page.rights import Welcome
    from commandline.page.tenants import TenantPages
    from serving.browser_pages import people_served
    from serving.logs import configure_logs
    from serving.sign_in import SignIn
    from serving.tls import CertificateError, ServerTLS

    configure_logs("info")
    try:
        tls = ServerTLS(Path(options.certificate), Path(options.key))
    except CertificateError as error:
        raise UsageError(f"ui: --certificate, --key: {error}") from None
    followed, client, pages = _followed(options, ending)
    for_tenants = TenantPages(followed, options.timeout, ending)
    sign_in = SignIn(Welcome(client.waiting(REVIEW_SECONDS), options.audience, pages, for_tenants))
    listener = _listener(options.address, options.port)
    try:
        async with people_served(listener, _site(), sign_in, tls, lambda: not followed.missing) as address:
            await _shown(address, opens=options.open)
    finally:
        sign_in.close()


def _site() -> Site:
    from commandline.page.cluster_pages import POSTED
    from commandline.page.openapi import PATHS
    from commandline.page.rights import NOT_FOR_YOU
    from serving.browser_pages import Site

    return Site(_files(), frozenset(f"/api/v1/{name}" for name in PATHS), POSTED, NOT_FOR_YOU)


async def _shown(address: str, *, opens: bool) -> None:
    """Tell the address, and wait for a signal."""
    import asyncio
    from contextlib import ExitStack
    from signal import SIGINT, SIGTERM

    stopped = asyncio.Event()
    for each in (SIGINT, SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
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


def _listener(address: str, port: int) -> socket.socket:
    from serving.listening import listen

    try:
        return listen(address, port)
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
    return _followed(options, ending)[2]


def _followed(options: Namespace, ending: Event) -> tuple[FollowedCluster, Client, ClusterPages]:
    from claimcheck.answers.outcome import Failure
    from claimcheck.watching.examinations import MOST_CHARACTERS, TOO_MUCH
    from commandline.live_cluster import followed_cluster
    from commandline.page.cluster_pages import ClusterPages
    from resourceapi.phrases import some
    from serving.routes import HTTPError

    followed, client = followed_cluster(options)
    followed.follow(client, ending)

    def read() -> Objects:
        if missing := followed.missing:
            raise HTTPError(f"still reading {', '.join(missing)}", 503)
        left_out = followed.largest_pending(MOST_CHARACTERS)
        state, pods = followed.state(frozenset(left_out))
        if left_out:
            reason = f"not looked at: {some(left_out)}, since {TOO_MUCH}"
            state.failures.append(Failure(f"{followed.name}/pods", reason))
        return state, pods

    pages = ClusterPages(
        followed.name,
        read,
        lambda: followed.changes,
        is_live=True,
        seconds=options.timeout,
        has_lanes=options.sign_in,
    )
    return followed, client, pages
