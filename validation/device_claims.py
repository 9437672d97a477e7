"""What must hold for the requests, constraints and configs of a claim or template (KEP-4381, KEP-4816).

Paths are those of the hub, which has the shape of v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from conversion.hub import flat_claim_spec
from resourceapi import limits, names
from resourceapi.field_errors import FORBIDDEN, REQUIRED, Named, Path, Verbatim, not_supported
from resourceapi.model import claims as model
from resourceapi.model import formats as declared_formats
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.configuration import check_configuration, check_selectors
from validation.kind_rules import NamespaceRule
from validation.taint_rules import check_toleration

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
FORMER_ADMIN_LABEL = "resource.k8s.io/admin-access"
FORMER_ADMIN_LABEL_SINCE = 33
REQUEST_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
FORMER_REQUEST_REFERENCE = "must be the name of a request in the claim"
#: The release in which requests came to have alternatives, and the API server's own types the shape of v1.
ALTERNATIVES_SINCE = 33
_REQUESTS = model.DeviceClaim["requests"]
_CONSTRAINTS = model.DeviceClaim["constraints"]
_CONFIG = model.DeviceClaim["config"]
_NAME_ORIGIN = declared_formats.FULLY_QUALIFIED_NAME.origin
_SUBREQUEST_CLASS = model.DeviceSubRequest["deviceClassName"]
UINT64 = 2**64  # costs are added up as the server does, in 64 bits


def check_admin_access(spec: Object, checks: Checks, namespace_labels: Mapping[str, str]) -> None:
    """Admin access is for namespaces that are labelled for it; the first request that asks for it is reported."""
    for index, request in enumerate(spec.get("devices", EMPTY).get("requests") or ()):
        if request.get("exactly", EMPTY).get("adminAccess"):
            # the server leaves out `exactly`, and the `spec` that a template has around it
            check_admin_namespace(
                ("spec", "devices", "requests", index, "adminAccess"), checks, namespace_labels
            )
            return


ADMIN_ACCESS = NamespaceRule("adminAccess", check_admin_access)
ADMIN_ACCESS_IN_TEMPLATE = NamespaceRule(
    "adminAccess", lambda spec, checks, labels: check_admin_access(spec.get("spec", EMPTY), checks, labels)
)


def check_admin_namespace(path: Path, checks: Checks, namespace_labels: Mapping[str, str]) -> None:
    """The namespace must have the label, with exactly this value; 1.32 leaves that to policies."""
    if checks.minor < FORMER_ADMIN_LABEL_SINCE:
        return
    label = ADMIN_LABEL if checks.minor >= 34 else FORMER_ADMIN_LABEL
    if namespace_labels.get(label) != "true":
        checks.report(
            FORBIDDEN,
            path,
            "",
            f"admin access to devices requires the `{label}: true` label on the containing namespace",
        )


# --- spec.devices -----------------------------------------------------------------------------------------------


def shown_spec(struct: str, spec: Object, checks: Checks) -> Verbatim:
    """The spec of a claim or of a template as Go prints the server's internal object."""
    if checks.minor >= ALTERNATIVES_SINCE:
        return checks.internal(struct, spec)
    flat = {**spec, "spec": flat_claim_spec(spec["spec"])} if "spec" in spec else flat_claim_spec(spec)
    return checks.internal(struct, flat, checks.profile.schemas["v1beta1"])


class RequestNames:
    """The names that constraints, configs and results may refer to: ``main`` and ``main/sub``."""

    def __init__(self, requests: list[Object] | None) -> None:
        self._requests = requests
        self._names: set[str] | None = None  # most claims have nothing that refers to them

    def __contains__(self, reference: str) -> bool:
        if self._names is None:
            self._names = _referable(self._requests)
        return reference in self._names


def _referable(requests: list[Object] | None) -> set[str]:
    subrequests: dict[str, list[str]] = {}
    for request in requests or ():  # of requests with the same name the last one counts
        name = request.get("name", "")
        subrequests[name] = [sub.get("name", "") for sub in request.get("firstAvailable") or ()]
    return {*subrequests, *(f"{name}/{sub}" for name, subs in subrequests.items() for sub in subs)}


