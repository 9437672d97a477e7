"""What rules about new objects may depend on, which is what the webhook's verdict cache relies on."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.model.versions import V1
from resourceapi.releases import Profile
from tests.conformance.profiles import PROFILES
from validation.kind_rules import DeviceKindRules, NamespaceRule
from validation.kinds import RULES
from validation.requests import Request
from validation.server import Server

REMEMBERED = [rules for rules in RULES.values() if rules.least_spec is not None]


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


@pytest.mark.parametrize("rules", REMEMBERED)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_least_spec_is_accepted(rules: DeviceKindRules, profile: str) -> None:
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
