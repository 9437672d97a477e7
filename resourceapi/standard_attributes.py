"""The attributes of devices that Kubernetes itself defines, for drivers of any vendor.

Source: `k8s.io/dynamic-resource-allocation/deviceattribute` of 1.37.1.
"""

from __future__ import annotations

import re
from typing import Any

PREFIX = "resource.kubernetes.io/"


class StandardAttribute:
    """One of them.

    :param fields: the fields of a DeviceAttribute in which its value may be.
    :param form: what its value is, in words, with an example.
    :param pattern: of texts.
    """

    __slots__ = ("fields", "form", "pattern")

    def __init__(self, fields: tuple[str, ...], form: str, pattern: str | None = None) -> None:
        self.fields = fields
        self.form = form
        self.pattern = pattern

    def problem(self, field: str, value: Any) -> str:
        """What is wrong with a value (JSON) in a field of a DeviceAttribute; empty if nothing is."""
        if field not in self.fields:
            return f"its value is {self.form}, and so in `{'` or `'.join(self.fields)}`, not in `{field}`"
        if self.pattern is not None:
            is_right = isinstance(value, str) and re.fullmatch(self.pattern, value)
            return "" if is_right else f"its value is {self.form}"
        numbers = value if isinstance(value, list) else [value]
        is_negative = any(isinstance(each, int) and each < 0 for each in numbers)
        return "a device without a NUMA node has no such attribute" if is_negative else ""


def tells_place(name: str) -> bool:
    """Whether an attribute says near which other devices a device is; the domain may have others in later releases."""
    return name.startswith(PREFIX) and name != PCI_ADDRESS


PCIE_ROOT, PCI_ADDRESS, NUMA_NODE = (f"{PREFIX}{name}" for name in ("pcieRoot", "pciBusID", "numaNode"))
STANDARD_ATTRIBUTES = {
    PCIE_ROOT: StandardAttribute(
        ("string",),
        "the PCIe root complex as the kernel writes it, such as pci0000:00",
        r"pci[0-9a-f]{4,8}:[0-9a-f]{2}",
    ),
    PCI_ADDRESS: StandardAttribute(
        ("string",),
        "a PCI address with its domain, in small letters, such as 0000:3b:00.0",
        r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]",
    ),
    NUMA_NODE: StandardAttribute(
        ("int", "ints"),
        "the number of a NUMA node, or a list of them with the nearest first",
    ),
}
