"""Extracts the structs of Pod and of the kinds that hold a pod template from the Go sources of ``k8s.io/api``.

Only facts are taken: names in JSON and in Go, types, whether a field is a pointer, and how its empty value is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from resourceapi.model.workloads import KINDS

ROOTS = {group or "core": kinds for group, kinds in KINDS.items()}
# Types that are read as a whole, by the name that they have in the sources.
SPECIAL = {
    "metav1.Time": "time",
    "metav1.MicroTime": "microtime",
    "metav1.FieldsV1": "raw",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intorstring",
    "runtime.RawExtension": "raw",
    "types.UID": "string types.UID",
    "types.NodeName": "string types.NodeName",
    "string": "string",
    "bool": "bool",
    "int32": "int32",
    "int64": "int64",
}
PACKAGES = {"metav1": "meta", "v1": "core", "corev1": "core", "schedulingv1alpha3": "scheduling"}
VERSIONS = {"scheduling": "v1alpha3"}

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (?!struct\b|interface\b)([\w.\[\]*]+)", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`([^`]*)`", re.MULTILINE)
_TAG = re.compile(r'json:"([^",]*)((?:,\w+)*)"')


class Sources:
    """The type declarations of some packages."""

    def __init__(self, api: Path, apimachinery: Path) -> None:
        directories = {name: api / name / VERSIONS.get(name, "v1") for name in (*ROOTS, "scheduling")}
        directories["meta"] = apimachinery / "pkg/apis/meta/v1"
        self.structs: dict[str, dict[str, str]] = {}
        self.named: dict[str, dict[str, str]] = {}
        for package, directory in directories.items():
            types = directory / "types.go"
            text = types.read_text() if types.exists() else ""  # not every release has every version
            self.structs[package] = dict(_STRUCT.findall(text))
            self.named[package] = dict(_NAMED.findall(text))

    def type(self, package: str, text: str, found: list[tuple[str, str]]) -> str:
        """A type in the notation of the data file; structs that it refers to are added to ``found``."""
        if text.startswith("[]"):
            return "[]" + self.type(package, text[2:], found)
        if match := re.match(r"map\[(\w+)\](.*)", text):
            return f"map[{self._key(package, match[1])}]" + self.type(package, match[2], found)
        if text in SPECIAL:
            return SPECIAL[text]
        prefix, _, name = text.rpartition(".")
        package = PACKAGES[prefix] if prefix else package
        if name in ("Time", "MicroTime", "FieldsV1") and package == "meta":
            return SPECIAL[f"metav1.{name}"]
        if name in self.structs[package]:
            found.append((package, name))
            return f"#{name} {self._go(package, name)}".removesuffix(f" v1.{name}")
        target = self.type(package, self.named[package][name], found)
        own_name = self._go(package, name)
        return f"{target} ={own_name}" if target.startswith(("[]", "map[")) else f"{target} {own_name}"

    def _key(self, package: str, name: str) -> str:
        return name if name == "string" else self._go(package, name)

    def _go(self, package: str, name: str) -> str:
        return f"{VERSIONS.get(package, 'v1')}.{name}"

    def fields(self, package: str, struct: str, found: list[tuple[str, str]]) -> Iterator[list[str]]:
        """The fields of a struct as ``[name, type, Go name, flags]``; what can be derived is left out at the end."""
        body = re.sub(r"^\s*//.*$", "", self.structs[package][struct], flags=re.MULTILINE)
        for go, text, tag in _FIELD.findall(body):
            match = _TAG.search(tag)
            assert match is not None, (struct, go)
            name, options = match[1], match[2].split(",")
            pointer = text.startswith("*")
            type_ = self.type(package, text.removeprefix("*"), found)
            embedded = not go
            go = go or text.rpartition(".")[2].removeprefix("*")
            inline = embedded and not name
            # Go leaves out an empty time only where it is told to leave out zero.
            omits = "omitzero" if type_ in ("time", "microtime") and not pointer else "omitempty"
            flags = ("*" if pointer else "") + ("" if omits in options else "!") + ("<" if inline else "")
            entry = [name or go[:1].lower() + go[1:], type_, go, flags.replace("!<", "<")]
            yield _shortened(entry)


def _shortened(entry: list[str]) -> list[str]:
    name, type_, go, flags = entry
    if go == name[:1].upper() + name[1:]:
        go = ""
    if not flags:
        return [name, type_, go] if go else [name, type_]
    return [name, type_, go, flags]


def extract(api: Path, apimachinery: Path) -> dict[str, list[list[str]]]:
    """All structs that the kinds consist of, by name, from the directories of the two Go modules in the release to be described."""
    sources = Sources(api, apimachinery)
    pending = [(package, kind) for package, kinds in ROOTS.items() for kind in kinds]
    origin: dict[str, str] = {}
    structs: dict[str, list[list[str]]] = {}
    while pending:
        package, name = pending.pop(0)
        if name in origin:
            assert origin[name] == package, f"two structs are called {name}"
            continue
        origin[name] = package
        structs[name] = list(sources.fields(package, name, pending))
    return structs
