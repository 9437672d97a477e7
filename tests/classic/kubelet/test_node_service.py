"""What kubelet is answered where claims are odd, slow or many."""

from __future__ import annotations

import asyncio
import logging

import pytest
from grpc import Compression, StatusCode
from grpc.aio import AioRpcError, UnaryUnaryMultiCallable, insecure_channel

from classic.kubelet.cdi import ContainerEdits, Device
from classic.kubelet.plugin import MOST_REQUEST_BYTES
from classic.kubelet.services import MOST_CLAIMS
from classic.kubelet.wire import node_v1alpha3
from classic.kubelet.wire.node_v1alpha3 import Claim, NodePrepareResourceResponse
from classic.kubelet.wire.structured_handle import RawExtension, StructuredResourceHandle
from tests.classic.kubelet.fake_kubelet import call
from tests.classic.kubelet.node import DRIVER, Node, RecordingDriver, claim, device_name, uid

HOSTILE = [
    "../../etc/passwd",
    "..",
    ".",
    "",
    "/",
    "a/b",
    "a\0b",
    "a\n",
    "ä",
    "-a",
    "a-",
    "a.b",
    "x" * 64,
    "a b",
    "$(id)",
]


@pytest.mark.parametrize("evil", HOSTILE)
def test_uids_never_become_paths(node: Node, evil: str) -> None:
    """What is no UID is an error of its claim; the driver isn't asked, and no file is written or removed."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            before = node.files()
            odd = Claim("default", evil, "claim")
            expected = {evil: NodePrepareResourceResponse(error="the claim's UID is invalid")}
            assert await node.kubelet.prepare(DRIVER, odd) == expected
            assert (await node.kubelet.unprepare(DRIVER, odd))[evil].error == "the claim's UID is invalid"
            assert (await node.kubelet.prepare_one(DRIVER, odd)).error.startswith("INVALID_ARGUMENT: ")
            assert (await node.kubelet.unprepare_one(DRIVER, odd)).startswith("INVALID_ARGUMENT: ")
            assert node.files() == before
            assert driver.prepared == driver.unprepared == []

    asyncio.run(scenario())


STRUCTURED = StructuredResourceHandle(vendor_claim_parameters=RawExtension(b"{}"), node_name="worker-1")

ODD = [
    (Claim("a/b", uid(0), "claim"), "the claim's namespace is invalid"),
    (Claim("", uid(0), "claim"), "the claim's namespace is invalid"),
    (Claim("default", uid(0), "../claim"), "the claim's name is invalid"),
    (Claim("default", uid(0), "claim", "x" * 16_384), ""),
    (
        Claim("default", uid(0), "claim", "x" * 16_385),
        "the claim's resource handle has more than 16,384 bytes",
    ),
    (
        Claim("default", uid(0), "claim", "ä" * 8_193),
        "the claim's resource handle has more than 16,384 bytes",
    ),
    (Claim("default", uid(0), "claim", "", (STRUCTURED,)), ""),
    (
        Claim("default", uid(0), "claim", "", (STRUCTURED, STRUCTURED)),
        "the claim has more than one structured resource handle",
    ),
    (Claim("default", "not-a-uuid", "claim"), ""),
    (Claim("default", "x" * 63, "claim"), ""),
]


@pytest.mark.parametrize(("odd", "error"), ODD)
def test_claims_that_the_api_server_would_not_store(node: Node, odd: Claim, error: str) -> None:
    """They are refused in words that do not repeat them; what it would store is prepared."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            assert (await node.kubelet.prepare(DRIVER, odd))[odd.uid].error == error

    asyncio.run(scenario())


def test_structured_handles_are_handed_on(node: Node) -> None:
    """A driver gets what the scheduler decided, in both versions."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            structured = Claim("default", uid(0), "claim", "", (STRUCTURED,))
            await node.kubelet.prepare(DRIVER, structured)
            await node.kubelet.prepare_one(DRIVER, structured)
            assert [each.structured for each in driver.prepared] == [STRUCTURED, STRUCTURED]

    asyncio.run(scenario())


def test_a_claim_with_two_handles_for_the_driver(node: Node) -> None:
    """kubelet 1.30 has one result for a UID, so that the claim cannot work: it is told why, and other claims are prepared."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            results = await node.kubelet.prepare(DRIVER, claim(0, "a"), claim(1), claim(0, "b"))
            assert results == {
                uid(0): NodePrepareResourceResponse(
                    error="the claim has several resource handles for this driver"
                ),
                uid(1): NodePrepareResourceResponse((device_name(1),)),
            }
            assert [each.uid for each in driver.prepared] == [uid(1)]

    asyncio.run(scenario())


DEVICE = Device("gpu-0", ContainerEdits(env={"GPU": "0"}))

