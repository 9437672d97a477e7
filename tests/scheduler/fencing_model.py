"""A model of leaders that follow each other, all of whose orders of events can be tried.

There is one device, and two claims that want it, each of a pod of its own.  A *bind* is one attempt for one pod in one term;
each of its steps, and the moment at which a request of its takes effect, may come at any time, however long after the
next leader has begun: that is a process which is stopped and continued, and a request that is late.

Two things must never be: that both claims have the device, and that a claim loses it, or its reservation, whose pod is on
a node.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from enum import Flag, auto
from typing import NamedTuple, TypeVar

Value = TypeVar("Value")
#: The process that leads in a term: two take turns.
OWNERS = 2


class Without(Flag):
    """A part of the protocol that is left out, to see what it is there for."""

    NOTHING = 0
    #: the check before writes
    FENCE = auto()
    #: that the check is for the term of the decision
    TERM = auto()
    #: the list of all claims at the beginning of a term
    LIST = auto()
    #: at the beginning of a term: the change of claims that are about to get devices
    SWEEP = auto()
    #: at the beginning of a term: the change of claims that are reserved for pods without a node
    TOUCH = auto()
    #: the check before what is taken back
    FENCE_OF_UNDO = auto()
    #: that an undo changes the claim although it shows nothing to undo
    LAST_UNDO = auto()
    #: that nothing is taken back after a Binding that was not answered
    PATIENCE = auto()


class Claim(NamedTuple):
    """A claim as the API server has it."""

    version: int = 0
    finalizer: bool = False
    allocated: bool = False
    reserved: bool = False


class Bind(NamedTuple):
    """An attempt: the next step, the claim as it was read or answered last, whether an answer has come."""

    at: str = "idle"
    claim: Claim = Claim()
    answer: str = ""
    writes: int = 0


class Memory(NamedTuple):
    """What a process knows; ``assumed``: by claim, whether it is about to get the device."""

    ready: int = 0
    claims: tuple[Claim, Claim] = (Claim(), Claim())
    assumed: tuple[bool, bool] = (False, False)


class Late(NamedTuple):
    """A request that has been sent: by which bind, as which of its writes, what it does if the version is still this one."""

    bind: int
    number: int
    what: str
    version: int


class State(NamedTuple):
    """Everything at one moment. ``sweep``: claims that the take-over of this term has still to change; None: to list."""

    claims: tuple[Claim, Claim]
    on_node: tuple[bool, bool]
    ran: tuple[bool, bool]
    term: int
    sweep: frozenset[int] | None
    binds: tuple[Bind, ...]
    memories: tuple[Memory, ...]
    late: frozenset[Late]
    lost: int


class Who(NamedTuple):
    """The term and the pod of a bind."""

    term: int
    pod: int


class Model:
    """All that can happen to these binds."""

    def __init__(
        self,
        binds: Sequence[Who],
        *,
        losses: int = 0,
        refusing: Container[int] = (1,),
        without: Without = Without.NOTHING,
    ) -> None:
        """Describe it.

        :param losses: how many answers get lost.
        :param refusing: the terms whose Bindings the API server may refuse, so that devices are taken back.
        """
        self.who = binds
        self.terms = max(bind.term for bind in binds)
        self.losses = losses
        self.refusing = refusing
        self.without = without

    def start(self) -> State:
        """The first leader is about to list."""
        nothing = (False, False)
        return State(
            claims=(Claim(), Claim()),
            on_node=nothing,
            ran=nothing,
            term=1,
            sweep=None,
            binds=(Bind(),) * len(self.who),
            memories=(Memory(),) * OWNERS,
            late=frozenset(),
            lost=0,
        )

    def search(self, most: int) -> tuple[State | None, int]:
        """Try all orders; a state that must not be, or None, and how many states there are.

        :param most: states, which is an error if there are more.
        """
        first = self.start()
        seen, todo = {first}, [first]
        while todo:
            for after in self.steps(todo.pop()):
                if after in seen:
                    continue
                if _is_wrong(after):
                    return after, len(seen)
                seen.add(after)
                todo.append(after)
                assert len(seen) <= most, "the model is too large to be tried"
        return None, len(seen)

    def steps(self, state: State) -> Iterator[State]:
        """The states that can come next."""
        yield from self._leader_steps(state)
        for late in state.late:
            yield self._takes_effect(state, late)
        for number, bind in enumerate(state.binds):
            if bind.at == "wait":
                yield from self._answers(state, number)
            elif bind.at != "end":
                yield self._bind_step(state, number)

    # --- the election, the take-over and the watch

    def _leader_steps(self, state: State) -> Iterator[State]:
        owner = state.term % OWNERS
        memory = state.memories[owner]
        if state.term < self.terms:
            yield state._replace(term=state.term + 1, sweep=None)
        if state.sweep is None:
            listed = memory.claims if Without.LIST in self.without else state.claims
            todo = frozenset(each for each in (0, 1) if self._is_unfinished(state, listed[each], each))
            memory = Memory(claims=listed)
            yield self._swept(state, owner, memory, todo)
        elif memory.ready != state.term:
            for each in state.sweep:
                changed = state.claims[each]
                if changed.version == memory.claims[each].version:  # otherwise somebody else has changed it
                    changed = _changed(changed, finalizer=changed.allocated)
                after = _with_claim(state, each, changed)
                claims = _put(memory.claims, each, changed)
                yield self._swept(after, owner, memory._replace(claims=claims), state.sweep - {each})
        elif memory.claims != state.claims:  # watch events
            first, second = memory.assumed
            assumed = (
                first and not state.claims[0].allocated,
                second and not state.claims[1].allocated,
            )
            yield _with_memory(state, owner, memory._replace(claims=state.claims, assumed=assumed))

    def _swept(self, state: State, owner: int, memory: Memory, todo: frozenset[int]) -> State:
        if not todo:
            memory = memory._replace(ready=state.term)
        return _with_memory(state, owner, memory)._replace(sweep=todo)

    def _is_unfinished(self, state: State, claim: Claim, each: int) -> bool:
        if claim.allocated:
            return claim.reserved and not state.on_node[each] and Without.TOUCH not in self.without
        return claim.finalizer and Without.SWEEP not in self.without

    def _leads(self, state: State, who: Who, *, undo: bool = False) -> bool:
        """What the fence says."""
        if Without.FENCE in self.without or (undo and Without.FENCE_OF_UNDO in self.without):
            return True
        if Without.TERM in self.without:
            return state.term % OWNERS == who.term % OWNERS
        return state.term == who.term

    # --- binds

    def _bind_step(self, state: State, number: int) -> State:
        bind, who = state.binds[number], self.who[number]
        match bind.at:
            case "idle":
                return self._begins(state, number)
            case "protect":
                return _sends(state, number, "finalizer")
            case "allocate" | "reserve" | "post" if self._leads(state, who):
                return _sends(state, number, bind.at)
            case "undo" if self._leads(state, who, undo=True):
                return self._undoes(state, number)
            case "read":
                return _goes(state, number, "undo", claim=state.claims[who.pod])
        return _goes(state, number, "end")

    def _begins(self, state: State, number: int) -> State:
        pod, owner = self.who[number].pod, self.who[number].term % OWNERS
        memory = state.memories[owner]
        if memory.ready != self.who[number].term or not self._leads(state, self.who[number]):
            return state
        claim, other = memory.claims[pod], memory.claims[1 - pod]
        if claim.allocated:
            return _goes(state, number, "post" if claim.reserved else "reserve", claim=claim)
        if memory.assumed[pod] or other.allocated or memory.assumed[1 - pod]:
            return state
        memory = memory._replace(assumed=_put(memory.assumed, pod, True))
        return _goes(_with_memory(state, owner, memory), number, "protect", claim=claim)

    def _undoes(self, state: State, number: int) -> State:
        claim, who = state.binds[number].claim, self.who[number]
        if claim.reserved:
            return _sends(state, number, "unreserve")
        if claim.allocated:
            return _sends(state, number, "deallocate")
        if claim.finalizer and Without.LAST_UNDO not in self.without:
            return _sends(state, number, "unprotect")
        memory = state.memories[who.term % OWNERS]
        memory = memory._replace(assumed=_put(memory.assumed, who.pod, False))
        return _goes(_with_memory(state, who.term % OWNERS, memory), number, "end")

    def _answers(self, state: State, number: int) -> Iterator[State]:
        """What happens to a bind that waits for the answer to its last request."""
        bind = state.binds[number]
        sent = next(late.what for late in _own(state, number)) if not bind.answer else ""
        what = sent or bind.answer.partition(" ")[2]
        if state.lost < self.losses:
            keeps = what == "post" and Without.PATIENCE not in self.without
            yield _goes(state._replace(lost=state.lost + 1), number, "end" if keeps else "read")
        who = self.who[number]
        if sent == "post" and who.term in self.refusing and not state.on_node[who.pod]:
            refused = state.late - set(_own(state, number))
            yield _goes(state._replace(late=refused), number, "read")
        if bind.answer:
            following = {"finalizer": "allocate", "allocate": "post", "reserve": "post", "post": "end"}
            succeeded = bind.answer.startswith("ok")
            yield _goes(state, number, following.get(what, "undo") if succeeded else "read")

    # --- the API server

    def _takes_effect(self, state: State, late: Late) -> State:
        """A request is carried out, or refused; whoever still waits for it gets the answer."""
        pod = self.who[late.bind].pod
        claim = state.claims[pod]
        state = state._replace(late=state.late - {late})
        if late.what == "post":
            state = _with_ran(state._replace(on_node=_put(state.on_node, pod, True)))
            return _answered(state, late, f"ok {late.what}", claim)
        if claim.version != late.version:
            return _answered(state, late, f"conflict {late.what}", claim)
        match late.what:
            case "finalizer":
                claim = _changed(claim, finalizer=True)
            case "allocate":
                claim = _changed(claim, allocated=True, reserved=True)
            case "reserve":
                claim = _changed(claim, reserved=True)
            case "unreserve":
                claim = _changed(claim, reserved=False)
            case "deallocate":
                claim = _changed(claim, allocated=False)
            case "unprotect":
                claim = _changed(claim, finalizer=False)
        return _answered(_with_claim(state, pod, claim), late, f"ok {late.what}", claim)


def _is_wrong(state: State) -> bool:
    taken = any(
        ran and not (claim.allocated and claim.reserved)
        for ran, claim in zip(state.ran, state.claims, strict=True)
    )
    return taken or all(claim.allocated for claim in state.claims)


def _put(values: tuple[Value, Value], place: int, value: Value) -> tuple[Value, Value]:
    return (value, values[1]) if place == 0 else (values[0], value)


def _changed(claim: Claim, **fields: bool) -> Claim:
    return claim._replace(version=claim.version + 1, **fields)


def _with_claim(state: State, place: int, claim: Claim) -> State:
    return _with_ran(state._replace(claims=_put(state.claims, place, claim)))


def _with_ran(state: State) -> State:
    """A pod runs once it is on a node, and its claim is allocated and reserved for it."""
    for each, claim in enumerate(state.claims):
        if state.on_node[each] and claim.allocated and claim.reserved:
            state = state._replace(ran=_put(state.ran, each, True))
    return state


def _with_memory(state: State, owner: int, memory: Memory) -> State:
    memories = list(state.memories)
    memories[owner] = memory
    return state._replace(memories=tuple(memories))


def _with_bind(state: State, number: int, bind: Bind) -> State:
    binds = list(state.binds)
    binds[number] = bind
    return state._replace(binds=tuple(binds))


def _goes(state: State, number: int, at: str, claim: Claim | None = None) -> State:
    bind = state.binds[number]
    return _with_bind(state, number, bind._replace(at=at, answer="", claim=claim or bind.claim))


def _sends(state: State, number: int, what: str) -> State:
    bind = state.binds[number]
    late = Late(number, bind.writes, what, bind.claim.version)
    bind = bind._replace(at="wait", writes=bind.writes + 1)
    return _with_bind(state, number, bind)._replace(late=state.late | {late})


def _own(state: State, number: int) -> list[Late]:
    """The request for whose answer a bind waits."""
    last = state.binds[number].writes - 1
    return [late for late in state.late if (late.bind, late.number) == (number, last)]


def _answered(state: State, late: Late, answer: str, claim: Claim) -> State:
    bind = state.binds[late.bind]
    if bind.at != "wait" or bind.writes - 1 != late.number:
        return state
    return _with_bind(state, late.bind, bind._replace(answer=answer, claim=claim))
