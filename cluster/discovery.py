"""Which kinds of ``resource.k8s.io`` a cluster serves, and in which versions."""

from __future__ import annotations

from resourceapi.api_client import Api, Unavailable, expect
from resourceapi.kinds import KINDS, Kind
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile

NOT_FOUND = 404


class Discovery:
    """What a cluster says that it serves.

    ``not_served``: versions that it lists, and answers 404 for.
    """

    def __init__(self, api: Api) -> None:
        """Ask the cluster.

        :raises Unavailable: if it does not answer, or does not serve the group.
        """
        path = f"/apis/{GROUP}"
        group = expect(api.request("GET", path), f"GET {path}", 200)
        self.not_served: list[str] = []
        self._resources: dict[str, set[str]] = {}
        for entry in group.get("versions") or ():
            version = str(entry["version"])
            try:
                listed = expect(api.request("GET", f"{path}/{version}"), f"GET {path}/{version}", 200)
            except Unavailable as error:
                if error.code != NOT_FOUND:
                    raise
                self.not_served.append(version)
                continue
            self._resources[version] = {str(each["name"]) for each in listed.get("resources") or ()}

    def kinds(self, profile: Profile | None = None) -> list[tuple[Kind, str]]:
        """The kinds that the cluster serves, each with its newest version there.

        :param profile: if it serves some of a kind's versions that the cluster has, the newest of those.
        """
        found = []
        for kind in KINDS.values():
            served = [
                version for version in kind.versions if kind.resource in self._resources.get(version, ())
            ]
            common = [version for version in served if profile and kind.served_by(version, profile)]
            if served:
                found.append((kind, (common or served)[0]))
        return found
