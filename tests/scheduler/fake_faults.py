"""What can happen to a request on its way to :class:`tests.scheduler.fake_api.FakeApi`, and back."""

from __future__ import annotations

from enum import Enum
from threading import Event
from typing import Any, NamedTuple


class Request(NamedTuple):
    """A request as it was sent; the verb of a watch is WATCH."""

    verb: str
    path: str
    body: Any
    query: dict[str, str]

    def __str__(self) -> str:
        return f"{self.verb} {self.path}"


class Killed(BaseException):
    """The process that sent a request has ended: whoever catches it does no more than a test that looks on."""


class Fault(Enum):
    """What happens to a request."""

    #: it does not arrive
    REFUSED = "refused"
    #: it is carried out, and its answer is lost
    LOST = "lost"
    #: it is carried out, its answer is lost, and the client sends it once more, as `cluster.client.Client` does
    TWICE = "twice"
    #: its sender ends before it is carried out
    KILLED_BEFORE = "killed before"
    #: its sender ends once it is carried out
    KILLED_AFTER = "killed after"


class Gate(NamedTuple):
    """Where a request waits: ``reached`` is set once it does, set ``resume`` to let it go on."""

    reached: Event
    resume: Event