class _Claim:
    """What the requests of one claim share: the attributes its constraints use, the cost of its expressions."""

    def __init__(self, constraints: list[Object] | None, *, stored: bool) -> None:
        self.derived_cost = 0
        self.stored = stored
        self.constrained: dict[str, set[str]] = {}  # request reference ("" is every request) to attributes
        for constraint in constraints or ():
            attribute = constraint.get("matchAttribute", constraint.get("distinctAttribute"))
            if attribute is not None:
                for reference in constraint.get("requests") or ("",):
                    self.constrained.setdefault(reference, set()).add(attribute)

    def uses(self, attribute: str, reference: str) -> bool:
        """Whether a constraint on this request, its main request or on all requests names the attribute."""
        return any(
            attribute in self.constrained.get(target, ())
            for target in ("", reference, reference.partition("/")[0])
        )


def check_device_claim(devices: Object, path: Path, checks: Checks, *, stored: bool = False) -> None:
    """Requests, constraints and configs of a claim; of stored ones neither expressions nor sizes are checked again."""
    requests, constraints, configs = (
        devices.get("requests"),
        devices.get("constraints"),
        devices.get("config"),
    )
    references = RequestNames(requests)
    claim = _Claim(constraints, stored=stored)
    checks.entries(
        _REQUESTS,
        requests,
        (*path, "requests"),
        lambda request, at: _check_request(request, at, checks, claim),
    )
    constraints_path, config_path = (*path, "constraints"), (*path, "config")
    checks.entries(
        _CONSTRAINTS,
        constraints,
        constraints_path,
        lambda constraint, at: _check_constraint(constraint, at, checks, references),
    )

    def check_config(config: Object, at: Path) -> None:
        check_request_references(config.get("requests"), (*at, "requests"), checks, references)
        check_configuration(config, at, checks, stored=stored)

    checks.entries(_CONFIG, configs, config_path, check_config)
    if claim.derived_cost > limits.DERIVED_ATTRIBUTES_COST:
        checks.report(
            FORBIDDEN,
            path,
            "",
            "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit",
        )


def _check_request(request: Object, path: Path, checks: Checks, claim: _Claim) -> None:
    """A request has a name and is either exact or a list of alternatives; up to 1.32 it is always exact."""
    name = request.get("name", "")
    if problems := formats.dns_label(name):
        checks.problems(problems, (*path, "name"))
    alternatives, exactly = request.get("firstAvailable"), request.get("exactly")
    if checks.minor < ALTERNATIVES_SINCE:
        exactly = {"allocationMode": model.EXACT_COUNT, **(exactly or EMPTY)}
        if exactly["allocationMode"] == model.EXACT_COUNT:
            exactly.setdefault("count", 1)
    both = alternatives and exactly is not None
    checks_both = checks.minor < 35
    if alternatives and (checks_both or not both):
        _check_alternatives(name, alternatives, (*path, "firstAvailable"), checks, claim)
    if exactly is not None and (checks_both or not both):
        at = (*path, "exactly")
        class_name = exactly.get("deviceClassName", "")
        if class_name:
            if problems := formats.dns_subdomain(class_name):
                checks.problems(problems, (*at, "deviceClassName"))
        else:
            checks.report(REQUIRED, (*at, "deviceClassName"))
        _check_request_details(exactly, at, checks, claim, name)
    if both:
        detail = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        checks.invalid(path, None, detail)
    elif not alternatives and exactly is None:
        checks.report(REQUIRED, path, "", "exactly one of `exactly` or `firstAvailable` is required")


