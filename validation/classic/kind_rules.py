"""What the kinds of classic DRA have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from resourceapi.field_errors import FieldError, TooManyErrors
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.kind_rules import ResourceKindRules, keep_all_but_status, keep_stored
from validation.object_meta import (
    check_common_metadata,
    check_common_metadata_update,
    check_metadata,
    check_metadata_update,
    check_names_in_url,
)
from validation.requests import STATUS, Request
from validation.wording import in_words_of

if TYPE_CHECKING:
    from validation.setting import Setting


class ClassicKindRules(ResourceKindRules):
    """The rules of a kind of v1alpha2; each is a subclass, which states what must hold.

    :cvar checked_twice: an update is checked as a new object is, before it is checked as an update: errors come twice.
    """

    __slots__ = ()
    keeps_generation = True
    checked_twice = False

    @abstractmethod
    def check_fields(self, obj: Object, checks: Checks) -> None:
        """All but the metadata and the status of a new or a changed object."""

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """What must not change; checked after the metadata of an update."""

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status; for kinds that have one."""
        raise NotImplementedError

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """A status is changed through its own URL only, and nothing else is changed there."""
        if verb == STATUS:
            assert old is not None
            keep_all_but_status(obj, old)
        elif self.kind.has_status:
            keep_stored(obj, old, "status")

    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """What is wrong with the object; the same error may come several times."""
        checks = setting.checks()
        with suppress(TooManyErrors):
            self._check(request.verb, obj, old, checks)
        return in_words_of(CLASSIC_MINOR, checks.errors)

    def _check(self, verb: str, obj: Object, old: Object | None, checks: Checks) -> None:
        if old is None:
            self._check_new(obj, checks)
            if not checks.errors:
                check_names_in_url(obj.get("metadata", EMPTY), checks)
            return
        check_common_metadata(obj, checks, namespaced=self.kind.namespaced)
        check_common_metadata_update(obj, old, checks)
        if verb == STATUS:
            check_metadata_update(obj, old, checks)
            self.check_status(obj, old, checks)
        else:
            self._check_update(obj, old, checks)

    def _check_new(self, obj: Object, checks: Checks) -> None:
        check_metadata(obj, checks, namespaced=self.kind.namespaced)
        self.check_fields(obj, checks)

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        if self.checked_twice:
            self._check_new(obj, checks)
        check_metadata_update(obj, old, checks)
        self.check_change(obj, old, checks)
        self._check_new(obj, checks)
