"""What a rule needs at hand while it looks at an object: the profile, a place for errors, shorthands to report them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

from deviceselectors.interface import Compiler
from resourceapi.encoding import go_json
from resourceapi.field_errors import DUPLICATE, INVALID, ErrorList, FieldError, Key, Path, Verbatim, too_many
from resourceapi.names import FORMER, HANDWRITTEN, FormatError
from resourceapi.quantity import Quantity
from resourceapi.releases import Profile
from resourceapi.schema import Field, Schema, Type
from validation import declared

#: The release with the wording of names that declared rules took over, more or less.
NAMES_WORDED_SINCE = 35
#: The release that does not look into lists and maps with too many entries.
STOPS_AT_LIMITS_SINCE = 35


class ServerPanic(Exception):
    """The server fails at a field: it gives no answer."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path


class Checks:
    """Errors found so far, and what rules may ask about the server that they stand in for.

    Rules end with :class:`~resourceapi.field_errors.TooManyErrors` where there is no room for more errors.

    ``covered`` errors are those whose rule has a declarative twin; see :mod:`validation.declared`.
    """

    def __init__(self, profile: Profile, expressions: Compiler) -> None:
        self.profile = profile
        self.gates = profile.gates
        #: the minor number of the release
        self.minor = profile.minor
        #: which of the hand-written wordings of names the release has
        self.wording = HANDWRITTEN if self.minor >= NAMES_WORDED_SINCE else FORMER
        self.schema: Schema = profile.hub
        self.expressions = expressions
        self.errors = ErrorList()

    def report(
        self,
        kind: str,
        path: Path,
        value: object = "",
        detail: str = "",
        *,
        origin: str = "",
        covered: bool = False,
    ) -> None:
        """Report an error; the parameters are those of :class:`~resourceapi.field_errors.FieldError`."""
        self.errors.append(FieldError(kind, path, value, detail, origin=origin, covered=covered))

    def invalid(self, path: Path, value: object, detail: str) -> None:
        """Report a value that breaks a rule."""
        self.errors.append(FieldError(INVALID, path, value, detail))

    def problems(
        self, problems: Sequence[FormatError], path: Path, *, origin: str = "", covered: bool = False
    ) -> None:
        """Report what a format found wrong."""
        for kind, value, detail in problems:
            self.errors.append(FieldError(kind, path, value, detail, origin=origin, covered=covered))

    def declared(self, field: Field, value: Any, path: Path) -> bool:
        """Check the rules that the field declares, as the hand-written generation words them.

        :returns: whether to check what is in the value: False for a list that is too long.
        """
        return declared.by_hand(field, value, path, self.errors)

    def entries(
        self, field: Field, items: Sequence[Any] | None, path: Path, check: Callable[[Any, Path], None]
    ) -> None:
        """Check a list: the declared limit, every entry unless there are too many, and that none is there twice.

        Servers up to 1.34 look at the entries of a list that is too long as well, and say what of two entries is the same.
        """
        if not items:
            return
        limit, unique = declared.of_list(field)
        stops = self.minor >= STOPS_AT_LIMITS_SINCE
        if stops and limit and not declared.max_items(limit, items, path, self.errors):
            return
        for index, item in enumerate(items):
            check(item, (*path, index))
        if limit and not stops:
            declared.max_items(limit, items, path, self.errors)
        if unique:
            declared.unique(unique, items, path, self.errors, names_key=not stops)

    def expression(self, expression: str, path: Path, *, derived: bool = False, stored: bool = False) -> int:
        """Check a CEL expression and return its estimated cost; see :class:`~deviceselectors.interface.Compiler`."""
        error, cost = self.expressions.check(
            expression, path, self.gates, self.minor, derived=derived, stored=stored
        )
        if error is not None:
            self.errors.append(error)
        return cost

    def named_selector(self, expression: str, path: Path, *, stored: bool) -> None:
        """Check a CEL selector of named resources; see :class:`~deviceselectors.interface.Compiler`."""
        error = self.expressions.check_named(expression, path, stored=stored)
        if error is not None:
            self.errors.append(error)

    def each(
        self, items: Sequence[Any] | None, path: Path, check: Callable[[Any, Path, Checks], None]
    ) -> None:
        """Check every entry of a list."""
        if items:
            for index, item in enumerate(items):
                check(item, (*path, index), self)

    def unique(self, keys: Iterable[object], path: Path, *, covered: bool = False, below: Path = ()) -> None:
        """Report every entry whose key an earlier entry has; the key is the value that is shown.

        :param below: the field of an entry that errors are about.
        """
        seen = set()
        for index, key in enumerate(keys):
            if key in seen:
                self.report(DUPLICATE, (*path, index, *below), key, covered=covered)
            seen.add(key)

    def at_most(self, limit: int, items: Sized | None, path: Path, *, origin: str = "maxItems") -> bool:
        """Report a list or map with too many entries.

        :returns: whether the number of entries is within the limit.
        """
        if items and len(items) > limit:
            self.errors.append(too_many(path, len(items), limit, origin=origin))
            return False
        return True

    def internal(self, type: Type | str, value: Any, schema: Schema | None = None) -> Verbatim:
        """A value as Go prints the server's internal object.

        :param schema: has the type, if the schema of the profile does not.
        """
        schema = schema or self.schema
        if self.minor < 34:
            from resourceapi.go_syntax import go_syntax

            return Verbatim(go_syntax(schema, type, value))
        return Verbatim(go_json(schema, type, value, internal=True))

    def amount(self, amount: Quantity) -> Verbatim | str:
        """A quantity as Go prints it."""
        if self.minor >= 33:
            return str(amount)
        from resourceapi.go_syntax import go_quantity

        return Verbatim(go_quantity(amount))


MIDDLE = "..."


def map_key(path: Path, key: str, limit: int) -> Path:
    """The path of a map's entry; a key that is too long to show is cut in the middle."""
    limit = max(limit, 16)
    if len(key.encode()) > limit:
        shown = limit - len(MIDDLE)
        data = key.encode()
        key = (data[: (shown + 1) // 2] + MIDDLE.encode() + data[len(data) - shown // 2 :]).decode(
            errors="replace"
        )
    return (*path, Key(key))
