"""Recognises the API server before anything is read from it, and notices when it has become another one.

Releases and gates of API server and scheduler may differ (KEP-4816, KEP-5963: "Version Skew Strategy"). Gates of the
configuration are the scheduler's; the API server's are read from its metrics, if these may be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from threading import Event
from typing import Any, NamedTuple

from allocator.features import GATES
from cluster.client import Client, deadline
from cluster.group_snapshots import GATE, InConfiguration, InResults, NotKept, Snapshots
from resourceapi.api_client import NOT_FOUND, Api, Unavailable, expect
from resourceapi.errors import ClaimcheckError
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, DEVICE_CLASS, RESOURCE_SLICE
from resourceapi.logs import log
from resourceapi.manifests import entries, mapping, text
from resourceapi.model.versions import GROUP
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import shortened
from resourceapi.releases import PROPOSALS, Profile

BUILT_IN, CUSTOM_RESOURCES = "BuiltIn", "CustomResources"
VERSION = "v1"
# The first release that can have compatibility groups.
GROUPS_MINOR = 37
MAX_NAMES = 300
NEEDED = (
    DEVICE_CLASS.resource,
    RESOURCE_SLICE.resource,
    CLAIM.resource,
    CLAIM_TEMPLATE.resource,
    f"{CLAIM.resource}/status",
)
_GATE = re.compile(rb'kubernetes_feature_enabled\{name="(\w{1,100})",stage="\w*"\} ([01])$')
_METRICS_SECONDS = 20.0


class Unsuitable(ClaimcheckError):
    """The API server does not serve what the sidecar needs, or not as the configuration says."""


class ConnectedServer(NamedTuple):
    """An API server as it presents itself.

    :param minor: it answers as release 1.``minor``; 0 if it does not say.
    :param custom_resources: whether CRDs serve the group.
    :param gates: its feature gates; empty if they may not be read.
    :param fields: whether the schemas of slices and of results have compatibility groups.
    """

    minor: int
    custom_resources: bool
    gates: Mapping[str, bool]
    fields: tuple[bool, bool]

    def has_groups(self) -> bool:
        """Whether slices may have compatibility groups; if that cannot be known, they are taken to."""
        if self.custom_resources:
            return self.fields[0]
        return self.minor >= GROUPS_MINOR and self.gates.get(GATE, True)

    def snapshots(self, profile: Profile) -> Snapshots:
        """Where it keeps snapshots of compatibility groups."""
        if not self.has_groups():
            return NotKept()
        return InResults() if profile.name == PROPOSALS else InConfiguration()


def ask(client: Client) -> ConnectedServer:
    """Find out what the API server is.

    :raises Unavailable: if it does not answer.
    :raises Unsuitable: if it does not serve what the sidecar needs.
    """
    _require_kinds(client)
    path = f"/openapi/v3/apis/{GROUP}/{VERSION}"
    schemas = mapping(expect(client.request("GET", path), f"GET {path}", 200), "components", "schemas")
    suffix = f".resource.{VERSION}.{CLAIM.name}"
    is_built_in = any(name.endswith(f".api{suffix}") for name in schemas)
    return ConnectedServer(
        minor=_minor(client),
        custom_resources=not is_built_in,
        gates=_gates(client),
        fields=(
            _has_groups(schemas, RESOURCE_SLICE.name, "spec", "devices", "consumesCounters"),
            _has_groups(schemas, CLAIM.name, "status", "allocation", "devices", "results"),
        ),
    )


def _require_kinds(api: Api) -> None:
    path = f"/apis/{GROUP}"
    code, group = api.request("GET", path)
    if code == NOT_FOUND:
        raise Unsuitable(f"the API server does not serve {GROUP}: it needs 1.34 or newer, or the CRDs")
    expect((code, group), f"GET {path}", 200)
    versions = [text(each, "version") for each in entries(group, "versions")]
    if VERSION not in versions:
        raise Unsuitable(
            f"the API server serves {GROUP} in {_listed(versions)} only; the sidecar needs {VERSION}, which 1.34 and newer "
            f"serve unless their --runtime-config says otherwise"
        )
    path = f"/apis/{GROUP}/{VERSION}"
    found = entries(expect(api.request("GET", path), f"GET {path}", 200), "resources")
    names = {text(each, "name") for each in found}
    if missing := [each for each in NEEDED if each not in names]:
        raise Unsuitable(
            f"{GROUP}/{VERSION} lacks {_listed(missing)}: the sidecar needs all of {_listed(NEEDED)}"
        )


def _listed(names: Iterable[str]) -> str:
    return shortened(", ".join(names) or "no version", MAX_NAMES)


def _minor(api: Api) -> int:
    """The release as which the server answers, which may be older than its own (``--emulated-version``)."""
    found = expect(api.request("GET", "/version"), "GET /version", 200)
    digits = re.match(r"\d{1,4}", text(found, "emulationMinor") or text(found, "minor"))
    return int(digits[0]) if digits else 0


def _gates(client: Client) -> dict[str, bool]:
    """The feature gates of the server, as its metrics have them; none if they may not be read."""
    try:
        with deadline(_METRICS_SECONDS):
            lines = client.lines("/metrics", {}, _METRICS_SECONDS)
            return {gate[1].decode(): gate[2] == b"1" for gate in map(_GATE.match, lines) if gate}
    except Unavailable:
        return {}


def _has_groups(schemas: Mapping[str, Any], kind: str, *path: str) -> bool:
    """Whether the entries at a path of a kind have the field."""
    ending = f".resource.{VERSION}.{kind}"
    whole: Mapping[str, Any] = next((each for name, each in schemas.items() if name.endswith(ending)), EMPTY)
    for key in path:
        whole = _resolved(schemas, mapping(_resolved(schemas, whole), "properties", key))
        whole = mapping(whole, "items") or whole
    return "compatibilityGroups" in mapping(_resolved(schemas, whole), "properties")


def _resolved(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema, or that to which it refers, alone or as the only one of ``allOf``."""
    for each in (schema, *entries(schema, "allOf")):
        if reference := text(each, "$ref"):
            return mapping(schemas, reference.rpartition("/")[2])
    return schema


