"""The options of ``claimcheck classic-driver``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classic.kubelet import CDI_SPECS, KUBELET
from commandline.options import add_cluster, describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

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
HEALTH_ADDRESS = "127.0.0.1"
LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
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
        default=HEALTH_ADDRESS,
        help=f"the IP address to serve them on; kubelet asks at that of the pod; default: {HEALTH_ADDRESS}",
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
