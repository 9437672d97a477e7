"""Writes pages and pictures of a cluster whose names and values are hostile: `python -m tests.commandline.pictures.hostile_files DIRECTORY`."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from commandline.main import main

EVIL = (
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script></style></title>",
    "javascript:document.title='owned'",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200bzero\u0085\u00ad\ufeff\u2028",
    "]]><!--",
    "'\"><svg onload=owned>",
    "::error::owned ##[error]owned",
    "&lt;b&gt; &#0; &amp;",
    "x" * 65_536,
    "\u0645\u0631\u062d\u0628\u0627",
)
#: What each file is made by.
COMMANDS = {
    "devices.svg": ["devices", "-o", "svg"],
    "devices.html": ["devices", "-o", "html"],
    "doctor.html": ["doctor", "-o", "html"],
    "impact.html": ["impact", *(f"--delete=resourceslice/{each}" for each in EVIL[:3]), "-o", "html"],
    "explain.html": ["explain", "-A", "-o", "html"],
    "simulate.html": ["simulate", "-A", "-o", "html"],
}


def objects() -> Iterator[dict[str, Any]]:
    """A cluster in which every text that may be free is hostile."""
    for place, evil in enumerate(EVIL):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": evil}}
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": evil},
            "spec": {
                "driver": evil,
                "nodeName": evil,
                "pool": {"name": evil, "generation": 1, "resourceSliceCount": 1 + place % 2},
                "devices": [
                    {
                        "name": other,
                        "attributes": {f"example.com/{other}": {"string": other}, "model": {"string": other}},
                        "capacity": {other: {"value": "1"}},
                        "taints": [{"key": other, "value": other, "effect": "NoSchedule"}],
                    }
                    for other in EVIL
                ],
            },
        }
        selector = {"cel": {"expression": f"device.attributes[{evil!r}].model == {evil!r}"}}
        request = {"name": evil, "exactly": {"deviceClassName": "gpu", "selectors": [selector]}}
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": evil, "namespace": evil},
            "spec": {"devices": {"requests": [request]}},
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": evil, "namespace": evil},
            "spec": {"containers": [], "resourceClaims": [{"name": evil, "resourceClaimName": evil}]},
        }
    yield {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}


def written(*arguments: str) -> str:
    """What a command writes to standard output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        main([*arguments, "--no-config"])
    return output.getvalue()


def write_files(directory: Path) -> list[Path]:
    """Write all of them; returns their paths."""
    cluster = directory / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all(objects()), encoding="utf-8")
    found = {name: written(*command, "--inventory", str(cluster)) for name, command in COMMANDS.items()}
    found["validate.html"] = written("validate", str(cluster), "-o", "html")
    for name, text in found.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in found]


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
