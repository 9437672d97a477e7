"""What filter found for pods, until they are bound: bind writes that and nothing else."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple

from allocator.answers import Answers
from allocator.node_fit import NO_POD, PodOnNode
from resourceapi.caches import WeighedCache
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, Consumer
from scheduler.extended_resources import Needed
from scheduler.picture_lock import PAUSES

#: How long the bind of a pod is waited for after its filter, in seconds, before the next pod is filtered. If it has not come by
#: then, those of the namespace are not waited for `PAUSES` times as long; if that happens again, times the number of such namespaces.
IN_FLIGHT_SECONDS = 0.05
#: The same for the pods of a PodGroup of which enough fit, so that kube-scheduler binds all that do: a gang is not to be torn apart.
GROUP_SECONDS = 2.0
#: How much memory all decisions may take, and about how much each takes for a node.
MOST_BYTES, NODE_BYTES = 192 << 20, 150
#: Of so many namespaces it is remembered that pods of theirs have been bound.
MOST_NAMESPACES = 10_000
#: About how much a claim takes, and each device that it has.
CLAIM_BYTES, DEVICE_BYTES = 1200, 1200
#: About how much a container takes that asks for an extended resource.
USER_BYTES = 500
#: About how much the name of a container takes.
NAME_BYTES = 120


def kept_of(claim: Claim) -> Claim:
    """As much of a claim as tells whether it is still the same, with the same devices: all of it may be megabytes, and may be deleted."""
    kept: Object = {"metadata": {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}}
    if claim.allocation is not None:
        parts = ("request", "driver", "pool", "device", "shareID")
        results = [
            {part: each.object[part] for part in parts if part in each.object}
            for each in claim.allocation.results
        ]
        kept["status"] = {"allocation": {"devices": {"results": results}}}
    return Claim(kept)


class Decision(NamedTuple):
    """What filter found for one pod.

    :param term: the leader's term in which it was found.
    :param claims: the claims that are to be allocated, in the order of the results; as :func:`kept_of` has them.
    :param allocated: those that had devices already, in the same form.
    :param answers: what was found on the nodes, made when it is read; only for the thread that holds the picture's lock.
    :param places: where in ``answers`` each node is that fits.
    :param shared: for whom those are reserved that the pod shares with its PodGroup, by key.
    :param alternatives: how far down their lists those are that ``allocated`` have.
    :param needed: the claim for extended resources on nodes that need one; its devices come last.
    :param on_node: the pod as nodes see it beside its claims.
    :param had_footprints: whether the pod's status says that its devices take something of a node.
    """

    uid: str
    namespace: str
    term: int
    claims: Sequence[Claim]
    allocated: Sequence[Claim]
    answers: Answers
    places: Mapping[str, int]
    alternatives: Sequence[int] = ()
    shared: Mapping[str, Consumer] = MappingProxyType({})
    needed: Mapping[str, Needed] = MappingProxyType({})
    on_node: PodOnNode = NO_POD
    had_footprints: bool = False

    def to_make(self, node: str) -> Needed | None:
        """The claim that is to be made if the pod is bound to a node, if any."""
        needed = self.needed.get(node)
        return None if needed is None or needed.is_made else needed

    def claims_on(self, node: str) -> list[Claim]:
        """The claims that get devices on a node, in the order of the results."""
        made = self.to_make(node)
        return [*self.claims, *(() if made is None else (made.claim,))]

    @property
    def weight(self) -> int:
        """About how many bytes it takes; outcomes that plans keep as well count in full."""
        different = {*self.answers.outcomes}
        outcomes = sum([outcome.weight for outcome in different])
        # the same on all nodes
        config = max(
            [sum([part.config_bytes for part in each.templates or ()]) for each in different], default=0
        )
        claims = sum([CLAIM_BYTES + len(each.key) for each in (*self.claims, *self.allocated)])
        needed = {id(each): each for each in self.needed.values()}.values()
        claims += CLAIM_BYTES * len(needed) + NODE_BYTES * len(self.needed)
        claims += USER_BYTES * max([each.asked.number for each in needed], default=0)  # the same on all nodes
        devices = sum([len(each.allocation.results) for each in self.allocated if each.allocation])
        claims += NAME_BYTES * sum(map(len, self.on_node.containers.values()))
        return NODE_BYTES * len(self.answers) + claims + DEVICE_BYTES * devices + outcomes + config

    def results(self, node: str) -> Sequence[Object] | None:
        """An AllocationResult (v1, normal form) for each of :meth:`claims_on`; None if the pod does not fit on the node."""
        place = self.places.get(node)
        return None if place is None else self.answers[place].result


#: The account of namespaces of which no pod has been bound; no namespace has that name.
_ALL_OTHERS = ""


class _InFlight(NamedTuple):
    """A pod whose bind may be on its way, or those of a PodGroup, which are bound once all have been filtered.

    :param account: that of the namespace.
    :param uids: the pods whose binds have not come.
    :param seconds: how long they are waited for.
    :param until: when they are no longer.
    """

    account: str
    uids: set[str]
    seconds: float
    until: float

    def waited_for_anew(self, seconds: float, now: float) -> _InFlight:
        """The same from now on, for at least so long."""
        most = max(seconds, self.seconds)
        return self._replace(seconds=most, until=now + most)


class _Late(NamedTuple):
    """An account for which binds have been waited for in vain.

    :param passed_over_until: when they are waited for again.
    :param known_until: when that is forgotten.
    """

    passed_over_until: float
    known_until: float


class Decisions:
    """The latest decision about each pod, by its uid; may be used by many threads.

    kube-scheduler begins with the next pod while it sends the bind of the one before. Until that has come, filter does not
    know which of the nodes the pod gets, and would find the same devices for the next one; so it waits for a moment. A
    namespace whose binds are waited for in vain, as those of pods with volumes that nobody provides, takes a fifth of the time
    at most; several take a fourth together. Those of which no pod has been bound yet count as one: whoever may create namespaces
    has ever new ones.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        # those of pods that are bound by others are pushed out in time
        self._decisions: WeighedCache[str, Decision] = WeighedCache(MOST_BYTES)
        #: by PodGroup (``namespace/name``), or by uid: all pods of a group come at once, of which there may be thousands
        self._in_flight: dict[str, _InFlight] = {}
        self._late: dict[str, _Late] = {}  # by account
        #: the namespaces of which pods have been bound, the latest
        self._have_bound: OrderedDict[str, None] = OrderedDict()
        self._settled = Condition()  # its lock is for those above; one decision may be looked up without it

    def put(self, decision: Decision, group: str = "", *, completes: bool = False) -> None:
        """Keep a decision in place of an earlier one about the pod; its bind may come now.

        :param group: its PodGroup (``namespace/name``), if it has one.
        :param completes: whether enough pods of that fit with this one.
        """
        seconds = GROUP_SECONDS if completes else IN_FLIGHT_SECONDS
        with self._settled:
            self._decisions.put(decision.uid, decision, decision.weight, decision.namespace)
            now = self._clock()
            account = decision.namespace if decision.namespace in self._have_bound else _ALL_OTHERS
            late = self._late.get(account)
            if late is None or late.passed_over_until <= now:
                key = group or decision.uid
                known = self._in_flight.get(key) or _InFlight(account, set(), 0, 0)
                known.uids.add(decision.uid)
                self._in_flight[key] = known.waited_for_anew(seconds, now)

    def get(self, uid: str) -> Decision | None:
        """The decision about a pod, if there is one."""
        return self._decisions.get(uid)

    def take(self, uid: str) -> Decision | None:
        """Take out the decision about a pod, if there is one."""
        with self._settled:
            return self._decisions.pop(uid)

    def ended(self, uid: str) -> None:
        """Note that the bind of a pod has come."""
        with self._settled:
            if self._came(uid):
                self._settled.notify_all()

    def bound(self, uid: str, namespace: str) -> None:
        """The same, if the picture has its devices."""
        with self._settled:
            self._have_bound[namespace] = None
            self._have_bound.move_to_end(namespace)
            if len(self._have_bound) > MOST_NAMESPACES:
                self._have_bound.popitem(last=False)
        self.ended(uid)

    def _came(self, uid: str) -> bool:
        """Wait for a pod no longer; whether nobody is left who was waited for with it."""
        for key, each in self._in_flight.items():
            if uid in each.uids:
                each.uids.remove(uid)
                if not each.uids:
                    del self._in_flight[key]
                return not each.uids
        return False

    def clear(self) -> None:
        """Drop all decisions: the next leader may decide otherwise."""
        with self._settled:
            self._decisions.clear()
            self._in_flight.clear()
            self._settled.notify_all()

    def wait_for_binds(self, uid: str, group: str = "") -> None:
        """Wait until the binds of other pods have come, each as long as it may be on its way.

        :param uid: of the pod that is going to be filtered: kube-scheduler has given up on its own bind.
        :param group: its PodGroup (``namespace/name``): the binds of that come only after its last filter.
        """
        with self._settled:
            self._came(uid)
            begin = self._clock()
            if group in self._in_flight:
                self._in_flight[group] = self._in_flight[group].waited_for_anew(IN_FLIGHT_SECONDS, begin)
            while others := self._others(group):
                now = self._clock()
                self._note_those_in_vain(others.values(), begin, now)
                for key, each in others.items():
                    if each.until <= now:
                        del self._in_flight[key]
                if others := self._others(group):
                    self._settled.wait(max(each.until for each in others.values()) - now)

    def _others(self, group: str) -> dict[str, _InFlight]:
        """Whose binds a pod of a group waits for."""
        return {key: each for key, each in self._in_flight.items() if key != group}

    def _note_those_in_vain(self, waited_for: Iterable[_InFlight], begin: float, now: float) -> None:
        """Wait no more for a while for the accounts whose binds have been waited for since `begin`, and are late."""
        late = {
            each.account: each.seconds
            for each in sorted(waited_for, key=lambda each: each.seconds)
            if begin < each.until <= now
        }
        if late:
            known = {name: each for name, each in self._late.items() if each.known_until > now}
            number = len(known.keys() | late)
            for name, seconds in late.items():
                pause, before = PAUSES * seconds, known.get(name)
                # known for so long that whoever is late when that is over does not take more time than by being late again
                known_until = now + 2 * number * pause
                known[name] = (
                    _Late(now + pause, known_until)
                    if before is None
                    else _Late(now + number * pause, max(known_until, before.known_until))
                )
            self._late = known

    def __len__(self) -> int:
        """How many decisions are kept."""
        return len(self._decisions)
