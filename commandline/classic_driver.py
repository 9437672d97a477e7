"""``claimcheck classic-driver``: the controller of an example driver, or its node plugin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classic.kubelet import CDI_SPECS, KUBELET
from commandline.errors import SUCCESS, UNFINISHED, UsageError
from commandline.options import add_cluster, asks_for_cluster
from commandline.plain_http import LOOPBACK, address_of, listener_on, port_of

if TYPE_CHECKING:
    import socket
    from argparse import ArgumentParser, Namespace
    from contextlib import AbstractAsyncContextManager

    from claimcheck.answers.live_cluster import LiveCluster
    from classic.gpu.driver import GPUController, Settings
    from cluster.leading import Candidate


DESCRIPTION = "Run an example of a classic DRA driver (resource.k8s.io/v1alpha2, Kubernetes 1.27 to 1.30)."
EXAMPLES = """examples:
  claimcheck classic-driver --example gpu --kubeconfig ~/.kube/config
  claimcheck classic-driver --example gpu --live --gpus-per-node 4 --gpu-memory 40Gi --leader-elect
  claimcheck classic-driver --example gpu --kubeconfig kubeconfig --driver-name second.example.com
  sudo claimcheck classic-driver --example gpu --node-plugin

The controller allocates the claims of every ResourceClass whose driverName is its name. Claims share the memory of GPUs
that exist in this example only: each node has as many as --gpus-per-node says, unless its labels NAME/count and NAME/memory
say otherwise, with the driver's name as NAME. Parameters are GPURequirements and GPUInit objects of gpu.example.com/v1.
`claimcheck manifests --component classic-gpu` prints their CRDs, and what deploys both parts of the driver.

Logs are JSON lines on standard error. SIGTERM and SIGINT stop it.

