"""What rules about new objects may depend on, which is what the webhook's verdict cache relies on."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.model.versions import V1
from resourceapi.releases import Profile
from tests.conformance.profiles import MODERN, PROFILES
from validation import claims
from validation.claims import CacheableKindRules, ClaimRules
from validation.kind_rules import DeviceKindRules, NamespaceRule
from validation.requests import Request
from validation.server import RULES, Server

CACHEABLE = [rules for rules in RULES.values() if isinstance(rules, CacheableKindRules)]


class Recording(dict[str, Any]):
    """A spec in which every field exists, whoever asks; it knows the names that it was asked for."""

    asked: set[str]

    def __bool__(self) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """Another such part; a list of one where the code walks over the value."""
        self.asked.add(name)
        part = Recording()
        part.asked = self.asked
        return [part] if name in ("requests", "firstAvailable") else part


@pytest.mark.parametrize("kind", RULES)
def test_a_rule_depends_on_what_its_method_is_given(kind: str) -> None:
    """No kind has a way of its own to put metadata, spec and namespace together for a new object."""
    rules = type(RULES[kind])
    assert rules._check is DeviceKindRules._check
    assert rules.errors is DeviceKindRules.errors
    assert rules.check_own_metadata is DeviceKindRules.check_own_metadata


SEALED = (
    "admit",
    "check_own_metadata",
    "errors",
    "group",
    "has_status",
    "present",
    "prepare",
    "read",
    "read_stored",
    "warnings",
    "_check",
    "__getattribute__",
    "__setattr__",
)


@pytest.mark.parametrize("step", SEALED)
def test_rules_of_cached_specs_take_no_other_step(step: str) -> None:
    """A subclass cannot replace a step that knows the namespace or the whole object, nor can another base do it."""
    with pytest.raises(TypeError, match=f"must not override {step}"):
        type("Rules", (ClaimRules,), {"__slots__": (), step: lambda *_: None})
    other = type("Other", (), {"__slots__": (), step: lambda *_: None})
    with pytest.raises(TypeError, match=f"must not override {step}"):
        type("Rules", (other, ClaimRules), {"__slots__": ()})


def test_all_steps_are_listed() -> None:
    """Whatever the rules of kinds have is a statement of the kind, or sealed."""
    assert set(claims._SEALED) == set(SEALED)


@pytest.mark.parametrize("rules", CACHEABLE)
def test_rules_of_cached_specs_keep_nothing(rules: CacheableKindRules) -> None:
    """There is no place to note a namespace for a later step, not even in the fields that exist."""
    for slots in ({}, {"__slots__": ("labels",)}, {"__slots__": ("__dict__",)}):
        with pytest.raises(TypeError, match="must keep nothing"):
            type("Rules", (ClaimRules,), slots)
    for name in ("labels", "kind", "namespace_rules"):
        with pytest.raises(AttributeError):
            setattr(rules, name, ())


@pytest.mark.parametrize("kind", RULES)
def test_no_declared_rule_spans_metadata_and_spec(kind: str) -> None:
    """A declared rule sees the struct that it is declared in; the outermost one, which has both, declares none."""
    assert V1[kind].rules == ()
    assert not any(rule for field in V1[kind].fields if field.name == "spec" for rule in field.type.rules)


@pytest.mark.parametrize(
    ("kind", "rule"), [(kind, rule) for kind, rules in RULES.items() for rule in rules.namespace_rules]
)
def test_namespace_rules_read_the_field_that_they_name(kind: str, rule: NamespaceRule) -> None:
    """Beside the fields on the way to it they ask for no other."""
    spec = Recording()
    spec.asked = set()
    checks = Server(Profile()).checks()
    rule.check(spec, checks, {})
    assert spec.asked == {"devices", "requests", "exactly", rule.field} | ({"spec"} & spec.asked)
    assert len(checks.errors) == 1


@pytest.mark.parametrize("rules", CACHEABLE)
@pytest.mark.parametrize("profile", MODERN)
def test_the_least_spec_is_accepted(rules: CacheableKindRules, profile: str) -> None:
    """In every version and with any gates: with it only the metadata is judged."""
    settings = PROFILES[profile]
    server = Server(Profile(settings.release, settings.gates), namespaces={"team": {}})
    for version in rules.kind.versions:
        body = {"metadata": {"name": "a"}, "spec": rules.least_spec}
        api_version = f"{rules.group}/{version}"
        answer = server.handle(
            Request(api_version=api_version, kind=rules.kind.name, namespace="team", body=body)
        )
        assert answer.code in (201, 404), answer.message
