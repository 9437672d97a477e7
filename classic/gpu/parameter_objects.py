"""Reading the objects that hold parameters from the API server, whenever they are needed: they may have changed."""

from __future__ import annotations

import asyncio

from classic.gpu.parameters import GROUP, ParametersError, Reference
from resourceapi.api_client import NOT_FOUND, Api, Unavailable, get_object
from resourceapi.objects import Object


class ParameterObjects:
    """The GPURequirements and GPUInits of a cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def read(self, reference: Reference) -> Object:
        """The object that a reference names.

        :raises ParametersError: if there is none; Unavailable if the API server does not say.
        """
        try:
            return await asyncio.to_thread(
                get_object, self._api, reference.path, reference.kind, reference.name
            )
        except Unavailable as error:
            if error.code != NOT_FOUND:
                raise
            where = f" in namespace {reference.namespace}" if reference.namespace else ""
            raise ParametersError(f"there is no {reference.kind}.{GROUP} {reference.name}{where}") from None