ODD_DEVICES: list[tuple[tuple[Device | str, ...], tuple[str, ...], str]] = [
    ((), (), ""),
    (("nvidia.com/gpu=0",), ("nvidia.com/gpu=0",), ""),
    ((DEVICE, "nvidia.com/gpu=0"), (device_name(), "nvidia.com/gpu=0"), ""),
    ((DEVICE, DEVICE), (), "the driver's devices: two devices of the claim have the same name"),
    (("nvidia.com/gpu",), (), "the driver's devices: the full name of a device is vendor/class=device"),
    ("nvidia.com/gpu=0", (), "the driver's devices: the full name of a device is vendor/class=device"),  # type: ignore[list-item]
    (None, (), "TypeError: 'NoneType' object is not iterable"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("devices", "names", "error"), ODD_DEVICES)
def test_devices_of_drivers(
    node: Node, devices: tuple[Device | str, ...], names: tuple[str, ...], error: str
) -> None:
    """Any number of devices, some of which others describe; what kubelet would not take is an error and is undone."""

    async def scenario() -> None:
        driver = RecordingDriver(devices=devices)
        async with node.plugin(driver):
            assert (await node.kubelet.prepare(DRIVER, claim()))[uid(0)] == NodePrepareResourceResponse(
                names, error
            )
            assert len(driver.unprepared) == (1 if error else 0)
            assert [name for name in node.files() if name.startswith("cdi/")] == [
                f"cdi/{DRIVER}=gpu_{uid(0)}.json" for _ in names if names[0] == device_name()
            ][:1]

    asyncio.run(scenario())


def test_a_driver_that_hangs(node: Node) -> None:
    """The error of its claim comes while kubelet still waits; other claims of the call are prepared."""

    async def scenario() -> None:
        async def first_hangs(each: object) -> None:
            if str(each) == "default/claim-0":
                await asyncio.Event().wait()

        async with node.plugin(RecordingDriver(first_hangs), time_limit=0.5):
            results = await node.kubelet.prepare(DRIVER, claim(0), claim(1))
            assert results == {
                uid(0): NodePrepareResourceResponse(error="the driver has not finished within 0.5 s"),
                uid(1): NodePrepareResourceResponse((device_name(1),)),
            }
            error = "DEADLINE_EXCEEDED: the driver has not finished within 0.5 s"
            assert (await node.kubelet.prepare_one(DRIVER, claim())).error == error

    asyncio.run(scenario())


def test_more_claims_than_any_pod_has(node: Node) -> None:
    """At the limit all are prepared; one more, and the call fails before the driver is asked."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            claims = [claim(number) for number in range(MOST_CLAIMS + 1)]
            results = await node.kubelet.prepare(DRIVER, *claims[:-1])
            assert len(results) == len(driver.prepared) == MOST_CLAIMS
            with pytest.raises(AioRpcError, match="more than 1,000 claims in one call"):
                await node.kubelet.prepare(DRIVER, *claims)
            assert len(driver.prepared) == MOST_CLAIMS

    asyncio.run(scenario())


GARBAGE = {
    "no message": (b"\xff" * 100, StatusCode.INVALID_ARGUMENT),
    "cut off": (
        node_v1alpha3.NodePrepareResourcesRequest((claim(),)).to_bytes()[:-1],
        StatusCode.INVALID_ARGUMENT,
    ),
    "many parts": (b"\x0a\x00" * (MOST_REQUEST_BYTES // 2), StatusCode.INVALID_ARGUMENT),
    "too large": (b"\x0a\x00" * (MOST_REQUEST_BYTES // 2) + b"\x0a", StatusCode.RESOURCE_EXHAUSTED),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_bytes_that_kubelet_never_sends(node: Node, name: str) -> None:
    """The call fails, and the next one is answered."""
    data, code = GARBAGE[name]

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            with pytest.raises(AioRpcError) as failed:
                await call(
                    node.settings.endpoint,
                    node_v1alpha3.SERVICE,
                    node_v1alpha3.PREPARE,
                    data,
                    node_v1alpha3.NodePrepareResourcesResponse,
                )
            assert failed.value.code() is code
            assert (await node.kubelet.prepare(DRIVER, claim()))[uid(0)].error == ""

    asyncio.run(scenario())


def test_a_message_that_grows(node: Node) -> None:
    """What is compressed counts as it is afterwards, and is not expanded beyond that."""

    async def scenario() -> None:
        async with (
            node.plugin(RecordingDriver()),
            insecure_channel(
                f"unix:{node.settings.endpoint}", options=[("grpc.max_send_message_length", -1)]
            ) as channel,
        ):
            sending: UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                f"/{node_v1alpha3.SERVICE}/{node_v1alpha3.PREPARE}"
            )
            with pytest.raises(AioRpcError) as failed:
                await sending(bytes(MOST_REQUEST_BYTES + 1), compression=Compression.Gzip)
            assert failed.value.code() is StatusCode.RESOURCE_EXHAUSTED
            assert (await node.kubelet.prepare(DRIVER, claim()))[uid(0)].error == ""

    asyncio.run(scenario())


def test_methods_that_are_missing(node: Node) -> None:
    """kubelet takes this for a driver that publishes no devices of the node."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            with pytest.raises(AioRpcError) as failed:
                await call(
                    node.settings.endpoint,
                    node_v1alpha3.SERVICE,
                    "NodeListAndWatchResources",
                    b"",
                    node_v1alpha3.NodePrepareResourcesResponse,
                )
            assert failed.value.code() is StatusCode.UNIMPLEMENTED

    asyncio.run(scenario())


def test_logs_tell_which_claim_and_never_the_handle(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """One line for each claim, without what its resource handle has."""
    caplog.set_level(logging.DEBUG, "claimcheck")

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            await node.kubelet.prepare(DRIVER, claim(data="secret"))
            await node.kubelet.unprepare(DRIVER, claim(data="secret"))

    asyncio.run(scenario())
    told = [
        (record.message, getattr(record, "fields", {}))
        for record in caplog.records
        if record.name == "claimcheck"
    ]
    assert told[2:] == [
        ("claim prepared", {"claim": "default/claim-0", "uid": uid(0), "devices": [device_name()]}),
        ("claim unprepared", {"claim": "default/claim-0", "uid": uid(0)}),
    ]
    assert "secret" not in caplog.text
