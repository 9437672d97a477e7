"""Formats of names and keys, in both wordings, against the answers of Kubernetes' own functions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import names
from resourceapi.field_errors import TOO_LONG
from resourceapi.names import DECLARATIVE, HANDWRITTEN
from tests.resourceapi.tables import table

RULES = [
    names.short_name,
    names.long_name,
    names.long_name_caseless,
    names.driver_name,
    names.label_key,
    names.annotation_key,
    names.label_value,
    names.condition_reason,
    names.identifier,
    names.qualified_name,
    names.fully_qualified_name,
    names.resource_pool_name,
    names.uuid,
    names.extended_resource_name,
    names.semantic_version,
    names.generate_name,
    names.namespace_name,
    names.path_segment,
    names.finalizer,
    names.unqualified_finalizer,
    names.owner_api_version,
    names.field_manager,
]

TEXTS: dict[str, str] = json.loads(
    (Path(__file__).parent / "data" / "name_texts.json").read_text(encoding="utf-8")
)


def spelled_out(text: str) -> str:
    """A text of the tables, in which ``<64xa>`` stands for 64 times ``a``."""
    return re.sub(r"<(\d+)x([^>]+)>", lambda match: match[2] * int(match[1]), text)


def expected(case: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The problems of a case; ``{label}`` and the like stand for the long texts."""
    problems = []
    for kind, value, detail in case["problems"]:
        detail = re.sub(r"\{([-a-z]+)\}", lambda match: TEXTS[match[1]], detail)
        problems.append((kind, spelled_out(value), detail))
    return problems


def without_omitted_values(problems: list[names.FormatError]) -> list[tuple[str, str, str]]:
    return [(kind, "" if kind == TOO_LONG else value, detail) for kind, value, detail in problems]


@pytest.mark.parametrize("case", table("names"))
def test_names_are_judged_as_by_the_server(case: dict[str, Any]) -> None:
    """Each rule reports the same problems in the same order and words, with the same values."""
    wording = {"wording": case["wording"]} if "wording" in case else {}
    problems = getattr(names, case["rule"])(spelled_out(case["value"]), **wording)
    assert without_omitted_values(problems) == expected(case)


@pytest.mark.parametrize("case", table("object_names"))
def test_metadata_is_judged_as_by_the_server(case: dict[str, Any]) -> None:
    """The same for what stands in metadata."""
    problems = getattr(names, case["rule"])(spelled_out(case["value"]))
    assert without_omitted_values(problems) == expected(case)


@pytest.mark.parametrize(
    ("value", "details"),
    [
        ("memory", []),
        ("a" * 32, []),
        ("a" * 33, ["may not be more than 32 bytes"]),
        ("", [TEXTS["identifier"]]),
        ("-" * 33, ["may not be more than 32 bytes", TEXTS["identifier"]]),
    ],
)
def test_identifier(value: str, details: list[str]) -> None:
    """An identifier has 32 bytes at most; both problems are told."""
    assert [problem.detail for problem in names.identifier(value)] == details


@pytest.mark.parametrize(
    ("domain", "lower_case_only"), [("gpu.example.com", False), ("GPU.example.com", True), ("Gpu", True)]
)
def test_only_the_declared_rule_wants_domains_in_lower_case(domain: str, lower_case_only: bool) -> None:
    """An attribute's domain may be in upper case for the hand-written rule, like a driver's name."""
    assert names.qualified_name(f"{domain}/x", HANDWRITTEN) == []
    assert bool(names.qualified_name(f"{domain}/x", DECLARATIVE)) == lower_case_only


@pytest.mark.parametrize("value", ["cpu", "kubernetes.io/x", "requests.example.com/x", "a/b/c", ""])
def test_extended_resource_names_have_one_text_by_hand(value: str) -> None:
    """The hand-written rule does not tell what is wrong."""
    problems = names.extended_resource_name(value, HANDWRITTEN)
    assert {problem.detail for problem in problems} == {"must be a valid extended resource name"}
    assert len(problems) == 1


def test_extended_resource_name_by_hand_accepts_the_same() -> None:
    """Both wordings are of one rule."""
    assert names.extended_resource_name("example.com/gpu", HANDWRITTEN) == []


@pytest.mark.parametrize(
    ("value", "prefix", "details"),
    [
        ("gpu", False, []),
        ("", False, []),
        (".", False, ["may not be '.'"]),
        ("..", False, ["may not be '..'"]),
        (".", True, []),
        ("a/b", False, ["may not contain '/'"]),
        ("%/", True, ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_path_segment(value: str, prefix: bool, details: list[str]) -> None:
    """What stands in a URL is neither a dot nor two, and has no slash or per cent sign."""
    assert [problem.detail for problem in names.path_segment(value, prefix=prefix)] == details


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("kubernetes", True),
        ("orphan", True),
        ("foregroundDeletion", True),
        ("example.com/x", True),
        ("Orphan", False),
        ("", False),
    ],
)
def test_unqualified_finalizers_are_those_of_kubernetes(value: str, accepted: bool) -> None:
    """A finalizer without a domain is one of three."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    assert [problem.detail for problem in names.unqualified_finalizer(value)] == (
        [] if accepted else [detail]
    )


def test_finalizers_are_label_keys() -> None:
    """A finalizer's form is that of a label key."""
    assert names.finalizer("example.com/x") == []
    assert names.finalizer("a b") == names.label_key("a b")


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("k", "v" * (256 * 1024 - 1), True),
        ("k", "v" * (256 * 1024), False),
        ("k" * (256 * 1024), "", True),
        ("é", "é" * (128 * 1024 - 1), True),
        ("é", "é" * (128 * 1024), False),
        ("k", "v", True),
    ],
    ids=["at-limit", "one-above", "key-counts", "bytes-at-limit", "bytes-above", "small"],
)
def test_annotations_have_256_kib(key: str, value: str, accepted: bool) -> None:
    """Keys and values together have 256 KiB at most, counted in bytes."""
    problems = names.annotations_size({key: value})
    assert [(problem.kind, problem.detail) for problem in problems] == (
        [] if accepted else [(TOO_LONG, "may not be more than 262144 bytes")]
    )


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    """No text makes a rule fail, and problems say what they are about."""
    for rule in RULES:
        for kind, value, detail in rule(text):
            assert kind.startswith("FieldValue")
            assert value in text
            assert detail or not text


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True))
def test_labels_are_valid_everywhere(label: str) -> None:
    """A DNS label is also a DNS subdomain, a key, a value, a driver and a pool."""
    for wording in (DECLARATIVE, HANDWRITTEN):
        assert names.short_name(label, wording) == []
        assert names.long_name(label, wording) == []
        assert names.resource_pool_name(f"{label}/{label}", wording) == []
    for rule in (names.long_name_caseless, names.driver_name, names.label_key, names.label_value):
        assert rule(label) == []


@given(
    st.text(alphabet="aB0-._/", max_size=70),
    st.sampled_from(["short_name", "long_name", "fully_qualified_name"]),
)
def test_wordings_report_as_many_problems(text: str, rule: str) -> None:
    """The wordings of a rule differ in words, not in what they accept, but for the case of domains."""
    judge = getattr(names, rule)
    text = text.lower()
    assert len(judge(text, DECLARATIVE)) == len(judge(text, HANDWRITTEN))
