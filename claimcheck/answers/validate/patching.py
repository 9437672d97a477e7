"""What a request that changes a stored object makes of it: an applied manifest, or a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claimcheck.answers.validate.sending import ChangeRefused
from documents.document import Document
from validation.requests import FIELD_CONFLICT, PATCH_REFUSED

if TYPE_CHECKING:
    from resourceapi.objects import Object


class Change:
    """How stored objects are changed.

    :param manager: who applies on the server's side.
    :param force: whether fields are taken away from other managers.
    :param patch: the document of ``--patch-file``, if it is given.
    """

    def __init__(self, *, manager: str, force: bool, patch: Document | None, patch_type: str) -> None:
        self.manager = manager
        self.force = force
        self.patch = patch
        self.patch_type = patch_type

    def applied(self, stored: Object | None, configuration: Object, namespace: str) -> Object:
        """The object as server-side apply makes it, a new one if none is stored.

        :raises ChangeRefused: if the server does not apply it, or fields belong to other managers.
        """
        from cluster.field_ownership import (
            ConfigurationRefused,
            FieldConflict,
            check_configuration,
            server_side_applied,
        )

        try:
            if stored is None:
                check_configuration(configuration, namespace)
                return configuration
            return server_side_applied(stored, configuration, self.manager, force=self.force)
        except ConfigurationRefused as error:
            raise ChangeRefused(PATCH_REFUSED, str(error), error.path, of_configuration=True) from None
        except FieldConflict as error:
            raise ChangeRefused(FIELD_CONFLICT, str(error)) from None

    def patched(self, stored: Object) -> Object:
        """The object as the patch makes it.

        :raises ChangeRefused: if it cannot.
        """
        from cluster.patching import PatchRefused, patched

        assert self.patch is not None
        patch: Any = self.patch.value
        try:
            return patched(stored, patch, self.patch_type)
        except PatchRefused as error:
            raise ChangeRefused(PATCH_REFUSED, str(error)) from None

    def in_patch(self, value: Object) -> Document:
        """An object whose parts are looked up in the patch: what is wrong with them has been written there."""
        assert self.patch is not None
        return Document(self.patch.source, self.patch.index, self.patch.chunk, value)