exit codes: 0 stopped by a signal, 2 it could not be started, or no longer holds the Lease
"""
GPU = "gpu"
EXAMPLE_DRIVERS = (GPU,)
DRIVER_NAME = "gpu.example.com"
LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument(
        "--example",
        choices=EXAMPLE_DRIVERS,
        metavar="|".join(EXAMPLE_DRIVERS),
        required=True,
        help="the driver to run: gpu",
    )
    parser.add_argument(
        "--driver-name",
        metavar="NAME",
        default=DRIVER_NAME,
        help=f"the driverName of its ResourceClasses; default: {DRIVER_NAME}",
    )
    add_cluster(parser, "allocate the claims of a live cluster")
    _add_controller(parser)
    _add_node_plugin(parser)
    parser.add_argument(
        "--log-level", choices=LEVELS, default="info", help="the least level that is logged; default: info"
    )


def _add_controller(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--gpus-per-node",
        metavar="N",
        default="2",
        help="GPUs of a node without the label NAME/count; default: 2",
    )
    parser.add_argument(
        "--gpu-memory",
        metavar="QUANTITY",
        default="16Gi",
        help="memory of each GPU of a node without the label NAME/memory; default: 16Gi",
    )
    parser.add_argument(
        "--leader-elect",
        action="store_true",
        help="allocate only while holding the Lease with the driver's name; needed where several run",
    )
    parser.add_argument(
        "--lease-namespace",
        metavar="NAMESPACE",
        help="where that Lease is; default: the namespace of the pod, or of the kubeconfig's context, else default",
    )
    parser.add_argument(
        "--health-port",
        metavar="PORT",
        default="0",
        help="serve /healthz and /readyz there over HTTP, without TLS; default: not at all",
    )
    parser.add_argument(
        "--health-address",
        metavar="ADDRESS",
        default=LOOPBACK,
        help=f"the IP address to serve them on; kubelet asks at that of the pod; default: {LOOPBACK}",
    )


def _add_node_plugin(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--node-plugin",
        action="store_true",
        help="answer kubelet on this node instead of allocating claims; asks no API server",
    )
    parser.add_argument(
        "--kubelet-directory",
        metavar="DIR",
        default=str(KUBELET),
        help=f"with --node-plugin: kubelet's directory, with plugins and plugins_registry in it; default: {KUBELET}",
    )
    parser.add_argument(
        "--allow-init-command",
        metavar="PATH",
        action="append",
        default=[],
        help="with --node-plugin: a program that may initialize GPUs, as root on the node, where a class says so "
        "(GPUInit.initCommand); can be repeated; without it, pods with such claims do not start",
    )
    parser.add_argument(
        "--cdi-directory",
        metavar="DIR",
        default=str(CDI_SPECS),
        help=f"with --node-plugin: where the container runtime looks for CDI specs; default: {CDI_SPECS}",
    )


LEASE_SECONDS = 15
#: A renewal that takes longer is given up: then there is time for another one before the Lease expires.
PART_OF_LEASE = 1 / 3


def run(options: Namespace) -> int:
    """Run until a signal stops the process."""
    try:
        from serving.logs import configure_logs
    except ImportError as error:  # a package that only services need
        raise UsageError(f"classic-driver needs the package {error.name}, which is not installed") from None

    _check_name(options.driver_name)
    configure_logs(options.log_level)
    return _run_node_plugin(options) if options.node_plugin else _run_controller(options)


def _check_name(name: str) -> None:
    from resourceapi.names import driver_name

    problems = driver_name(name)
    if problems:
        raise UsageError(f"classic-driver: --driver-name {name}: {problems[0].detail or 'a name is needed'}")


# --- the controller


def _run_controller(options: Namespace) -> int:
    from classic.gpu.driver import GPUController
    from classic.service import run_until_stopped
    from cluster.leading import NotLeading
    from commandline.live_cluster import live_cluster
    from commandline.reports.escaping import complain

    settings = _settings(options)
    address = address_of("classic-driver: --health-address", options.health_address)
    port = port_of("classic-driver: --health-port", options.health_port)
    if not asks_for_cluster(options):
        raise UsageError("classic-driver: name the cluster with --kubeconfig FILE, --context NAME or --live")
    cluster = live_cluster(options)
    _insist_on_classic_api(cluster)
    client = cluster.client.within(None)  # it serves for ever, unlike a command
    controller = GPUController(settings, client)
    candidate = _candidate(options, cluster)
    where = f"classic-driver: --health-address {address}, --health-port {port}"
    listener = listener_on(address, port, where) if port else None

    async def serve() -> None:
        async with _health(listener, controller):
            await controller.run(candidate)

    try:
        run_until_stopped(serve())
    except NotLeading as error:
        complain(f"claimcheck: classic-driver: {error}; start it again")
        return UNFINISHED
    return SUCCESS


def _health(listener: socket.socket | None, controller: GPUController) -> AbstractAsyncContextManager[None]:
    from contextlib import nullcontext

    from serving.pages import health_served

    return nullcontext() if listener is None else health_served(listener, lambda: controller.is_ready)


def _insist_on_classic_api(cluster: LiveCluster) -> None:
    """Check that the cluster has classic DRA, unless it does not answer: then it is asked again and again later.

    :raises UsageError: if it has not.
    """
    from resourceapi.api_client import NOT_FOUND, Unavailable
    from resourceapi.model.versions import CLASSIC_PATH

    try:
        code, _ = cluster.client.request("GET", CLASSIC_PATH)
    except Unavailable:
        return
    if code == NOT_FOUND:
        raise UsageError(
            "classic-driver: the cluster does not serve resource.k8s.io/v1alpha2, the API of classic DRA: Kubernetes 1.27 to "
            "1.30 does with --runtime-config=resource.k8s.io/v1alpha2=true and the feature gate DynamicResourceAllocation"
        )


def _settings(options: Namespace) -> Settings:
    from classic.gpu.driver import Settings
    from classic.gpu.inventory import GPUs, number_of_gpus
    from classic.gpu.parameters import ParametersError, memory_bytes

    try:
        count = number_of_gpus(options.gpus_per_node, "--gpus-per-node")
        memory = memory_bytes(options.gpu_memory, "--gpu-memory")
    except ParametersError as error:
        raise UsageError(f"classic-driver: {error}") from None
    return Settings(options.driver_name, GPUs(count, memory))


def _candidate(options: Namespace, cluster: LiveCluster) -> Candidate | None:
    """The part of this process in an election; None if there is none."""
    from socket import gethostname

    from cluster.leading import Election, unique_identity
    from commandline.options import DEFAULT_NAMESPACE
    from resourceapi.names import short_name

    if not options.leader_elect:
        if options.lease_namespace is not None:
            raise UsageError("classic-driver: --lease-namespace is for --leader-elect")
        return None
    namespace = options.lease_namespace or cluster.namespace or DEFAULT_NAMESPACE
    if short_name(namespace):
        raise UsageError(f"classic-driver: --lease-namespace {namespace}: no namespace has such a name")
    client = cluster.client.within(None).waiting(PART_OF_LEASE * LEASE_SECONDS)
    identity = unique_identity(gethostname())
    return Election(client, namespace, options.driver_name, identity=identity, seconds=LEASE_SECONDS)


# --- the node plugin


def _run_node_plugin(options: Namespace) -> int:
    try:
        from classic.kubelet.cdi import InvalidDevice
        from classic.kubelet.plugin import (
            CannotListen,
            InvalidSettings,
            NodePlugin,
            PluginSettings,
            run_until_signal,
        )
    except ImportError as error:
        raise UsageError(
            f"classic-driver: --node-plugin needs the package {error.name}, which is not installed: "
            "pip install 'claimcheck-dra[node-plugin]'"
        ) from None
    import asyncio

    from classic.gpu.node import GPUNode
    from classic.kubelet import PLUGINS, REGISTRY

    if asks_for_cluster(options):
        raise UsageError(
            "classic-driver: the node plugin asks no cluster: leave out --kubeconfig, --context and --live"
        )
    kubelet = Path(options.kubelet_directory)
    try:
        settings = PluginSettings(
            driver_name=options.driver_name,
            device_class="gpu",
            plugins_directory=kubelet / PLUGINS,
            registry_directory=kubelet / REGISTRY,
            cdi_directory=Path(options.cdi_directory),
        )

        async def serve() -> None:
            await run_until_signal(NodePlugin(settings, GPUNode(options.allow_init_command)))

        asyncio.run(serve())
    except (InvalidSettings, InvalidDevice, CannotListen) as error:
        raise UsageError(f"classic-driver: {error}") from None
    return SUCCESS
