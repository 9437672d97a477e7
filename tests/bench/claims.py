"""The claims that the benchmarks validate: as people write them, all valid, each a little different."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

_DRIVERS = ("gpu.example.com", "nic.example.org", "accelerator.vendor.example")
_SELECTORS = (
    'device.driver == "{driver}"',
    'device.attributes["{driver}"].model == "m{number}"',
    'device.capacity["{driver}"].memory.compareTo(quantity("{number}Gi")) >= 0',
    'device.attributes["{driver}"].version.compareTo(semver("1.{number}.0")) >= 0',
)


def claim(requests: list[dict[str, object]], name: str = "claim") -> dict[str, Any]:
    """A v1 ResourceClaim with these requests."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": requests}},
    }


def prioritized_claim(subrequests: int) -> dict[str, Any]:
    """One request with that many alternatives, one selector each."""
    alternatives = [
        {"name": f"sub-{number}", "deviceClassName": "gpu.example.com", "selectors": [_selector(number)]}
        for number in range(subrequests)
    ]
    return claim([{"name": "main", "firstAvailable": alternatives}])


def write_claims(directory: Path, count: int, seed: int = 1) -> None:
    """`count` YAML files with one claim each: one to three requests, some with alternatives, most with selectors."""
    pick = random.Random(seed)
    for number in range(count):
        requests = "".join(_request_text(pick, index) for index in range(pick.randint(1, 3)))
        (directory / f"claim-{number:04}.yaml").write_text(
            "apiVersion: resource.k8s.io/v1\n"
            "kind: ResourceClaim\n"
            f"metadata:\n  name: claim-{number}\n  namespace: default\n"
            f"spec:\n  devices:\n    requests:\n{requests}"
        )


def _selector(number: int) -> dict[str, object]:
    driver = _DRIVERS[number % len(_DRIVERS)]
    text = _SELECTORS[number % len(_SELECTORS)]
    return {"cel": {"expression": text.format(driver=driver, number=number)}}


def _request_text(pick: random.Random, index: int) -> str:
    drivers = pick.sample(_DRIVERS, len(_DRIVERS))
    if pick.random() < 0.3:
        alternatives = "".join(
            f"      - name: sub-{number}\n{_device_text(pick, drivers[number])}"
            for number in range(pick.randint(2, len(drivers)))
        )
        return f"    - name: request-{index}\n      firstAvailable:\n{alternatives}"
    return f"    - name: request-{index}\n      exactly:\n{_device_text(pick, drivers[0])}"


def _device_text(pick: random.Random, driver: str) -> str:
    lines = [f"deviceClassName: {driver}"]
    if pick.random() < 0.5:
        lines += ["allocationMode: ExactCount", f"count: {pick.randint(1, 8)}"]
    if pick.random() < 0.7:
        expression = pick.choice(_SELECTORS).format(driver=driver, number=pick.randint(1, 80))
        lines += ["selectors:", "- cel:", f"    expression: '{expression}'"]
    return "".join(" " * 8 + line + "\n" for line in lines)
