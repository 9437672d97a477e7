"""What a request that changes a stored object makes of it: an applied manifest, or a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from documents.document import Document

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

        :raises ConfigurationRefused: if the server does not apply it.
        :raises FieldConflict: if fields belong to other managers.
        """
        from cluster.field_ownership import check_configuration, server_side_applied

        if stored is None:
            check_configuration(configuration, namespace)
            return configuration
        return server_side_applied(stored, configuration, self.manager, force=self.force)

    def patched(self, stored: Object) -> Object:
        """The object as the patch makes it.

        :raises PatchRefused: if it cannot.
        """
        from cluster.patching import patched

        assert self.patch is not None
        patch: Any = self.patch.value
        return patched(stored, patch, self.patch_type)

    def in_patch(self, value: Object) -> Document:
        """An object whose parts are looked up in the patch: what is wrong with them has been written there."""
        assert self.patch is not None
        return Document(self.patch.source, self.patch.index, self.patch.chunk, value)
