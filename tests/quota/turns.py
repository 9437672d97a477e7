"""Threads that run one at a time, in an order that a test decides: every interleaving can be tried and repeated."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread, current_thread


class Turns:
    """Runs actors step by step; a step ends where an actor calls `switch`, or with the actor.

    `choose(n)` picks which of the n actors that can go on does so next (a number below n).
    """

    def __init__(self, choose: Callable[[int], int]) -> None:
        self._choose = choose
        self._condition = Condition()
        self._waiting: set[Thread] = set()
        self._chosen: Thread | None = None
        self._errors: list[BaseException] = []
        self._actors: list[Thread] = []
        self._ended: set[Thread] = set()

    def switch(self, what: str) -> None:
        """Called by actors: let another one go on. Does nothing outside of them."""
        me = current_thread()
        with self._condition:
            if me not in self._actors:
                return
            self._waiting.add(me)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._chosen is me)
            self._chosen = None
            self._waiting.discard(me)

    def run(self, *actors: Callable[[], None]) -> None:
        """Run the actors to their end; an error in one of them is raised."""
        self._actors = [Thread(target=self._guarded, args=(actor,)) for actor in actors]
        for thread in self._actors:
            thread.start()
        while True:
            with self._condition:
                self._condition.wait_for(self._is_quiet)
                ready = [thread for thread in self._actors if thread in self._waiting]
                if not ready:
                    break
                self._chosen = ready[self._choose(len(ready))]
                self._condition.notify_all()
                self._condition.wait_for(lambda: self._chosen is None)
        for thread in self._actors:
            thread.join()
        self._actors = []
        if self._errors:
            raise self._errors[0]

    def _is_quiet(self) -> bool:
        """Whether every actor waits or has ended."""
        return all(thread in self._waiting or thread in self._ended for thread in self._actors)

    def _guarded(self, actor: Callable[[], None]) -> None:
        try:
            self.switch("begin")
            actor()
        except BaseException as error:  # noqa: BLE001 - raised again by run
            self._errors.append(error)
        finally:
            with self._condition:
                self._ended.add(current_thread())
                self._condition.notify_all()
