"""Hints for names: of objects, drivers and resources, of requests that are referred to, of attributes."""

from __future__ import annotations

import re
from typing import Any

from advice.hints.hint import Advice, Hint, Problem
from resourceapi import names
from resourceapi.field_errors import DUPLICATE, INVALID, NOT_SUPPORTED, REQUIRED
from resourceapi.manifests import MISSING, entries, mapping, text
from resourceapi.phrases import nearest
from validation.version_texts import as_semantic_version

REFERENCE = r"(constraints|config)\[\]\.requests\[\]$"
ATTRIBUTE_NAME = r"(matchAttribute|distinctAttribute)$"
FIELD_OPERATORS = ("In", "NotIn")
LABEL_OPERATORS = (*FIELD_OPERATORS, "Exists", "DoesNotExist", "Gt", "Lt")
_MOST_NAMES_SHOWN = 12


# --- references --------------------------------------------------------------------------------------------------


def _request_reference(problem: Problem) -> str | Advice:
    """A constraint or config that names no request: a slip, or a subrequest without its request."""
    value = problem.value
    if not isinstance(value, str):
        return ""
    known = _request_names(problem.object)
    bare = value.strip("\"' ")
    if bare != value and bare in known:
        return Advice(
            f"write `{bare}`: one quote is missing, so the other is part of the name", (problem.path, bare)
        )
    with_main = [name for name in known if name.endswith("/" + value)]
    if with_main:
        change = [(problem.path, with_main[0])] if len(with_main) == 1 else []
        return Advice(f"name the subrequest together with its request: `{with_main[0]}`", *change)
    meant = nearest(value, known)
    if meant:
        return _did_you_mean(problem, meant)
    if 0 < len(known) <= _MOST_NAMES_SHOWN:
        return "write one of this claim's requests: " + ", ".join(f"`{name}`" for name in known)
    return ""


def _request_names(claim: Any) -> list[str]:
    """The names that a constraint may use: of requests, and of subrequests with their request."""
    spec = mapping(claim, "spec")
    spec = mapping(spec, "spec") or spec
    known: list[str] = []
    for request in entries(mapping(spec, "devices"), "requests"):
        name = text(request, "name")
        if name:
            known.append(name)
            known += (f"{name}/{text(inner, 'name')}" for inner in entries(request, "firstAvailable"))
    return known


def _did_you_mean(problem: Problem, meant: str) -> Advice:
    return Advice(f"did you mean `{meant}`?", (problem.path, meant))


def _unqualified_attribute(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str) or "/" in value or not value:
        return ""
    name = re.sub(r"\W", "_", value, flags=re.ASCII)
    return f"write the attribute with its domain: `<driver>/{name}` if the ResourceSlice gives it none"


def _unsupported(problem: Problem) -> str | Advice:
    """A value of an enumeration in wrong case or with a slip."""
    value = problem.value
    supported = re.findall(r'"([^"]*)"', problem.message.partition("supported values:")[2])
    if value is not MISSING and not isinstance(value, str):
        return ""
    meant = nearest(value, supported) if isinstance(value, str) else ""
    if meant:
        return _did_you_mean(problem, meant)
    return "write one of " + ", ".join(f"`{name}`" for name in supported) if supported else ""


def _selector_operator(problem: Problem) -> str | Advice:
    """`IN`, in a selector of nodes."""
    operators = FIELD_OPERATORS if "matchFields" in problem.path else LABEL_OPERATORS
    meant = nearest(problem.value, operators) if isinstance(problem.value, str) else ""
    if meant:
        return _did_you_mean(problem, meant)
    return "write one of " + ", ".join(f"`{name}`" for name in operators)


# --- the form of names -------------------------------------------------------------------------------------------


def _dns_name(problem: Problem) -> str | Advice:
    """A name with capitals, underscores or blanks, or a domain in front of a name with such: show what it could be."""
    wrong = _quoted(problem)
    if not wrong or not wrong.isascii() or len(wrong) > 63:
        return ""
    if "/" in wrong and problem.key == "driver":
        domain, _, name = wrong.partition("/")
        return _for_example(
            problem, f"{_dashed(name, '.')}.{_dashed(domain, '.')}", ": a driver's name has no `/`"
        )
    if "prefix" in problem.message:
        return _domain(problem, wrong)
    dotted = "label" not in problem.message and "dots" not in problem.message
    return _for_example(problem, _dashed(wrong, "." if dotted else ""))


def _domain(problem: Problem, wrong: str) -> str | Advice:
    """A domain in front of a name; the message quotes the domain alone, or all of it."""
    domain, slash, name = wrong.partition("/")
    if slash:
        return _for_example(problem, f"{_dashed(domain, '.')}/{name}")
    whole = problem.value
    if not isinstance(whole, str) or whole.partition("/")[0] != domain:
        return ""
    fixed = f"{_dashed(domain, '.')}/{whole.partition('/')[2]}"
    if names.fully_qualified_name(fixed):
        return ""
    return Advice(f"write for example `{fixed}`", (problem.path, fixed))


