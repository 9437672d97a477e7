"""Writes the templates of manifests/chart from what `claimcheck manifests` prints: `python -m docs.tools.chart`.

The kustomizations are the only place that says what is deployed. Every combination of the options that change more than
single values is rendered, and the results are laid over each other: what all have becomes text, what some have is put
under a condition on the chart's values.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import yaml

from commandline.distribution import version
from commandline.manifests.config_map import FIXED_LINES, NAME, QUOTA_OBJECTS
from commandline.manifests.deployment import objects_of
from commandline.manifests.options import (
    CERTIFICATES,
    MODES,
    NAMESPACE,
    WATCH,
    WEBHOOKS,
    add_arguments,
)
from resourceapi.objects import Object
from webhook.label_guard import CONDITION

DIRECTORY = Path(__file__).parents[2] / "manifests" / "chart"
HEADER = "{{- /* Made by `make docs` from the kustomizations in manifests/: do not edit. */ -}}\n"
KUBERNETES = ">=1.30.0-0"


#: The components that the chart can install.
INSTALLED = (WEBHOOKS, WATCH)


class Case(NamedTuple):
    """Values of the chart that decide what there is."""

    component: str
    mode: str
    certificates: str
    has_client_authority: bool


CASES = tuple(
    Case(component, mode, certificates, authority)
    for component, mode, certificates, authority in product(INSTALLED, MODES, CERTIFICATES, (False, True))
)
#: Conditions for kinds that one value adds or removes.
KIND_CONDITIONS = {
    "ServiceMonitor": ".Values.serviceMonitor",
    "PodMonitor": ".Values.serviceMonitor",
    "NetworkPolicy": ".Values.networkPolicy",
}
# Texts that stand for values of the chart until everything is written. None of them needs quotes in YAML.
_REPLICAS, _IMAGE, _LABELS = 987654321, "chart-image", "chart-labels"
_ARGUMENTS = "chart-arguments"
_AUTHORITY = "-----BEGIN CERTIFICATE-----"
_POLICY = re.compile(r"chart-policy-(\w+)-(\w+)")

Variants = Mapping[Case, Any]


def files() -> dict[Path, str]:
    """What the generated files hold."""
    made = {DIRECTORY / "Chart.yaml": _description()}
    found: dict[tuple[str, str], dict[Case, Object]] = {}
    for case in CASES:
        for obj in _objects(case):
            found.setdefault((obj["kind"], obj["metadata"]["name"]), {})[case] = obj
    for (kind, name), variants in found.items():
        made[DIRECTORY / "templates" / f"{kind.lower()}-{name}.yaml"] = _template(kind, name, variants)
    return made


def main() -> None:
    """Write the files, and remove templates of objects that are gone."""
    wanted = files()
    (DIRECTORY / "templates").mkdir(parents=True, exist_ok=True)
    for path in (DIRECTORY / "templates").glob("*.yaml"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")


def _description() -> str:
    """Chart.yaml; the chart has the version of the program, written as SemVer."""
    program = version()
    content = {
        "apiVersion": "v2",
        "name": "claimcheck",
        "description": "Webhooks for Kubernetes Dynamic Resource Allocation, or events for pods that wait for devices",
        "type": "application",
        "version": re.sub(r"\.?(a|b|rc|dev)(\d+)$", r"-\1.\2", program),
        "appVersion": program,
        "kubeVersion": KUBERNETES,
    }
    return "# Made by `make docs`: do not edit.\n" + yaml.safe_dump(content, sort_keys=False, width=110)


def _objects(case: Case) -> Iterator[Object]:
    """What is deployed in a case, but for the namespace of the release, which helm makes."""
    parser = ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(["--component", case.component, "--image", _IMAGE, "--service-monitor"])
    with NamedTemporaryFile("w", suffix=".crt") as file:
        if case.component == WATCH:
            options.argument = [_ARGUMENTS]
        if case.component == WEBHOOKS:
            options.mode, options.certificates, options.replicas = case.mode, case.certificates, _REPLICAS
        if case.component == WEBHOOKS and case.has_client_authority:
            file.write(_AUTHORITY)
            file.flush()
            options.client_authority = file.name
        objects = objects_of(options)
    for obj in objects:
        if (obj["kind"], obj["metadata"]["name"]) != ("Namespace", NAMESPACE):
            yield _with_values(obj)


def _with_values(obj: Object) -> Object:
    """An object in which texts stand for the chart's values."""
    for webhook in obj.get("webhooks", ()):
        name = webhook["name"].partition(".")[0]
        webhook["failurePolicy"] = f"chart-policy-{name}-{webhook['failurePolicy']}"
        for condition in webhook.get("matchConditions", ()):
            if condition["name"] == CONDITION:
                labels, bracket, remainder = condition["expression"].partition("]")
                condition["expression"] = f"{_LABELS} {labels}{bracket} {_LABELS}{remainder}"
    if obj["kind"] == "CustomResourceDefinition":
        # Without it, `helm uninstall` would delete all claims.
        annotations = obj["metadata"].get("annotations") or {}
        obj["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep", **annotations}
    return obj


