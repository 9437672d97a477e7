"""Messages against bytes that kubelet's own structs were written as."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from classic.kubelet.wire import node_v1alpha2, node_v1alpha3, registration
from classic.kubelet.wire.message import Message, UnreadableMessage
from classic.kubelet.wire.structured_handle import (
    AllocationResultModel,
    DriverAllocationResult,
    NamedResourcesAllocationResult,
    RawExtension,
    StructuredResourceHandle,
)

RECORDED: dict[str, str] = yaml.safe_load(
    (Path(__file__).parent / "recorded.yaml").read_text(encoding="utf-8")
)

UID = "ad51e716-0d79-42f9-bac6-2ede24ba41a8"
DATA = '{"gpu":"größe"}'
STRUCTURED = StructuredResourceHandle(
    vendor_class_parameters=RawExtension(b'{"a":1}'),
    vendor_claim_parameters=RawExtension(),
    node_name="worker-1",
    results=(
        DriverAllocationResult(
            RawExtension(b'{"b":2}'), AllocationResultModel(NamedResourcesAllocationResult("gpu-0"))
        ),
        DriverAllocationResult(RawExtension(), AllocationResultModel()),
    ),
)
CLAIM = node_v1alpha3.Claim("gpu-test1", UID, "pod1-gpu", DATA)
STRUCTURED_CLAIM = node_v1alpha3.Claim("gpu-test1", f"{UID[:-1]}9", "pod1-gpu2", "", (STRUCTURED,))

MESSAGES: dict[str, Message] = {
    "v1alpha3.NodePrepareResourcesRequest": node_v1alpha3.NodePrepareResourcesRequest(
        (CLAIM, STRUCTURED_CLAIM)
    ),
    "v1alpha3.NodePrepareResourcesResponse": node_v1alpha3.NodePrepareResourcesResponse(
        {UID: node_v1alpha3.NodePrepareResourceResponse(("gpu.example.com/gpu=a", "gpu.example.com/gpu=b"))}
    ),
    "v1alpha3.NodePrepareResourcesResponse/error": node_v1alpha3.NodePrepareResourcesResponse(
        {UID: node_v1alpha3.NodePrepareResourceResponse(error="no")}
    ),
    "v1alpha3.NodeUnprepareResourcesRequest": node_v1alpha3.NodeUnprepareResourcesRequest((CLAIM,)),
    "v1alpha3.NodeUnprepareResourcesResponse": node_v1alpha3.NodeUnprepareResourcesResponse(
        {UID: node_v1alpha3.NodeUnprepareResourceResponse()}
    ),
    "v1alpha3.NodeUnprepareResourcesResponse/error": node_v1alpha3.NodeUnprepareResourcesResponse(
        {UID: node_v1alpha3.NodeUnprepareResourceResponse("no")}
    ),
    "v1alpha2.NodePrepareResourceRequest": node_v1alpha2.NodePrepareResourceRequest(
        "gpu-test1", UID, "pod1-gpu", DATA, (STRUCTURED,)
    ),
    "v1alpha2.NodePrepareResourceResponse": node_v1alpha2.NodePrepareResourceResponse(
        ("gpu.example.com/gpu=a",)
    ),
    "v1alpha2.NodeUnprepareResourceRequest": node_v1alpha2.NodeUnprepareResourceRequest(
        "gpu-test1", UID, "pod1-gpu", DATA
    ),
    "v1alpha2.NodeUnprepareResourceResponse": node_v1alpha2.NodeUnprepareResourceResponse(),
    "pluginregistration.InfoRequest": registration.InfoRequest(),
    "pluginregistration.PluginInfo": registration.PluginInfo(
        registration.DRA_PLUGIN,
        "gpu.example.com",
        "/var/lib/kubelet/plugins/gpu.example.com/dra.sock",
        (registration.API_VERSION,),
    ),
    "pluginregistration.RegistrationStatus": registration.RegistrationStatus(plugin_registered=True),
    "pluginregistration.RegistrationStatus/error": registration.RegistrationStatus(error="no handler"),
    "pluginregistration.RegistrationStatusResponse": registration.RegistrationStatusResponse(),
}


def test_every_recorded_message_is_known() -> None:
    """Nothing recorded is left out."""
    assert MESSAGES.keys() == RECORDED.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_messages_as_kubelet_writes_them(name: str) -> None:
    """What kubelet writes is read as the message that it meant, and what we write are the same bytes."""
    message = MESSAGES[name]
    data = bytes.fromhex(RECORDED[name])
    assert type(message).from_bytes(data) == message
    assert message.to_bytes() == data


def test_fields_of_later_releases_are_ignored() -> None:
    """A field that the message does not have (15, a string) is left out."""
    data = CLAIM.to_bytes() + b"\x7a\x03new"
    assert node_v1alpha3.Claim.from_bytes(data) == CLAIM


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff", b"\x0a\x05abc", b"\x0a\x02\xc3\x28", b"\x08"],
    ids=["no field", "cut off", "not UTF-8", "no value"],
)
def test_what_is_no_message(data: bytes) -> None:
    """Other bytes are refused in words that do not repeat them."""
    with pytest.raises(UnreadableMessage, match=r"^these are not the bytes of a Claim$"):
        node_v1alpha3.Claim.from_bytes(data)


@pytest.mark.parametrize(("claims", "handles"), [(20_000, 0), (20_001, 0), (1_000, 19), (1_000, 20)])
def test_messages_of_many_parts(claims: int, handles: int) -> None:
    """However they are nested: two bytes on the wire may take hundreds in memory."""
    claim = node_v1alpha3.Claim(structured_resource_handle=(StructuredResourceHandle(),) * handles)
    data = node_v1alpha3.NodePrepareResourcesRequest((claim,) * claims).to_bytes()
    if claims * (1 + handles) <= 20_000:
        assert len(node_v1alpha3.NodePrepareResourcesRequest.from_bytes(data).claims) == claims
    else:
        with pytest.raises(UnreadableMessage, match=r"^the message has more than 20,000 parts$"):
            node_v1alpha3.NodePrepareResourcesRequest.from_bytes(data)
