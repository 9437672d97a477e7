"""All lints: their codes, which never change, with a name and a summary for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from resourceapi.field_errors import Path
from resourceapi.phrases import nearest

if TYPE_CHECKING:
    from documents.positions import Place


class Lint:
    """One kind of warning about objects that the server accepts.  ``code`` never changes its meaning."""

    __slots__ = ("code", "name", "summary")

    def __init__(self, code: str, name: str, summary: str) -> None:
        self.code = code
        self.name = name
        self.summary = summary


class Warning(NamedTuple):
    """One warning about the field at ``path``, in the version that the user wrote.

    ``stretch``: offset and length of the part of the field's text that it is about, in code points, if not all of it.
    ``place``: where it is written, if the path does not tell, as for one of several equal keys.
    ``changes``: the same as the hint as changes of the object, made one after the other: paths and their new values.
    ``is_note``: it is usual to write so, and may be right; shown only when asked for.
    """

    code: str
    path: Path
    message: str
    hint: str = ""
    stretch: tuple[int, int] | None = None
    place: Place | None = None
    is_note: bool = False
    changes: tuple[tuple[Path, Any], ...] = ()


UNREACHABLE = Lint(
    "CC001",
    "unreachable-alternative",
    "An alternative can never be chosen, because an earlier one requires no more.",
)
UNKNOWN_CLASS = Lint(
    "CC002", "unknown-device-class", "A request names a DeviceClass that is not among the given objects."
)
UNKNOWN_TEMPLATE = Lint(
    "CC003",
    "unknown-claim-template",
    "A pod names a ResourceClaimTemplate that is not among the given objects.",
)
UNKNOWN_CLAIM = Lint(
    "CC004", "unknown-claim", "A pod names a ResourceClaim that is not among the given objects."
)
UNKNOWN_REQUEST = Lint(
    "CC005", "unknown-request", "A container names a request that its claim does not have."
)
DROPPED = Lint("CC006", "dropped-field", "The server silently drops a field because its feature gate is off.")
TYPE_LOOKUP = Lint(
    "CC007",
    "attribute-looked-up-by-type",
    "A CEL expression uses the type of a value as an attribute's name, or an attribute's name as a domain.",
)
UNKNOWN_COUNTER = Lint("CC008", "unknown-counter", "A device consumes a counter that its pool does not have.")
REPEATED_KEY = Lint("CC009", "repeated-key", "A key is repeated; kubectl sends only the last value.")
IGNORED_TEXT = Lint("CC010", "ignored-text", "kubectl silently ignores a part of the file.")
UNGUARDED = Lint(
    "CC011", "unguarded-look-up", "A selector looks up an attribute and fails on devices that do not have it."
)
AS_TEXT = Lint("CC012", "compared-as-text", "A selector compares versions, quantities or numbers as strings.")
CONSTANT = Lint("CC013", "constant-selector", "A selector gives the same result for every device.")
UNSATISFIED = Lint("CC014", "unsatisfied-selector", "No device in the inventory satisfies a selector.")
RARE = Lint(
    "CC015",
    "rare-attribute",
    "A selector looks up an attribute that few or no devices in the inventory have.",
)
OVERCONSUMED = Lint(
    "CC016", "overconsumed-counter", "A device consumes more of a counter than its counter set has."
)
SLICE_COUNT = Lint(
    "CC017", "slice-count", "A pool has another number of slices than `resourceSliceCount` says."
)
SEVERAL_NODES = Lint(
    "CC018", "pool-on-several-nodes", "Slices on different nodes belong to a pool of the same name."
)
BINDING_WITHOUT_NODE = Lint(
    "CC019",
    "binding-without-node",
    "A device has binding conditions, but its claim does not say for which node.",
)
BOOLEAN_KEY = Lint(
    "CC020", "boolean-key", "A key such as `on` or `y` is a boolean to kubectl, which sends `true`."
)
CHANGED_EXPRESSION = Lint(
    "CC021", "changed-expression", "YAML changes a CEL expression before kubectl sends it."
)
WITHOUT_EFFECT = Lint(
    "CC022",
    "patch-without-effect",
    "A ResourceSlicePatch applies to no device, or its filter fails on devices.",
)
CRASHING_STEP = Lint(
    "CC023",
    "crashing-step",
    "The step of a request policy is one by which kube-apiserver 1.34 to 1.36 divide by zero.",
)
UNKNOWN_LINT = Lint("CC024", "unknown-lint", "A comment silences a lint that does not exist.")
FORMER_VERSION = Lint(
    "CC025",
    "admission-of-former-version",
    "An admission policy or webhook is for versions of DRA objects that are not served, or for fields that they do not have.",
)
NULL_CAPACITY = Lint(
    "CC026",
    "capacity-without-value",
    "A ResourceSlicePatch has a capacity without a value, which removes nothing.",
)
CRASHING_REQUEST = Lint(
    "CC027",
    "crashing-request",
    "A request for all devices makes kube-scheduler 1.35 crash, as some of them draw from counters.",
)
STANDARD_ATTRIBUTE = Lint(
    "CC028",
    "standard-attribute",
    "An attribute in the domain of Kubernetes is one that it does not define, or has a value of another form.",
)

LINTS = {each.code: each for each in tuple(globals().values()) if isinstance(each, Lint)}


def page_of(code: str) -> str:
    """The page of a lint as Markdown. It stands for itself: its links, which lead to other pages of the documentation, are text.

    :param code: one of :data:`LINTS`.
    """
    from pathlib import Path as FilePath

    text = (FilePath(__file__).parent / "pages" / f"{code}.md").read_text("utf-8")
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)


#: The names of lints, by their codes.
NAMES = {lint.code: lint.name for lint in LINTS.values()}


def code_of(given: str, names: Mapping[str, str] = NAMES) -> str:
    """The code by itself, in any case, or by its name; empty if there is none.

    :param names: the names by their codes.
    """
    code = given.upper()
    return code if code in names else next((code for code, name in names.items() if name == given), "")


def meant(name: str, names: Mapping[str, str] = NAMES) -> str:
    """The code that is meant by a misspelt code, or by a name; empty if there is none near enough."""
    near = nearest(name, names) or nearest(name, names.values())
    return code_of(name, names) or code_of(near, names)