def _template(kind: str, name: str, variants: Variants) -> str:
    if (kind, name) == ("ConfigMap", "claimcheck"):
        lines = _config_map(variants)
    else:
        lines = list(_mapping(variants, 0))
    conditions = [_condition(variants, CASES)] if len(variants) < len(CASES) else []
    if kind in KIND_CONDITIONS:
        conditions.append(KIND_CONDITIONS[kind])
    if name in QUOTA_OBJECTS:
        conditions.append('(ne (include "claimcheck.quota" .) "Off")')
    if conditions:
        whole = conditions[0] if len(conditions) == 1 else f"and {' '.join(map(_in_parentheses, conditions))}"
        lines = [f"{{{{- if {whole} }}}}", *lines, "{{- end }}"]
    return HEADER + _filled_in("\n".join(lines)) + "\n"


def _config_map(variants: Variants) -> list[str]:
    """The ConfigMap with the configuration: the user's with the lines that the manifests set, or the overlay's."""
    bare = {case: {**obj, "data": None} for case, obj in variants.items()}
    texts = {case: obj["data"][NAME].splitlines() for case, obj in variants.items()}
    return [
        *(line for line in _mapping(bare, 0) if not line.startswith("data:")),
        "data:",
        f"  {NAME}: |",
        "    {{- if .Values.config }}",
        '    {{- include "claimcheck.configurationText" . | nindent 4 }}',
        *_by_mode({case: lines[:FIXED_LINES] for case, lines in texts.items()}),
        "    {{- else }}",
        *_by_mode(texts),
        "    {{- end }}",
    ]


def _by_mode(texts: Variants) -> Iterator[str]:
    """Lines of the configuration; those of the modes have little in common."""
    for mode in MODES:
        having = {case: lines for case, lines in texts.items() if case.mode == mode}
        yield from _under_condition(having, texts, _sequence(having, 4, _text_line), 4)


def _text_line(variants: Variants, indent: int) -> Iterator[str]:
    yield " " * indent + next(iter(variants.values()))


def _mapping(variants: Variants, indent: int) -> Iterator[str]:
    """The lines of a mapping that has not the same in all cases."""
    for key in _merged([list(value) for value in variants.values()]):
        having = {case: value[key] for case, value in variants.items() if key in value}
        lines = _entry(key, having, indent)
        yield from _under_condition(having, variants, lines, indent)


def _entry(key: str, variants: Variants, indent: int) -> Iterator[str]:
    values = list(variants.values())
    margin = " " * indent
    if all(value == values[0] for value in values):
        yield from _written({key: values[0]}, indent)
    elif all(isinstance(value, dict) and value for value in values):
        yield f"{margin}{_written_key(key)}:"
        yield from _mapping(variants, indent + 2)
    elif all(isinstance(value, list) and value for value in values):
        yield f"{margin}{_written_key(key)}:"
        yield from _sequence(variants, indent, _item)
    else:
        for value in _merged([[json.dumps(value)] for value in values]):
            having = {case: each for case, each in variants.items() if json.dumps(each) == value}
            lines = _written({key: json.loads(value)}, indent)
            yield from _under_condition(having, variants, lines, indent)


def _sequence(
    variants: Variants, indent: int, write: Callable[[Variants, int], Iterable[str]]
) -> Iterator[str]:
    """The lines of a list; items with the same name are the same item."""
    identified = {case: _identified(items) for case, items in variants.items()}
    for identity in _merged([list(items) for items in identified.values()]):
        having = {case: items[identity] for case, items in identified.items() if identity in items}
        yield from _under_condition(having, variants, write(having, indent), indent)


def _item(variants: Variants, indent: int) -> Iterator[str]:
    values = list(variants.values())
    if all(value == values[0] for value in values):
        yield from _written([values[0]], indent)
        return
    first, *others = _mapping(variants, indent + 2)
    yield " " * indent + "- " + first.lstrip()
    yield from others


def _identified(items: list[Any]) -> dict[str, Any]:
    """Items by name, or by their contents and how often the same came before."""
    found: dict[str, Any] = {}
    for item in items:
        identity = str(item["name"]) if isinstance(item, dict) and "name" in item else json.dumps(item)
        while identity in found:
            identity += "+"
        found[identity] = item
    return found


