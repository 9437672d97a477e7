"""What ``claimcheck doctor`` looks for: its checks with their codes, which never change their meaning."""

from __future__ import annotations

from typing import NamedTuple

from advice.findings import ERROR, NOTE, WARNING


class Check(NamedTuple):
    """One kind of thing that can be wrong in a cluster.

    :param severity: ERROR where pods get no devices or the wrong ones, WARNING where devices are lost or may be, else NOTE.
    :param summary: what it means, in a sentence.
    :param advice: why it happens and what to do, in a paragraph.
    """

    code: str
    name: str
    severity: str
    summary: str
    advice: str

    @property
    def page(self) -> str:
        """All about it, in Markdown."""
        return f"# {self.code}: {self.name}\n\n{self.summary}\n\n{self.advice}\n"


POD_WAITS = Check(
    "CD001",
    "pod-waits",
    ERROR,
    "Pods that are on no node wait for devices.",
    "Pods that wait for the same reason are one finding, with the change that lets most of them run. `claimcheck explain` says "
    "more about one of them. With `claimcheck simulate` you see how many find a place together: each is looked at by itself here.",
)
UNUSED_ALLOCATION = Check(
    "CD002",
    "allocated-and-unused",
    WARNING,
    "A ResourceClaim keeps its devices although nothing uses it.",
    "The claim is allocated and reserved for nobody. kube-controller-manager takes back the devices of such claims; if they stay, "
    "look whether its resourceclaim controller runs and may update the status of claims. Delete claims that nobody needs any more.",
)
GONE_CONSUMER = Check(
    "CD003",
    "reserved-for-gone-pod",
    WARNING,
    "A ResourceClaim is reserved for pods that do not exist any more, or have ended.",
    "kube-controller-manager removes such entries from `status.reservedFor` soon after a pod has ended. If they stay, it does not "
    "run, or may not update the status of claims: its log names the claims.",
)
GONE_OWNER = Check(
    "CD004",
    "claim-of-deleted-pod",
    WARNING,
    "A ResourceClaim was made from a template for a pod that does not exist any more.",
    "The garbage collector of kube-controller-manager deletes what a deleted pod owned. If such claims stay, it does not run, or a "
    "finalizer keeps them.",
)
STUCK_DELETION = Check(
    "CD005",
    "claim-not-deleted",
    WARNING,
    "A ResourceClaim has been deleted, but finalizers keep it although no pod uses it.",
    "Whoever has set a finalizer has to remove it: look whether that program still runs. Removing a finalizer by hand can leave "
    "devices in use that somebody else then gets.",
)
MISSING_DEVICE = Check(
    "CD006",
    "allocated-device-gone",
    ERROR,
    "A ResourceClaim has devices that no ResourceSlice has any more.",
    "The driver has withdrawn the devices while they were in use, or renamed them. Pods that run keep what they have; new ones with this "
    "claim fail to start. Delete the pods and the claim once the driver publishes the devices, or their successors.",
)
USED_TWICE = Check(
    "CD007",
    "device-used-twice",
    ERROR,
    "Several ResourceClaims have the same device, which only one may have.",
    "Two schedulers that serve the same devices, or writing `status.allocation` by hand, lead to this. End the pods of all these claims but "
    "one and delete the claims; then find out who else allocates.",
)
ADMIN_ACCESS = Check(
    "CD008",
    "admin-access-to-used-device",
    NOTE,
    "A ResourceClaim has admin access to devices that others use.",
    "That is what admin access is for, such as monitoring. It matters if the pod is not meant to see or change what others do: only "
    "namespaces with the label `resource.kubernetes.io/admin-access` may have such claims.",
)
PLUGIN_BESIDE_DRIVER = Check(
    "CD009",
    "device-plugin-beside-driver",
    WARNING,
    "A node offers extended resources of a device plugin beside devices of a DRA driver of the same vendor.",
    "If both are about the same hardware, pods with the extended resource and pods with claims can get one device at the same time. Let only one "
    "of them run on each node; labels and taints keep them apart. Devices with neither a PCI address nor a capacity are not meant.",
)
INCOMPLETE_POOL = Check(
    "CD010",
    "incomplete-pool",
    ERROR,
    "The newest generation of a pool lacks ResourceSlices, so that none of its devices can be allocated.",
    "A driver that is updating its pool completes it within seconds. If it stays incomplete, look at the driver's pod on the node: it may have "
    "been ended meanwhile, or the server may refuse a slice.",
)
INVALID_POOL = Check(
    "CD011",
    "invalid-pool",
    ERROR,
    "The ResourceSlices of a pool contradict each other, so that none of its devices can be allocated.",
    "That is a mistake of the driver. `claimcheck validate --live` names the slices and what is wrong with them.",
)
OBSOLETE_SLICE = Check(
    "CD012",
    "obsolete-slice",
    WARNING,
    "ResourceSlices of a former generation of their pool are still there.",
    "Their devices do not count any more. A driver deletes them once it has published the new generation; if they stay, it was ended "
    "meanwhile, and kubelet deletes them only with the node. They can be deleted.",
)
GONE_NODE = Check(
    "CD013",
    "slice-of-gone-node",
    WARNING,
    "ResourceSlices are for nodes that do not exist.",
    "The garbage collector deletes slices that a node owns. Those that a driver publishes for others it has to delete itself; they can be "
    "deleted by hand.",
)
SAME_DEVICE = Check(
    "CD014",
    "device-of-several-drivers",
    ERROR,
    "Several devices of a node have the same PCI address and can be allocated independently of each other.",
    "Two drivers, or two pools of one, publish the same hardware: two pods can get it at the same time. Let only one of them publish it. Partitions of one "
    "device, which draw from common counters, are not meant.",
)
OVERDRAWN = Check(
    "CD015",
    "counters-overdrawn",
    ERROR,
    "Allocated devices draw more from the counters of their pool, or claims more from a device that they share, than these have.",
    "More is allocated than there is, such as memory of a GPU. The driver has changed its counters or capacities while devices were in use, or somebody else "
    "allocates as well. Until claims are given back, no more of the device, and no more devices that draw from the counters, can be allocated.",
)
EMPTY_CLASS = Check(
    "CD016",
    "class-without-devices",
    WARNING,
    "The selectors of a DeviceClass choose none of the devices of the cluster.",
    "Claims of the class wait. Either its driver runs on no node, or a selector has a mistake: `claimcheck devices --class NAME` tries it.",
)
FAILING_CLASS = Check(
    "CD017",
    "class-selector-fails",
    WARNING,
    "A selector of a DeviceClass fails on devices, which fails whole attempts to schedule pods.",
    'Let the selector check first what it looks up: `device.driver == "gpu.example.com" && …`, or `has(…)` for attributes that '
    "only some devices have.",
)
IDLE_PATCH = Check(
    "CD018",
    "patch-without-effect",
    WARNING,
    "A ResourceSlicePatch applies to no device, or its filter fails on devices.",
    "`claimcheck validate --live` says why. A patch for devices that are gone can be deleted.",
)
HIDDEN_PATCH = Check(
    "CD019",
    "patch-hidden-by-others",
    NOTE,
    "All that a ResourceSlicePatch says is hidden by patches with a higher priority.",
    "Delete it, or give it a higher priority.",
)
IDLE_RULE = Check(
    "CD020",
    "taint-rule-without-effect",
    WARNING,
    "A DeviceTaintRule taints no device.",
    "Its selector names a driver, pool or device that does not exist. A rule for devices that have been repaired or removed can be deleted.",
)
RULE_FOR_ALL = Check(
    "CD021",
    "taint-rule-for-all-devices",
    WARNING,
    "A DeviceTaintRule taints all devices of the cluster.",
    "A selector without driver, pool and device chooses every device of every driver. Name what is meant.",
)
FULL_CLAIM = Check(
    "CD022",
    "claim-nearly-full",
    NOTE,
    "A ResourceClaim is reserved for almost as many pods as the API server takes.",
    "Pods beyond that wait. Let some of them use another claim, or a template.",
)
DEPRECATED_VERSION = Check(
    "CD023",
    "deprecated-version-in-use",
    NOTE,
    "A program writes objects in a deprecated version of the API.",
    "It stops working with the release that does not serve the version any more, often a driver that then publishes no devices. The "
    "program is the field manager in `metadata.managedFields` (`kubectl get --show-managed-fields`), which files may lack.",
)

CHECKS = {each.code: each for each in tuple(globals().values()) if isinstance(each, Check)}
