"""Runs ``claimcheck classic-driver``: the controller of an example driver, or its node plugin."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.exit_codes import SUCCESS, UNFINISHED
from commandline.options import asks_for_cluster

if TYPE_CHECKING:
    import socket
    from argparse import Namespace
    from contextlib import AbstractAsyncContextManager

    from claimcheck.answers.live_cluster import LiveCluster
    from classic.gpu.driver import GPUController, Settings
    from cluster.leading import Candidate

LEASE_SECONDS = 15
#: A renewal that takes longer is given up: then there is time for another one before the Lease expires.
PART_OF_LEASE = 1 / 3
MOST_PORT = 65535


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

    settings, address, port = _settings(options), _address(options.health_address), _port(options.health_port)
    if not asks_for_cluster(options):
        raise UsageError("classic-driver: name the cluster with --kubeconfig FILE, --context NAME or --live")
    cluster = live_cluster(options)
    _insist_on_classic_api(cluster)
    client = cluster.client.within(None)  # it serves for ever, unlike a command
    controller = GPUController(settings, client)
    candidate = _candidate(options, cluster)
    listener = _listener(address, port) if port else None

    async def serve() -> None:
        async with _health(listener, controller):
            await controller.run(candidate)

    try:
        run_until_stopped(serve())
    except NotLeading as error:
        complain(f"claimcheck: classic-driver: {error}; start it again")
        return UNFINISHED
    return SUCCESS


def _listener(address: str, port: int) -> socket.socket:
    from serving.listening import listen

    try:
        return listen(address, port)
    except OSError as error:
        raise UsageError(
            f"classic-driver: --health-address {address}, --health-port {port}: {error.strerror or error}"
        ) from None


def _health(listener: socket.socket | None, controller: GPUController) -> AbstractAsyncContextManager[None]:
    from contextlib import nullcontext

    from serving.health import health_served

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


def _port(given: str) -> int:
    is_number = given.isascii() and given.isdigit() and len(given) <= len(str(MOST_PORT))
    if not is_number or int(given) > MOST_PORT:
        raise UsageError(
            f"classic-driver: --health-port {given}: expected a number from 0, for none, to {MOST_PORT}"
        )
    return int(given)


def _address(given: str) -> str:
    try:
        return str(ip_address(given))
    except ValueError:
        raise UsageError(f"classic-driver: --health-address {given}: expected an IP address") from None


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
