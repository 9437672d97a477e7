"""Which kinds of ``resource.k8s.io`` a cluster serves, and in which versions."""

from __future__ import annotations

from resourceapi.api_client import NOT_FOUND, Api, Unavailable, expect
from resourceapi.kinds import KINDS, Kind
from resourceapi.manifests import text
from resourceapi.model.versions import GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.releases import Profile


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
        for version in _texts(group, "versions", "version", path):
            if version not in SCHEMAS_WITH_PROPOSALS or version in self._resources:
                continue  # nothing is known of it, or it is there twice
            try:
                listed = expect(api.request("GET", f"{path}/{version}"), f"GET {path}/{version}", 200)
            except Unavailable as error:
                if error.code != NOT_FOUND:
                    raise
                self.not_served.append(version)
                continue
            self._resources[version] = set(_texts(listed, "resources", "name", f"{path}/{version}"))

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


def _texts(answer: Object, key: str, of_each: str, path: str) -> list[str]:
    """What the entries of a list in an answer are called.

    :raises Unavailable: if an entry has no such text.
    """
    found = answer.get(key) or []
    texts = [text(each, of_each) for each in found] if isinstance(found, list) else [""]
    if not all(texts):
        raise Unavailable(f"GET {path}: the answer does not say which {key} are served")
    return texts
