"""Which of the kinds that the project knows a cluster serves, and in which groups and versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from resourceapi.api_client import FORBIDDEN, NOT_FOUND, Api, Unavailable, expect
from resourceapi.kind import Kind
from resourceapi.kinds import KINDS, kinds_of
from resourceapi.manifests import text
from resourceapi.model.versions import CLASSIC_VERSION, GROUP, SCHEMAS_WITH_PROPOSALS
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
            known = version in SCHEMAS_WITH_PROPOSALS or version == CLASSIC_VERSION
            if not known or version in self._resources:
                continue  # nothing is known of it, or it is there twice
            try:
                listed = expect(api.request("GET", f"{path}/{version}"), f"GET {path}/{version}", 200)
            except Unavailable as error:
                if error.code != NOT_FOUND:
                    raise
                self.not_served.append(version)
                continue
            self._resources[version] = set(_texts(listed, "resources", "name", f"{path}/{version}"))
        self._api = api

    def kinds(self, profile: Profile | None = None) -> list[tuple[Kind, str]]:
        """The kinds that the cluster serves, each with its newest version there.

        :param profile: if it serves some of a kind's versions that the cluster has, the newest of those.
        """
        found = []
        for kind in (kinds_of(profile) if profile else KINDS).values():
            served = [
                version for version in kind.versions if kind.resource in self._resources.get(version, ())
            ]
            common = [version for version in served if profile and kind.served_by(version, profile)]
            if served:
                found.append((kind, (common or served)[0]))
        return found

    def api_versions(
        self, profile: Profile | None = None, wanted: Collection[str] | None = None
    ) -> list[tuple[Kind, str]]:
        """Like :meth:`kinds`, with the group in front of the version, and with kinds that a CRD has put into a further group.

        A kind that is served in two groups is there twice.

        :param wanted: the names of kinds; by default all.
        :raises Unavailable: if the cluster does not answer.
        """
        found = [(kind, f"{GROUP}/{version}") for kind, version in self.kinds(profile)]
        for kind in KINDS.values():
            if kind.further_group and (wanted is None or kind.name in wanted):
                found += [(kind, api_version) for api_version in self._in_further_group(kind)][:1]
        return [(kind, version) for kind, version in found if wanted is None or kind.name in wanted]

    def _in_further_group(self, kind: Kind) -> Iterator[str]:
        """The versions, with the group, in which the cluster serves a kind in its further group.

        Discovery tells a group that is not there from one that may not be read: a list of either is forbidden to a user
        without the right to it. Whoever may not even ask what there is counts as one who may not read it.
        """
        for version in kind.versions:
            path = f"/apis/{kind.further_group}/{version}"
            try:
                listed = expect(self._api.request("GET", path), f"GET {path}", 200)
            except Unavailable as error:
                if error.code == FORBIDDEN:
                    yield f"{kind.further_group}/{version}"
                elif error.code != NOT_FOUND:
                    raise
                continue
            if kind.resource in _texts(listed, "resources", "name", path):
                yield f"{kind.further_group}/{version}"


def _texts(answer: Object, key: str, of_each: str, path: str) -> list[str]:
    """What the entries of a list in an answer are called.

    :raises Unavailable: if an entry has no such text.
    """
    found = answer.get(key) or []
    texts = [text(each, of_each) for each in found] if isinstance(found, list) else [""]
    if not all(texts):
        raise Unavailable(f"GET {path}: the answer does not say which {key} are served")
    return texts
