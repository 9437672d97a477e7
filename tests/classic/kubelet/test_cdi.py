"""Names and contents of CDI devices, at the limits of what kubelet 1.30 and container runtimes take."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from classic.kubelet.cdi import (
    ContainerEdits,
    Device,
    DeviceKind,
    DeviceNode,
    Hook,
    HookName,
    InvalidDevice,
    Mount,
    check_qualified_name,
    least_version,
)

EDITS = ContainerEdits(env={"A": "1"})

#: A name, and whether it is one of a vendor, a class, a device.
NAMES = {
    "": (False, False, False),
    "a": (False, False, True),
    "1": (False, False, True),
    "ab": (True, True, True),
    "1b": (False, False, True),
    "a1": (True, True, True),
    "gpu.example.com": (True, False, True),
    "a_b": (True, True, True),
    "a-b": (True, True, True),
    "a:b": (False, False, True),
    "-a": (False, False, False),
    ".a": (False, False, False),
    "a.": (False, False, False),
    "a-": (False, False, False),
    "a/b": (False, False, False),
    "a=b": (False, False, False),
    "a b": (False, False, False),
    "ab\n": (False, False, False),
    "äb": (False, False, False),
    "a\0b": (False, False, False),
    "..": (False, False, False),
    "a..b": (True, False, True),
    "x" * 128: (True, True, True),
    "x" * 129: (False, False, False),
}

MAKERS: tuple[Callable[[str], object], ...] = (
    lambda name: DeviceKind(name, "gpu"),
    lambda name: DeviceKind("gpu.example.com", name),
    lambda name: Device(name, EDITS),
)


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    """A name is taken for exactly those things whose name it can be."""
    assert tuple(is_taken(make, name) for make in MAKERS) == NAMES[name]


def is_taken(make: Callable[[str], object], name: str) -> bool:
    try:
        make(name)
    except InvalidDevice:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("nvidia.com/gpu=0", True),
        ("nvidia.com/gpu=GPU-1:2", True),
        ("nvidia.com/gpu.mig=0", False),
        ("n/gpu=0", False),
        ("nvidia.com/g=0", False),
        ("nvidia.com/gpu", False),
        ("nvidia.com=0", False),
        ("gpu=0", False),
        ("nvidia.com/gpu=", False),
        ("nvidia.com/gpu=0\n", False),
        ("/etc/passwd", False),
        ("", False),
    ],
)
def test_full_names(name: str, taken: bool) -> None:
    """Only what kubelet 1.30 can take apart."""
    assert is_taken(check_qualified_name, name) == taken


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "relative node": (lambda: DeviceNode("dev/gpu0"), "the path of a device node must be absolute"),
    "relative host path": (
        lambda: DeviceNode("/dev/a", "b"),
        "the path of a device node on the node must be absolute",
    ),
    "null": (lambda: DeviceNode("/dev/\0"), "the path of a device node must be absolute"),
    "permissions": (
        lambda: DeviceNode("/dev/a", permissions="rx"),
        "a device node's permissions are of r, w and m",
    ),
    "relative mount": (lambda: Mount("a", "/a"), "the path of a mount on the node must be absolute"),
    "mounted nowhere": (lambda: Mount("/a", ""), "the path of a mount in the container must be absolute"),
    "relative hook": (lambda: Hook(HookName.PRESTART, "init"), "the path of a hook must be absolute"),
    "argument": (
        lambda: Hook(HookName.PRESTART, "/a", ("a\0",)),
        "a hook's arguments cannot contain a null character",
    ),
    "variable without name": (lambda: ContainerEdits(env={"": "1"}), "an environment variable needs a name"),
    "variable with =": (lambda: ContainerEdits(env={"A=B": "1"}), "an environment variable needs a name"),
    "variable with null": (lambda: ContainerEdits(env={"A": "\0"}), "an environment variable needs a name"),
    "variable of a hook": (
        lambda: Hook(HookName.PRESTART, "/a", env={"=": ""}),
        "an environment variable needs a name",
    ),
    "no edits": (
        lambda: Device("a", ContainerEdits()),
        "a device changes something about a container: it has no edits",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_contents_that_runtimes_refuse(mistake: str) -> None:
    """They are refused when they are made, in words that don't repeat them."""
    make, message = MISTAKES[mistake]
    with pytest.raises(InvalidDevice, match=f"^{message}"):
        make()


def test_all_that_a_device_can_change() -> None:
    """As the CDI specification spells it; what is empty is left out."""
    edits = ContainerEdits(
        env={"A": "1", "B": "x=y"},
        device_nodes=[DeviceNode("/dev/gpu0"), DeviceNode("/dev/gpu1", "/dev/pool/gpu1", "rw")],
        mounts=[Mount("/opt/gpu", "/usr/lib/gpu")],
        hooks=[
            Hook(HookName.CREATE_RUNTIME, "/usr/bin/init", ("init", "--all"), {"C": "2"}, 5),
            Hook(HookName.POSTSTOP, "/usr/bin/reset"),
        ],
    )
    assert edits.to_json() == {
        "env": ["A=1", "B=x=y"],
        "deviceNodes": [
            {"path": "/dev/gpu0"},
            {"path": "/dev/gpu1", "hostPath": "/dev/pool/gpu1", "permissions": "rw"},
        ],
        "mounts": [
            {
                "hostPath": "/opt/gpu",
                "containerPath": "/usr/lib/gpu",
                "options": ["ro", "nosuid", "nodev", "bind"],
            }
        ],
        "hooks": [
            {
                "hookName": "createRuntime",
                "path": "/usr/bin/init",
                "args": ["init", "--all"],
                "env": ["C=2"],
                "timeout": 5,
            },
            {"hookName": "poststop", "path": "/usr/bin/reset"},
        ],
    }


@pytest.mark.parametrize(
    ("device", "version"),
    [
        (Device("gpu0", EDITS), "0.3.0"),
        (Device("0", EDITS), "0.5.0"),
        (Device("gpu0", ContainerEdits(device_nodes=[DeviceNode("/dev/gpu0")])), "0.3.0"),
        (Device("gpu0", ContainerEdits(device_nodes=[DeviceNode("/dev/gpu0", "/dev/gpu1")])), "0.5.0"),
    ],
)
def test_the_oldest_version_that_will_do(device: Device, version: str) -> None:
    """Runtimes refuse specs of a version that is newer than theirs."""
    assert least_version([Device("other", EDITS), device]) == version
