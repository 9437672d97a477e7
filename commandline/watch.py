"""``claimcheck watch``: events that say why pods wait for devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from commandline.errors import SUCCESS
from commandline.options import add_cluster, add_server_options
from commandline.plain_http import LOOPBACK, address_of, listener_on, port_of

if TYPE_CHECKING:
    import socket
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable
    from threading import Event

    from claimcheck.watching.followed_cluster import FollowedCluster
    from cluster.event_writer import EventWriter, Subject
    from serving.documents import Find
    from serving.pages import Exposition

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
  claimcheck watch --report-port 8081    also serve /report there, to this machine: what claimcheck doctor says
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
    parser.add_argument(
        "--report-port",
        metavar="PORT",
        default="0",
        help=f"serve /report there over HTTP on {LOOPBACK}, in JSON and as a page: all that claimcheck doctor finds, in all namespaces; "
        "who reaches it may read it, and in a pod that is who may use kubectl port-forward; default: not at all",
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

    from claimcheck.watching.examinations import Examinations
    from claimcheck.watching.metrics import Metrics
    from claimcheck.watching.waiting_pods import WaitingPods
    from cluster.event_writer import EventWriter
    from commandline.live_cluster import followed_cluster
    from commandline.watch_report import Report

    ending = Event()
    for each in (SIGINT, SIGTERM):
        signal(each, lambda *_: ending.set())
    options.live, namespace = True, options.namespace
    ports = _Ports.opened(options)
    followed, client = followed_cluster(options)
    writer = EventWriter(client, CONTROLLER, gethostname(), per_second=EVENTS_PER_SECOND)
    tell = _teller(writer, dry_run=options.dry_run)
    pods = WaitingPods(followed, tell, options.scheduler or [DEFAULT_SCHEDULER], namespace)
    metrics = Metrics(
        followed,
        pods.causes,
        lambda: {"written": writer.written, "failed": writer.failed},
        pool_label=options.node_pool_label,
    )
    report = Report()
    examinations = Examinations(followed, report.publish, namespace)

    def look() -> None:
        pods.look()
        metrics.looked()

    others = []
    if ports.metrics is not None:
        others.append(("devices not counted", metrics.refresh))
    if ports.report is not None:
        others.append(("cluster not examined", examinations.refresh))
    try:
        ports.serve(lambda: not followed.missing, metrics.exposition, report.find, ending)
        followed.follow(client, ending)
        _wait_for_all(followed, ending)
        if not options.dry_run:
            Thread(target=writer.run, args=(ending,), daemon=True).start()
        keep_looking(look, others, ending)
    finally:
        ending.set()
    return SUCCESS


class _Ports(NamedTuple):
    """Where it listens: for kubelet and Prometheus, and for who may read everything."""

    metrics: socket.socket | None
    report: socket.socket | None

    @classmethod
    def opened(cls, options: Namespace) -> _Ports:
        """Those that the options name.

        :raises UsageError: if they cannot be opened.
        """
        address = address_of("watch: --address", options.address)
        port, report_port = (
            port_of("watch: --port", options.port),
            port_of("watch: --report-port", options.report_port),
        )
        return cls(
            listener_on(address, port, f"watch: --address {address}, --port {port}") if port else None,
            listener_on(LOOPBACK, report_port, f"watch: --report-port {report_port}")
            if report_port
            else None,
        )

    def serve(
        self,
        is_ready: Callable[[], bool],
        exposition: Callable[[], Exposition],
        find: Find,
        ending: Event,
    ) -> None:
        """Answer in a thread until told to end."""
        import asyncio
        from contextlib import AsyncExitStack
        from threading import Thread

        from serving.documents import documents_served
        from serving.pages import health_served

        async def serve() -> None:
            async with AsyncExitStack() as served:
                if self.metrics is not None:
                    await served.enter_async_context(health_served(self.metrics, is_ready, exposition))
                if self.report is not None:
                    await served.enter_async_context(documents_served(self.report, find))
                await asyncio.to_thread(ending.wait)

        if any(self):
            Thread(target=lambda: asyncio.run(serve()), daemon=True).start()


def keep_looking(
    look: Callable[[], None], others: Iterable[tuple[str, Callable[[], None]]], ending: Event
) -> None:
    """Look at pods again and again, for a third of the time.

    :param others: what else there is to do at a pace of its own, each with what is said if it fails.
    """
    from gc import collect
    from time import thread_time

    from resourceapi.logs import LOGGER

    def done(task: Callable[[], None], failure: str) -> None:
        try:
            task()
        except Exception:  # noqa: BLE001 - whatever it is, it goes on
            LOGGER.exception(failure)
        collect()  # what was looked at has circles, and takes ten times the memory of the cluster

    took = 0.0
    while not ending.wait(max(LOOK_SECONDS, 2 * took)):
        begun = thread_time()  # waiting for a processor takes nothing from others
        done(look, "pods not looked at")
        took = thread_time() - begun
        for failure, task in others:
            done(task, failure)


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