def _check_alternatives(
    main: str, alternatives: list[Object], path: Path, checks: Checks, claim: _Claim
) -> None:
    def check(sub: Object, at: Path) -> None:
        if problems := formats.dns_label(sub.get("name", "")):
            checks.problems(problems, (*at, "name"))
        checks.declared(
            _SUBREQUEST_CLASS,
            sub.get("deviceClassName", ""),
            (*at, "deviceClassName"),
        )
        _check_request_details(sub, at, checks, claim, f"{main}/{sub.get('name', '')}")

    checks.entries(model.FIRST_AVAILABLE, alternatives, path, check)


def _check_request_details(
    details: Object, path: Path, checks: Checks, claim: _Claim, reference: str
) -> None:
    """What an exact request and a subrequest have in common, beside the class."""
    if selectors := details.get("selectors"):
        check_selectors(selectors, (*path, "selectors"), checks, stored=claim.stored)
    if attributes := details.get("derivedAttributes"):
        _check_derived_attributes(attributes, (*path, "derivedAttributes"), checks, claim, reference)
    _check_allocation_mode(details.get("allocationMode", ""), details.get("count", 0), path, checks)
    if tolerations := details.get("tolerations"):
        checks.each(tolerations, (*path, "tolerations"), check_toleration)


def _check_allocation_mode(mode: str, count: int, path: Path, checks: Checks) -> None:
    """A number of devices goes with ExactCount, and only with it."""
    if mode == model.ALL:
        if count != 0:
            checks.invalid((*path, "count"), count, f"must not be specified when allocationMode is '{mode}'")
    elif mode == model.EXACT_COUNT:
        if count <= 0:
            checks.invalid((*path, "count"), count, "must be greater than zero")
    else:
        error = not_supported((*path, "allocationMode"), mode, model.AllocationMode.enum)
        error.covered = True
        checks.errors.append(error)


def _check_derived_attributes(
    attributes: list[Object], path: Path, checks: Checks, claim: _Claim, reference: str
) -> None:
    """Derived attributes exist for constraints; their expressions share one budget."""
    for index, attribute in enumerate(attributes):
        name, expression = attribute.get("name", ""), attribute.get("expression", "")
        if name and not claim.uses(name, reference):
            checks.invalid(
                (*path, index, "name"),
                Named(name),
                "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request",
            )
        if expression:
            cost = checks.expression(expression, (*path, index, "expression"), derived=True)
            claim.derived_cost = (claim.derived_cost + cost) % UINT64
    checks.unique((attribute.get("name", "") for attribute in attributes), path)


def _check_constraint(constraint: Object, path: Path, checks: Checks, references: RequestNames) -> None:
    """A constraint names an attribute that devices must share or must not share."""
    check_request_references(constraint.get("requests"), (*path, "requests"), checks, references)
    for name in ("matchAttribute", "distinctAttribute"):
        if name in constraint:
            problems = names.fully_qualified_name(constraint[name], checks.wording)
            covered = name == "matchAttribute" or checks.minor >= 36
            checks.problems(problems, (*path, name), origin=_NAME_ORIGIN, covered=covered)
            return
    if "DRAConsumableCapacity" in checks.gates:
        detail = (
            'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        )
        checks.report(REQUIRED, path, "", detail)
    else:
        checks.report(REQUIRED, (*path, "matchAttribute"))


def check_request_references(
    requests: list[str] | None, path: Path, checks: Checks, references: RequestNames
) -> None:
    """A list of references to requests: each valid, none twice."""
    checks.entries(
        model.REQUEST_REFERENCES,
        requests,
        path,
        lambda reference, at: check_request_reference(reference, at, checks, references),
    )


def check_request_reference(reference: str, path: Path, checks: Checks, references: RequestNames) -> None:
    """``main`` or ``main/sub``, of a request that the claim has."""
    only_main = checks.minor < ALTERNATIVES_SINCE
    segments = [reference] if only_main else reference.split("/")
    if len(segments) <= 2:
        for segment in segments:
            checks.problems(formats.dns_label(segment), path)
        if reference in references:
            return
    checks.invalid(path, reference, FORMER_REQUEST_REFERENCE if only_main else REQUEST_REFERENCE)
