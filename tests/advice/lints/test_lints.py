"""What the lints warn about, case by case, and that each has a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from advice.lints import LINTS, Facts, Warning, lint
from advice.lints.facts import REFERRED
from advice.lints.table import page_of
from documents import Document, parse
from resourceapi.field_errors import render
from resourceapi.releases import Profile
from tests.case_files import read_yaml

HERE = Path(__file__).parent
INDEX = HERE.parents[2] / "docs" / "reference" / "lints" / "index.md"
CASES = read_yaml(HERE / "cases.yaml")
# these are about the text of a file: the first two are tested with the command, the others in test_yaml_texts.py
OF_THE_TEXT = {"CC009", "CC010", "CC020", "CC021", "CC024"}


def _objects(text: str) -> list[dict[str, Any]]:
    found = list(parse(text))
    assert all(isinstance(document, Document) for document in found), found
    return [document.value for document in found if isinstance(document, Document)]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """The manifests get exactly the warnings that the case lists, and the notes if it lists any."""
    facts = Facts(
        Profile(
            case.get("release", "1.37"),
            case.get("gates"),
            **{key: case[key] for key in ("apis",) if key in case},
        ),
        complete=REFERRED if case.get("inventory") else (),
    )
    objects = _objects(case["manifests"])
    for manifest in objects:
        facts.learn(manifest)
    warnings = [warning for manifest in objects for warning in lint(manifest, facts, notes=True)]
    assert _told(warning for warning in warnings if not warning.is_note) == case["warnings"]
    if "notes" in case:
        assert _told(warning for warning in warnings if warning.is_note) == case["notes"]
    if "hints" in case:
        assert [warning.hint for warning in warnings] == case["hints"]


_TEMPLATE = (
    "{kind: ResourceClaimTemplate, apiVersion: resource.k8s.io/v1, metadata: {name: gpu, namespace: other}}"
)
_POD = """
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default}
spec: {resourceClaims: [{name: a, resourceClaimTemplateName: gpu}], containers: [{name: app, image: app}]}
"""


@pytest.mark.parametrize(
    ("kustomization", "pod", "is_placed"),
    [
        ("app/kustomization.yaml", "app/pod.yaml", True),
        ("app/kustomization.yaml", "./app/pod.yaml", True),
        ("app/kustomization.yaml", "base/team/pod.yaml", True),
        ("app/kustomization.yaml", "app/one.yaml", True),
        ("app/kustomization.yaml", "other/pod.yaml", False),
        ("app/kustomization.yaml", "app/unnamed/pod.yaml", False),
        ("app/kustomization.yaml", "pod.yaml", False),
        ("kustomization.yaml", "pod.yaml", True),
        ("/repo/app/kustomization.yaml", "/repo/base/pod.yaml", True),
        ("/repo/app/kustomization.yaml", "/repo/other/pod.yaml", False),
    ],
)
def test_a_kustomization_is_about_its_own_files(kustomization: str, pod: str, *, is_placed: bool) -> None:
    """Its namespace explains references of the files that it names or lies beside, and of no others (CC003)."""
    facts = Facts(Profile(), complete=REFERRED)
    (sets_namespace,) = _objects("{namespace: team, resources: [../base, one.yaml]}")
    facts.learn(sets_namespace, kustomization)
    template, manifest = _objects(f"{_TEMPLATE}\n---{_POD}")
    facts.learn(template, "other/template.yaml")
    codes = [warning.code for warning in lint(manifest, facts, pod)]
    assert codes == ([] if is_placed else ["CC003"])


def _told(warnings: Iterable[Warning]) -> list[list[str]]:
    return [[warning.code, render(warning.path), warning.message] for warning in warnings]


@pytest.mark.parametrize("name", ["name: slice", "generateName: slice-"], ids=["named", "unnamed"])
@pytest.mark.parametrize(("stated", "message"), [(1, []), (2, ["has 1 slice"]), (3, ["has 1 slice"])])
def test_an_inventory_that_is_the_input(name: str, stated: int, message: list[str]) -> None:
    """A slice that was read as input and from the inventory counts once."""
    [slice] = _objects(f"""
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata: {{{name}}}
        spec: {{driver: d.example.com, nodeName: a, pool: {{name: a, generation: 1, resourceSliceCount: {stated}}}, devices: []}}
    """)
    facts, inventory = Facts(Profile(), complete=REFERRED), Facts(Profile(), complete=REFERRED)
    for each in (facts, inventory):
        each.learn(slice, "slices.yaml")
    facts.add(inventory.learnt())
    assert [each.message[-len("has 1 slice") :] for each in lint(slice, facts, "slices.yaml")] == message


def test_stretches() -> None:
    """A warning about a selector tells which stretch of it, in code points."""
    expression = '"é" == "é" || device.attributes["type"].string == \'gpu\''
    claim = f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec: {{selectors: [{{cel: {{expression: {json.dumps(expression)}}}}}]}}"
    (manifest,) = _objects(claim)
    warnings = list(lint(manifest, Facts(Profile())))
    stretches = {warning.code: warning.stretch for warning in warnings}
    assert stretches.keys() == {"CC007", "CC013"}
    at, length = stretches["CC007"] or (0, 0)
    assert expression[at : at + length] == "string"


def test_every_lint_is_tested() -> None:
    """Every code appears among the cases."""
    seen = {warning[0] for case in CASES for warning in case["warnings"]}
    assert seen | OF_THE_TEXT == set(LINTS)


@pytest.mark.parametrize("code", LINTS)
def test_every_lint_has_a_page(code: str) -> None:
    """A page per code, headed by code and name, and a row in the index."""
    lint = LINTS[code]
    assert page_of(code).startswith(f"# {code}: {lint.name}\n")
    index = INDEX.read_text(encoding="utf-8")
    assert f"| [{code}](../../../advice/lints/pages/{code}.md) | {lint.name} | {lint.summary} |" in index
