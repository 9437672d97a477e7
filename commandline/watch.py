"""``claimcheck watch``: events that say why pods wait for devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import SUCCESS
from commandline.options import add_cluster, add_server_options
from commandline.plain_http import LOOPBACK, address_of, listener_on, port_of

if TYPE_CHECKING:
    import socket
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from threading import Event

    from claimcheck.watching.followed_cluster import FollowedCluster
    from claimcheck.watching.metrics import Metrics
    from claimcheck.watching.waiting_pods import WaitingPods
    from cluster.event_writer import EventWriter, Subject

DESCRIPTION = (
    "Follow a cluster, and write an Event on each pod that waits for devices: what is in the way, and what would help. It runs beside "
    "any kube-scheduler, schedules nothing, and writes nothing else."
)
EXAMPLES = """examples:
  claimcheck watch --dry-run             only print what the events would say, of the cluster that kubectl asks
  claimcheck watch                       in a pod: the cluster in which it runs
  claimcheck watch -n team               only pods of one namespace
  claimcheck watch --scheduler gpu       only pods with this schedulerName; can be repeated
  claimcheck watch --port 8080           also serve /healthz, /readyz and /metrics there
  kubectl describe pod waiting           shows the event

A pod is told about two seconds after kube-scheduler has refused it, or has not looked at it because its claims are missing, and again
when something changes, at most every half minute. Events name nothing of other namespaces. SIGTERM and SIGINT end it.

exit codes: 0 stopped by a signal, 2 the cluster could not be asked
"""
CONTROLLER = "claimcheck-watch"
DEFAULT_SCHEDULER = "default-scheduler"
#: The events that are written, and how often pods are looked at; a third of a processor at most is spent on that.
EVENTS_PER_SECOND, LOOK_SECONDS = 20, 0.5
#: After so long without all objects it is said what is missing.
LONG_SECONDS = 10.0


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_cluster(parser, "follow a live cluster, as without this option")
    parser.add_argument("-n", "--namespace", metavar="NAMESPACE", default="", help="only pods of this one")
    parser.add_argument(
        "--scheduler",
        metavar="NAME",
        action="append",
        default=[],
        help=f"only pods with this schedulerName; default: {DEFAULT_SCHEDULER}; can be repeated",
    )
    parser.add_argument(
        "--port",
        metavar="PORT",
        default="0",
        help="serve /healthz, /readyz and /metrics there over HTTP, without TLS; default: not at all",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        default=LOOPBACK,
        help=f"the IP address to serve them on; kubelet asks at that of the pod; default: {LOOPBACK}",
    )
    parser.add_argument(
        "--node-pool-label",
        metavar="LABEL",
        default="",
        help="count devices also by the values of this label of nodes; default: not at all",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the events, and write none")
    add_server_options(parser)


def run(options: Namespace) -> int:
    """Write events until a signal stops the process.

    :raises UsageError: if the cluster does not answer.
    """
    from signal import SIGINT, SIGTERM, signal
    from socket import gethostname
    from threading import Event, Thread

    from claimcheck.watching.waiting_pods import WaitingPods
    from cluster.event_writer import EventWriter
    from commandline.live_cluster import followed_cluster

    ending = Event()
    for each in (SIGINT, SIGTERM):
        signal(each, lambda *_: ending.set())
    options.live, namespace = True, options.namespace
    address, port = address_of("watch: --address", options.address), port_of("watch: --port", options.port)
    listener = listener_on(address, port, f"watch: --address {address}, --port {port}") if port else None
    followed, client = followed_cluster(options)
    writer = EventWriter(client, CONTROLLER, gethostname(), per_second=EVENTS_PER_SECOND)
    tell = _teller(writer, dry_run=options.dry_run)
    pods = WaitingPods(followed, tell, options.scheduler or [DEFAULT_SCHEDULER], namespace)
    try:
        metrics = (
            _served(listener, followed, pods, writer, ending, options.node_pool_label)
            if listener is not None
            else None
        )
        followed.follow(client, ending)
        _wait_for_all(followed, ending)
        if not options.dry_run:
            Thread(target=writer.run, args=(ending,), daemon=True).start()
        _watch(pods, metrics, ending)
    finally:
        ending.set()
    return SUCCESS


def _served(
    listener: socket.socket,
    followed: FollowedCluster,
    pods: WaitingPods,
    writer: EventWriter,
    ending: Event,
    pool_label: str,
) -> Metrics:
    """Serve health and metrics until told to end.

    :param pool_label: the label of nodes that says to which node pool they belong.
    """
    import asyncio
    from threading import Thread

    from claimcheck.watching.metrics import Metrics
    from serving.pages import health_served

    metrics = Metrics(
        followed,
        pods.causes,
        lambda: {"written": writer.written, "failed": writer.failed},
        pool_label=pool_label,
    )

    async def serve() -> None:
        async with health_served(listener, lambda: not followed.missing, metrics.exposition):
            await asyncio.to_thread(ending.wait)

    Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    return metrics


def _watch(pods: WaitingPods, metrics: Metrics | None, ending: Event) -> None:
    from gc import collect
    from time import thread_time

    from resourceapi.logs import LOGGER

    took = 0.0
    while not ending.wait(max(LOOK_SECONDS, 2 * took)):
        begun = thread_time()  # waiting for a processor takes nothing from others
        try:
            pods.look()
            if metrics is not None:
                metrics.looked()
        except Exception:  # noqa: BLE001 - whatever it is, it goes on
            LOGGER.exception("pods not looked at")
        collect()  # what was looked at has circles, and takes ten times the memory of the cluster
        if metrics is not None:
            try:
                metrics.refresh()
            except Exception:  # noqa: BLE001 - whatever it is, it goes on
                LOGGER.exception("devices not counted")
            collect()
        took = thread_time() - begun


def _wait_for_all(followed: FollowedCluster, ending: Event) -> None:
    """Wait for all objects, and say which are missing if that takes long."""
    from time import monotonic

    from commandline.reports.escaping import complain

    told = monotonic()
    while followed.missing and not ending.wait(0.1):
        if monotonic() - told > LONG_SECONDS:
            told = monotonic()
            complain(f"claimcheck: waiting for {', '.join(followed.missing)}")


def _teller(writer: EventWriter, *, dry_run: bool) -> Callable[[Subject, str], None]:
    """What prints and writes events."""
    from cluster.event_writer import shown

    def tell(subject: Subject, note: str) -> None:
        print(f"{subject.namespace}/{subject.name}: {shown(note)}", flush=True)
        if not dry_run:
            writer.warn(subject, note)

    return tell
