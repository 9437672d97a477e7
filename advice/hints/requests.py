"""Hints for the shape of a claim's requests: what each version has where, and what no version has."""

from __future__ import annotations

from typing import Any

from advice.hints.fields import meant_field
from advice.hints.group import or_use_newer
from advice.hints.hint import Advice, Hint, Problem, moved, yaml
from advice.hints.schema_walk import fits
from resourceapi.field_errors import INVALID, REQUIRED
from validation.requests import UNKNOWN_FIELD

UNKNOWN = (UNKNOWN_FIELD,)
REQUEST = r"^spec\.devices\.requests\[\]"


def _flat_request(problem: Problem) -> str | Advice:
    """v1beta1's request under v1 or v1beta2: show the same request with its details in `exactly`."""
    if problem.version not in ("v1", "v1beta2") or problem.schema is None:
        return ""
    details = problem.schema["ExactDeviceRequest"]
    request = problem.parent
    if problem.key not in details.by_name or not isinstance(request, dict):
        return ""
    known = problem.schema["DeviceRequest"].by_name
    moved = {key: value for key, value in request.items() if key in details.by_name}
    exactly = request.get("exactly")
    rewritten: dict[str, Any] = {
        key: value for key, value in request.items() if key in known and key != "exactly"
    }
    if rewritten.get("firstAvailable"):
        return f"remove `{problem.key}` here, or move it to the subrequests that need it: a request with `firstAvailable` has no fields of its own"
    rewritten["exactly"] = {**(exactly if isinstance(exactly, dict) else {}), **moved}
    others = {key: value for key, value in request.items() if key not in moved and key not in rewritten}
    return Advice(
        f"put these fields under `exactly` ({problem.version}):\n" + yaml([rewritten]),
        (problem.path[:-1], {**rewritten, **others}),
    )


def _misspelt_flat_field(problem: Problem) -> str | Advice:
    """`device: gpu.example.com` in a request of v1: a field that belongs in `exactly`, with a slip or cut short."""
    request = problem.parent
    if problem.version not in ("v1", "v1beta2") or problem.schema is None or not isinstance(request, dict):
        return ""
    details, known = (problem.schema[name].by_name for name in ("ExactDeviceRequest", "DeviceRequest"))
    meant = meant_field(problem.key, list(details))
    if not meant or meant in request or meant_field(problem.key, list(known)):
        return ""
    if not known.keys().isdisjoint(request.keys() - {"name"}) or not fits(problem.value, details[meant].type):
        return ""
    exactly = {meant: problem.value, **{key: value for key, value in request.items() if key in details}}
    rest = {key: value for key, value in request.items() if key not in details and key != problem.key}
    rewritten = {**rest, "exactly": exactly}
    return Advice(
        f"write `{meant}` under `exactly` ({problem.version}):\n" + yaml([rewritten]),
        (problem.path[:-1], rewritten),
    )


def _details_in_a_struct(problem: Problem) -> str | Advice:
    """`device: {deviceClassName: …}`, as drafts of the API had it: the fields of a request in a mapping with another name."""
    request, details = problem.parent, problem.value
    if (
        not isinstance(request, dict)
        or not isinstance(details, dict)
        or not details
        or problem.schema is None
    ):
        return ""
    flat = problem.version == "v1beta1"
    known = problem.schema["DeviceRequest" if flat else "ExactDeviceRequest"].by_name
    if not all(key in known for key in details) or "exactly" in request:
        return ""
    rest = {key: value for key, value in request.items() if key != problem.key}
    rewritten = {**rest, **details} if flat else {**rest, "exactly": details}
    what = (
        f"move the fields of `{problem.key}` up into the request"
        if flat
        else f"write `exactly` instead of `{problem.key}`"
    )
    return Advice(f"{what} ({problem.version}):\n" + yaml([rewritten]), (problem.path[:-1], rewritten))


def _exactly_in_v1beta1(problem: Problem) -> str | Advice:
    if problem.version != "v1beta1":
        return ""
    return Advice(
        f"move the fields of `exactly` up into the request (v1beta1){or_use_newer(problem)}",
        *_moved_up(problem),
    )


def _exactly_in_subrequest(problem: Problem) -> Advice:
    return Advice(
        "move the fields of `exactly` up, next to the subrequest's name; a subrequest has no `exactly`",
        *_moved_up(problem),
    )


def _moved_up(problem: Problem) -> tuple[tuple[Any, Any], ...]:
    """The change that puts the fields of a mapping in the place of the mapping."""
    around, inner = problem.parent, problem.value
    if not isinstance(around, dict) or not isinstance(inner, dict):
        return ()
    rest = {key: value for key, value in around.items() if key != problem.key}
    return ((problem.path[:-1], {**rest, **inner}),)


def _neither(problem: Problem) -> str:
    """A request without `exactly` and `firstAvailable` (or the flat fields of v1beta1)."""
    alternatives = (
        ", or alternatives in `firstAvailable`" if "DRAPrioritizedList" in problem.profile.gates else ""
    )
    if problem.version == "v1beta1":
        return f"give the request a `deviceClassName`{alternatives}"
    return f"give the request `exactly` (with a `deviceClassName`){alternatives}"


def _both(problem: Problem) -> str:
    if problem.version == "v1beta1":
        return (
            "keep only `name` and `firstAvailable`; in v1beta1 a request with alternatives has nothing else"
        )
    return "keep one: `firstAvailable` for alternatives, `exactly` for a request without"


def _count_of_all(problem: Problem) -> Advice:
    return Advice(
        "remove `count`: with `allocationMode: All` the request takes every device that matches",
        moved(problem, problem.path)[0],
    )


HINTS = (
    Hint("flat-request", UNKNOWN, _flat_request, place=REQUEST + r"\.\w+$"),
    Hint("misspelt-flat-field", UNKNOWN, _misspelt_flat_field, place=REQUEST + r"\.\w+$"),
    Hint("details-in-a-struct", UNKNOWN, _details_in_a_struct, place=REQUEST + r"\.\w+$"),
    Hint("exactly-in-v1beta1", UNKNOWN, _exactly_in_v1beta1, place=REQUEST + r"\.exactly$"),
    Hint(
        "nested-first-available",
        UNKNOWN,
        "list all alternatives in the request's own `firstAvailable`; they cannot be nested",
        place=REQUEST + r"\.firstAvailable\[\]\.firstAvailable$",
    ),
    Hint(
        "exactly-in-subrequest",
        UNKNOWN,
        _exactly_in_subrequest,
        place=REQUEST + r"\.firstAvailable\[\]\.exactly$",
    ),
    Hint(
        "admin-access-in-subrequest",
        UNKNOWN,
        "remove `adminAccess`: an alternative cannot have it, only a request with `exactly`",
        place=REQUEST + r"\.firstAvailable\[\]\.adminAccess$",
    ),
    Hint("neither-exactly-nor-alternatives", (REQUIRED,), _neither, message="`exactly` or `firstAvailable`"),
    Hint("both-exactly-and-alternatives", (INVALID,), _both, message="`exactly` or `firstAvailable`"),
    Hint(
        "count-of-all",
        (INVALID,),
        _count_of_all,
        place=r"\.count$",
        message="must not be specified when allocationMode is",
    ),
)
