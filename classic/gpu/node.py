"""The node's side of the GPU driver: what a container gets to know of its GPUs, and how they are initialized."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from classic.gpu.ledger import UnreadableAllocation, read_data
from classic.gpu.parameters import written
from classic.kubelet.cdi import ContainerEdits, Device, Hook, HookName
from classic.kubelet.plugin import InvalidSettings
from classic.kubelet.preparation import AllocatedClaim, RefusedClaim
from resourceapi.phrases import shortened

_NOT_IN_VARIABLES = re.compile(r"[^A-Z0-9]")
_INIT_SECONDS = 30
_MOST_SHOWN = 100


class GPUNode:
    """A :class:`classic.kubelet.preparation.NodeDriver`.

    The GPUs exist in this example only: a container gets the variable ``GPU_0_MEMORY`` for its part of ``gpu-0``. Nothing is kept
    here, so that a restart changes nothing.

    :param allowed_init_commands: the paths of programs that may initialize GPUs. They run as root on the node, and whoever may
        write the status of claims decides about their arguments.
    """

    def __init__(self, allowed_init_commands: Collection[str] = ()) -> None:
        """Make the driver.

        :raises InvalidSettings: if one of the paths is not absolute
        """
        for path in allowed_init_commands:
            if not path.startswith("/"):
                raise InvalidSettings(f"{path}: the path of an init command must be absolute")
        self._allowed = frozenset(allowed_init_commands)

    async def prepare(self, claim: AllocatedClaim) -> Sequence[Device]:
        """A device for each GPU of which the claim has memory; the first one has the GPUs initialized.

        :raises RefusedClaim: if the claim was not allocated by this driver, or its initialization is not allowed here
        """
        if claim.structured is not None:
            raise RefusedClaim("the claim has structured parameters: this driver has its own controller")
        try:
            memory, init_command = read_data(claim.resource_handle)
        except UnreadableAllocation as error:
            raise RefusedClaim(str(error)) from error
        hooks = [self._initialization(claim, list(memory), init_command)] if init_command else []
        devices = []
        for gpu, size in memory.items():
            variable = f"{_NOT_IN_VARIABLES.sub('_', gpu.upper())}_MEMORY"
            devices.append(Device(gpu, ContainerEdits(env={variable: written(size)}, hooks=hooks)))
            hooks = []
        return devices

    async def unprepare(self, claim: AllocatedClaim) -> None:
        """Nothing is left on the node but the CDI spec."""

    def _initialization(self, claim: AllocatedClaim, gpus: Sequence[str], command: Sequence[str]) -> Hook:
        if command[0] not in self._allowed:
            raise RefusedClaim(
                f"the node plugin may not run {shortened(command[0], _MOST_SHOWN)}, with which the class initializes GPUs: "
                "it needs --allow-init-command with that path"
            )
        env = {"CLAIM_NAMESPACE": claim.namespace, "CLAIM_NAME": claim.name, "CLAIM_UID": claim.uid}
        return Hook(
            HookName.CREATE_RUNTIME,
            command[0],
            tuple(command),
            env | {"GPUS": ",".join(gpus)},
            timeout=_INIT_SECONDS,
        )
