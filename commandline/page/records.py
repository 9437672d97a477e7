"""What the paths under ``/api/v1/`` answer, as records: the OpenAPI document is made of them, and tests hold the answers to them."""

from __future__ import annotations

from typing import Any, TypedDict

Report = dict[str, Any]
"""What a command writes with ``-o json``, whose guide has the keys."""


class Failure(TypedDict):
    """An input that could not be read."""

    file: str
    message: str


class Cluster(TypedDict):
    """A cluster in figures; null is what is not known, or not shown to who asks."""

    source: str
    kubeVersion: str
    isLive: bool
    version: int
    nodes: int | None
    devices: int | None
    free: int | None
    waiting: int | None
    failures: list[Failure]
    notes: list[str]


class Kind(TypedDict):
    """Devices between which no selector tells a difference."""

    driver: str
    count: int
    attributes: dict[str, Any]


class Square(TypedDict):
    """A device on the map."""

    kind: int
    status: str
    tainted: bool
    used: float | None
    name: str


class Group(TypedDict):
    """Nodes or pools that are alike."""

    count: int
    names: list[str]
    closed: str
    devices: list[Square]


class Devices(TypedDict):
    """All devices."""

    kinds: list[Kind]
    groups: list[Group]
    elsewhere: list[Group]


class DeviceMap(Devices):
    """All devices, with the version of the cluster."""

    version: int


class Node(TypedDict):
    """A node and its devices."""

    name: str
    closed: str
    devices: list[Report]


class SelectorError(TypedDict):
    """Why an expression is no selector."""

    message: str
    line: int | None
    column: int | None
    hint: str


class Failing(TypedDict):
    """A kind of devices on which a selector fails."""

    kind: int
    error: str


class Selected(TypedDict):
    """What a selector chooses."""

    kinds: list[int]
    failing: list[Failing]
    error: SelectorError | None


class Object(TypedDict):
    """An object that requests devices."""

    kind: str
    namespace: str
    name: str


class Free(TypedDict):
    """How much is free."""

    models: list[Report]
    classes: list[Report]
    unfinished: list[str]
    fragmentation: Report | None


class ModelCount(TypedDict):
    """How many devices of a model there are."""

    driver: str
    model: str
    devices: int


class NodeKind(TypedDict):
    """Nodes with as many devices of each model, and one of them."""

    node: str
    nodes: int
    devices: list[ModelCount]


class Capacity(Free):
    """How much is free, and what can be asked about."""

    requesting: list[Object]
    moreRequesting: int
    nodeKinds: list[NodeKind]


class ChangedCapacity(Free):
    """How much is free after a change, and the pods that leave."""

    leaving: list[str]
    moreLeaving: int


class Text(TypedDict):
    """A text."""

    text: str


class Objective(TypedDict):
    """How many fit with an objective; `order` has the place of the node of each among the nodes."""

    objective: str
    copies: int
    isAll: bool
    reason: str
    nodes: list[str]
    order: list[int]


class Room(TypedDict):
    """How many more like an object fit."""

    object: str
    objectives: list[Objective]


class NewNode(TypedDict):
    """So many new nodes like one."""

    like: str
    count: int


class Way(TypedDict):
    """New nodes, and how many copies they still leave."""

    nodes: list[NewNode]
    total: int
    left: int


class NewNodes(TypedDict):
    """The new nodes that copies of an object need, the best way first."""

    object: str
    copies: int
    placedWithout: int
    complete: bool
    ways: list[Way]


class PoolShort(TypedDict):
    """A pool in short."""

    driver: str
    pool: str
    generation: int
    slices: int
    wanted: int
    devices: int
    problems: list[str]


class Pools(TypedDict):
    """All pools."""

    pools: list[PoolShort]
    morePools: int


class PoolSlice(TypedDict):
    """A slice of a pool."""

    name: str
    generation: int
    resourceSliceCount: int
    devices: int
    nodeName: str


class Check(TypedDict):
    """Something that holds of a sound pool."""

    title: str
    holds: bool
    detail: str


class DroppedField(TypedDict):
    """A field that is dropped."""

    field: str
    places: int


class Dropped(TypedDict):
    """What a release drops."""

    release: str
    fields: list[DroppedField]


class Pool(TypedDict):
    """A pool with its checks."""

    driver: str
    pool: str
    slices: list[PoolSlice]
    moreSlices: int
    checks: list[Check]
    findings: list[Report]
    moreFindings: int
    unseen: int
    releases: list[str]
    dropped: list[Dropped]


class Counter(TypedDict):
    """A counter of a counter set."""

    name: str
    total: str


class Partition(TypedDict):
    """A device, with its share of each counter from which it takes."""

    device: str
    status: str
    tainted: bool
    shares: dict[str, float]
    groups: list[str]


class CounterSet(TypedDict):
    """A counter set with the devices that take from it."""

    name: str
    counters: list[Counter]
    partitions: list[Partition]
    morePartitions: int


class RefusedPair(TypedDict):
    """The places of two devices that cannot be in use together."""

    first: int
    second: int
    reason: str


class Pairs(TypedDict):
    """Which devices of counter sets that are alike cannot be in use together; all other pairs can."""

    counterSets: list[str]
    moreCounterSets: int
    devices: list[str]
    refused: list[RefusedPair]
    moreDevices: int


class Partitioned(TypedDict):
    """How the devices of a pool share its counters."""

    driver: str
    pool: str
    counterSets: list[CounterSet]
    moreCounterSets: int
    pairs: list[Pairs]
    unfinished: bool


class RefusedDevice(TypedDict):
    """A device that cannot be in use as well."""

    device: str
    reason: str


class Beside(TypedDict):
    """The devices that cannot be in use beside others."""

    refused: list[RefusedDevice]
    moreRefused: int


class Device(TypedDict):
    """The name of a device."""

    driver: str
    pool: str
    device: str


class Change(Device):
    """A device whose status would change."""

    nodeName: str
    before: str
    after: str


class Tried(TypedDict):
    """A remedy that is tried."""

    remedy: Report
    node: str
    devices: list[Device]
    changes: list[Change]
    moreChanges: int
    map: Devices


class Validated(TypedDict):
    """What a server would answer to a text."""

    summary: str
    findings: list[Report]
    moreFindings: int
    failures: list[Failure]