def objections(server: ConnectedServer, profile: Profile, serves: str) -> str:
    """Why the configuration cannot be right about the server; empty if it can.

    :param serves: what the configuration says about the group: BuiltIn or CustomResources.
    """
    actual = CUSTOM_RESOURCES if server.custom_resources else BUILT_IN
    if actual != serves:
        who = "CRDs serve" if server.custom_resources else "the API server itself serves"
        return f"{who} {GROUP}, so apiServer.serves must be {actual}"
    if profile.name != PROPOSALS:
        return ""
    if not server.custom_resources:
        return f"apiServer.release is {PROPOSALS}, but only the project's CRDs have the fields of proposals"
    if not server.fields[1]:
        return (
            f"apiServer.release is {PROPOSALS}, but the CRD of {CLAIM.resource} does not have compatibilityGroups in "
            f"results: install the project's CRDs"
        )
    return ""


def differences(server: ConnectedServer, profile: Profile) -> list[str]:
    """What of the server differs from what the configuration says of the scheduler, in words; both can work together."""
    if server.custom_resources:
        return []  # its release and gates say nothing about the group
    found = []
    if server.minor and server.minor != profile.minor:
        found.append(f"the API server answers as 1.{server.minor}, apiServer.release is {profile.name}")
    for gate in sorted(GATES):
        is_on = gate in profile.gates
        if server.gates.get(gate, is_on) != is_on:
            found.append(f"{gate} is {_state(is_on)} here and {_state(not is_on)} at the API server")
    if not server.gates:
        found.append("the feature gates of the API server are not known, since its metrics may not be read")
    return found


def _state(is_on: bool) -> str:
    return "on" if is_on else "off"


RETRY_SECONDS = 5.0
AGAIN_SECONDS = 300.0
_POLL_SECONDS = 0.2


class ServerCheck:
    """Asks until the API server is one that goes with the configuration; until then the sidecar is not ready.

    It is also where the server keeps snapshots (:class:`cluster.group_snapshots.Snapshots`).
    """

    def __init__(self, client: Client, profile: Profile, serves: str) -> None:
        """Make a check; :meth:`run` asks.

        :param profile: the release and gates of the configuration.
        :param serves: BuiltIn or CustomResources.
        """
        #: set once the server is recognised
        self.recognized = Event()
        self._client = client
        self._profile = profile
        self._serves = serves
        self._snapshots: Snapshots = InConfiguration()
        self._server: ConnectedServer | None = None
        self._told = ""

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation to write."""
        return self._snapshots.with_snapshot(allocation, uid)

    def read(self, claim: Object) -> Object:
        """A claim with its snapshot where the allocator looks for it."""
        return self._snapshots.read(claim)

    def first(self, run: Callable[[Event], None]) -> Callable[[Event], None]:
        """What is to run, and begins once the server is recognised."""

        def run_later(ending: Event) -> None:
            while not self.recognized.wait(_POLL_SECONDS):
                if ending.is_set():
                    return
            run(ending)

        return run_later

    def run(self, ending: Event) -> None:
        """Ask until told to end; what is wrong is logged once."""
        while not ending.is_set():
            self.ask()
            ending.wait(AGAIN_SECONDS if self.recognized.is_set() else RETRY_SECONDS)

    def ask(self) -> None:
        """Ask once."""
        try:
            server = ask(self._client)
        except Unavailable as error:
            if not self.recognized.is_set():
                self._tell(
                    logging.WARNING, "API server not recognized", f"it does not answer: {error.reason}"
                )
            return
        except Unsuitable as error:
            self._tell(logging.ERROR, "API server not suitable", str(error))
            return
        if reason := objections(server, self._profile, self._serves):
            self._tell(logging.ERROR, "API server not suitable", reason)
        elif self._server is None:
            self._server = server
            self._snapshots = server.snapshots(self._profile)
            for difference in differences(server, self._profile):
                log(logging.WARNING, "API server differs from the configuration", difference=difference)
            self.recognized.set()
        elif server.has_groups() != self._server.has_groups():
            change = "has" if server.has_groups() else "no longer has"
            reason = f"it {change} compatibility groups; the sidecar takes notice when it is started again"
            self._tell(logging.WARNING, "API server has changed", reason)

    def _tell(self, level: int, message: str, reason: str) -> None:
        """Log what is wrong, unless that was the last that was logged."""
        if reason != self._told:
            self._told = reason
            log(level, message, reason=reason)