def _quoted(problem: Problem) -> str:
    """The name that the server's message quotes: the value itself, or a key."""
    matched = re.match(r'Invalid value: "([^"\\]+)"', problem.message)
    return matched[1] if matched is not None else ""


def _label_key(problem: Problem) -> str | Advice:
    """A key of a taint or label with a blank or the like."""
    domain, slash, name = _quoted(problem).rpartition("/")
    return _for_example(problem, domain + slash + re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._"))


def _for_example(problem: Problem, name: str, why: str = "") -> str | Advice:
    """Advice to write a name, which is a value or a key."""
    wrong = _quoted(problem)
    if name == wrong or names.label_key(name):
        return ""
    advice = f"write for example `{name}`{why}"
    if problem.value == wrong:
        return Advice(advice, (problem.path, name))
    holder = problem.parent if problem.key == wrong else problem.value
    path = problem.path[:-1] if problem.key == wrong else problem.path
    if not isinstance(holder, dict) or wrong not in holder or name in holder:
        return advice
    return Advice(advice, ((*path, wrong), MISSING), ((*path, name), holder[wrong]))


def _dashed(name: str, allowed: str) -> str:
    return re.sub(rf"[^a-z0-9{allowed}-]+", "-", name.lower()).strip("-.")


def _identifier(problem: Problem) -> str | Advice:
    """`driver-version`, the name of an attribute or capacity: show what it could be."""
    wrong = _quoted(problem)
    fixed = re.sub(r"\W", "_", wrong, flags=re.ASCII)
    if fixed[:1].isdigit():
        fixed = f"_{fixed}"
    if not fixed or fixed == wrong or names.identifier(fixed):
        return ""
    holder = problem.value
    keys = [key for key in holder if key.rpartition("/")[2] == wrong] if isinstance(holder, dict) else []
    advice = f"write for example `{fixed}`"
    if len(keys) != 1:
        return advice
    right = keys[0][: len(keys[0]) - len(wrong)] + fixed
    if right in holder:
        return advice
    return Advice(advice, ((*problem.path, keys[0]), MISSING), ((*problem.path, right), holder[keys[0]]))


def _version(problem: Problem) -> str | Advice:
    version = as_semantic_version(problem.value) if isinstance(problem.value, str) else ""
    if not version or version == problem.value:
        return "write a semantic version with three numbers, such as `1.2.3`; any other text is a `string`"
    return Advice(
        f"write `{version}`: a semantic version has three numbers, without leading zeros or `v`",
        (problem.path, version),
    )


def _extended_resource(problem: Problem) -> str | Advice:
    """The name by which pods ask for the devices in `resources`, which has a domain of the vendor's."""
    name = problem.value
    if not isinstance(name, str):
        return ""
    domain, slash, resource = name.removeprefix("requests.").partition("/")
    if not slash:
        domain, resource = "example.com", domain
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        domain, why = "example.com", "kubernetes.io is reserved, use a domain of your own"
    elif not slash:
        why = "the name needs a domain in front"
    elif name.startswith("requests."):
        why = "quotas put `requests.` in front themselves"
    else:
        why = "a domain, one `/`, and letters, digits, `-`, `_` and `.`"
    fixed = f"{_dashed(domain, '.')}/{re.sub(r'[^A-Za-z0-9._-]+', '-', resource).strip('-._')}"
    if names.extended_resource_name(fixed):
        return f"write a name such as `example.com/gpu`: {why}"
    return Advice(f"write for example `{fixed}`: {why}", (problem.path, fixed))


def _duplicate(problem: Problem) -> str:
    """An entry whose name another entry has."""
    if problem.key == "name":
        return "give each entry another name, or remove one of them"
    if text(problem.value, "name"):
        return f"give each entry another name, or remove one of them: `{text(problem.value, 'name')}` is there twice"
    return "remove one of them: each entry may be there once"


HINTS = (
    Hint("request-reference", (INVALID,), _request_reference, place=REFERENCE),
    Hint("unqualified-attribute", (INVALID, REQUIRED), _unqualified_attribute, place=ATTRIBUTE_NAME),
    Hint("unsupported-value", (NOT_SUPPORTED,), _unsupported),
    Hint("selector-operator", (INVALID,), _selector_operator, message="not a valid selector operator"),
    Hint("extended-resource", (INVALID,), _extended_resource, place=r"^spec\.extendedResourceName$"),
    Hint("identifier", (INVALID,), _identifier, message="a valid C identifier"),
    Hint("version", (INVALID,), _version, message="compatible with semver.org"),
    Hint("dns-name", (INVALID,), _dns_name, message="RFC 1123"),
    Hint("label-key", (INVALID,), _label_key, message="name part must consist of"),
    Hint("name-with-dots", (INVALID,), _dns_name, message="must not contain dots"),
    Hint("duplicate", (DUPLICATE,), _duplicate),
)