def _merged(orders: Iterable[list[str]]) -> list[str]:
    """All entries of several lists in an order that agrees with each of them."""
    merged: list[str] = []
    for order in orders:
        place = 0
        for entry in order:
            if entry in merged:
                place = merged.index(entry) + 1
            else:
                merged.insert(place, entry)
                place += 1
    for order in orders:
        if [entry for entry in merged if entry in order] != order:
            raise ValueError(f"no order agrees with {order}")
    return merged


def _under_condition(
    having: Variants, variants: Variants, lines: Iterable[str], indent: int
) -> Iterator[str]:
    if len(having) == len(variants):
        yield from lines
        return
    margin = " " * indent
    yield f"{margin}{{{{- if {_condition(having, variants)} }}}}"
    yield from lines
    yield f"{margin}{{{{- end }}}}"


def _condition(wanted: Iterable[Case], among: Iterable[Case]) -> str:
    """An expression of the template language that holds for the wanted ones of some cases, and for no other."""
    wanted, among = set(wanted), set(among)
    terms = []
    for index, (field, one) in enumerate(_FIELDS):
        values, all_values = ({case[index] for case in cases} for cases in (wanted, among))
        if values != all_values:
            terms.append((field, one, values, all_values))
    if {case for case in among if all(case[_index(f)] in v for f, _, v, _ in terms)} == wanted:
        parts = [_is_one_of(field, one, values, everything) for field, one, values, everything in terms]
        return parts[0] if len(parts) == 1 else f"and {' '.join(map(_in_parentheses, parts))}"
    modes = {case.mode for case in wanted}
    if len(modes) < 2:
        raise ValueError(f"no condition for {sorted(wanted)}")
    by_mode = [
        _condition([case for case in wanted if case.mode == mode], among) for mode in MODES if mode in modes
    ]
    return f"or {' '.join(map(_in_parentheses, by_mode))}"


_FIELDS = (
    ("component", ".Values.component"),
    ("mode", ".Values.mode"),
    ("certificates", ".Values.certificates"),
    ("clientAuthority", ""),
)


def _index(field: str) -> int:
    return [name for name, _ in _FIELDS].index(field)


def _is_one_of(field: str, expression: str, values: set[Any], everything: set[Any]) -> str:
    if field == "clientAuthority":
        return ".Values.clientAuthority" if True in values else "not .Values.clientAuthority"
    others = everything - values
    if len(values) == 1:
        return f'eq {expression} "{min(values)}"'
    if len(others) == 1:
        return f'ne {expression} "{min(others)}"'
    return f"has {expression} (list {' '.join(json.dumps(value) for value in sorted(values))})"


def _in_parentheses(expression: str) -> str:
    return f"({expression})" if " " in expression and not expression.startswith("(") else expression


def _written(value: Any, indent: int) -> Iterator[str]:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1_000_000)
    if "{{" in text:
        raise ValueError("a value would be taken for a template")
    for line in text.splitlines():
        yield " " * indent + line if line else ""


def _written_key(key: str) -> str:
    return str(yaml.safe_dump(key, width=1_000_000)).removesuffix("\n...\n").rstrip()


class _Dumper(yaml.SafeDumper):
    """Writes strings of several lines as block scalars."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_Dumper.add_representer(
    str,
    lambda dumper, value: dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style="|" if "\n" in value or value.startswith(_LABELS) else None
    ),
)


def _filled_in(text: str) -> str:
    """Replace what stands for values of the chart."""
    text = re.sub(rf"(?<=[:-] ){NAMESPACE}$", "{{ .Release.Namespace | quote }}", text, flags=re.MULTILINE)
    text = text.replace(NAMESPACE, "{{ .Release.Namespace }}")
    text = text.replace(f"{_IMAGE}:latest", '{{ include "claimcheck.image" . | quote }}')
    text = re.sub(
        rf"^( *)- {_ARGUMENTS}$",
        lambda found: (
            f"{{{{- with .Values.arguments }}}}\n{{{{ toYaml . | indent {len(found[1])} }}}}\n{{{{- end }}}}"
        ),
        text,
        flags=re.MULTILINE,
    )
    text = text.replace(str(_REPLICAS), "{{ .Values.replicas }}")
    text = text.replace(f"'{_AUTHORITY}'", "{{ .Values.clientAuthority | quote }}")
    text = re.sub(
        rf"{_LABELS} \[(.*?)\] {_LABELS}", r'[{{ include "claimcheck.guardedLabels" (list . "\1") }}]', text
    )
    return _POLICY.sub(r'{{ .Values.failurePolicies.\1 | default "\2" }}', text)


if __name__ == "__main__":
    main()
