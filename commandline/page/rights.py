"""What people see who sign in: everything, if they may list everything that the page is made of in all namespaces; else nothing."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.live_objects import Resource
from cluster.people import Person, may_list, person_with
from commandline.page.cluster_pages import ClusterPages
from resourceapi.api_client import Api
from serving.browser_pages import Visitor

NOT_FOR_YOU = "this is shown only to people who may list all of what it is made of, in all namespaces"


class Welcome:
    """Finds out who has a token, and what they see; for any thread."""

    def __init__(
        self, api: Api, audiences: Sequence[str], resources: Sequence[Resource], pages: ClusterPages
    ) -> None:
        """Show pages.

        :param api: what is asked about people.
        :param audiences: one of which tokens have to be for; none: the API server.
        :param resources: what the pages are made of.
        """
        self._api = api
        self._audiences = audiences
        self._resources = resources
        self._pages = pages

    def __call__(self, token: str) -> Visitor | None:
        """Who has a token; None if the cluster does not take it.

        :raises Unavailable: if it does not say.
        """
        person = person_with(self._api, token, self._audiences)
        if person is None:
            return None
        if self._sees_all(person):
            return Visitor(person.name, self._pages.answers, self._pages.version)
        return Visitor(person.name, {}, None)

    def _sees_all(self, person: Person) -> bool:
        return all(may_list(self._api, person, each) for each in self._resources)
