"""What people see who sign in: everything, if they may list everything that the page is made of in all namespaces; else what is for tenants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cluster.live_objects import Resource
from cluster.people import Person, may_list, person_with
from commandline.page.cluster_pages import ClusterPages
from commandline.page.tenants import TenantPages
from resourceapi.api_client import Api
from serving.browser_pages import Visitor
from serving.sign_in import Guest

NOT_FOR_YOU = "this is shown only to people who may list all of what it is made of, in all namespaces"


class Welcome:
    """Finds out who has a token, and what they see; for any thread."""

    def __init__(
        self, api: Api, audiences: Sequence[str], pages: ClusterPages, for_tenants: TenantPages
    ) -> None:
        """Show pages.

        :param api: what is asked about people.
        :param audiences: one of which tokens have to be for; none: the API server.
        """
        self._api = api
        self._audiences = audiences
        self._pages = pages
        self._for_tenants = for_tenants

    def __call__(self, token: str) -> Guest | None:
        """Who has a token; None if the cluster does not take it.

        :raises Unavailable: if it does not say.
        """
        person = person_with(self._api, token, self._audiences)
        return None if person is None else Guest(person.turn, partial(self._shown_to, person))

    def _shown_to(self, person: Person) -> Visitor:
        """What somebody sees.

        :raises Unavailable: if it cannot be asked what they may read.
        """

        def may(resource: Resource, namespace: str) -> bool:
            return may_list(self._api, person, resource, namespace)

        if all(may(each, "") for each in self._for_tenants.followed.collections):
            return self._pages.visitor(person.turn)
        return self._for_tenants.visitor(person.turn, may)
