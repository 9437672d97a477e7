"""Processes that do a part of the work: forked, so that they begin with all that is loaded, and talked to over pipes.

Messages are pickled Python objects; both ends are this very program.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pickle import dumps, loads
from typing import Any, NoReturn

from commandline.errors import WorkerLost

_LENGTH_BYTES = 8
_INTERRUPTED = 130


class Channel:
    """One end of a connection: what is sent here is received at the other end, and the other way round."""

    __slots__ = ("_incoming", "_outgoing")

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, message: Any) -> None:
        """:raises BrokenPipeError: if the other end has gone."""
        payload = dumps(message, protocol=5)
        rest = memoryview(len(payload).to_bytes(_LENGTH_BYTES, "little") + payload)
        while rest:
            rest = rest[os.write(self._outgoing, rest) :]

    def receive(self) -> Any:
        """:raises EOFError: if the other end has gone."""
        return loads(self._bytes(int.from_bytes(self._bytes(_LENGTH_BYTES), "little")))

    def _bytes(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            piece = os.read(self._incoming, count - len(received))
            if not piece:
                raise EOFError
            received += piece
        return bytes(received)

    def close(self) -> None:
        os.close(self._incoming)
        os.close(self._outgoing)


class Worker:
    """A forked process, as the one that forked it sees it."""

    __slots__ = ("_channel", "_pid")

    def __init__(self, pid: int, channel: Channel) -> None:
        self._pid = pid
        self._channel = channel

    def send(self, message: Any) -> None:
        """:raises WorkerLost: if the process has ended."""
        try:
            self._channel.send(message)
        except BrokenPipeError:
            raise self._lost() from None

    def receive(self) -> Any:
        """:raises WorkerLost: if the process has ended."""
        try:
            return self._channel.receive()
        except EOFError:
            raise self._lost() from None

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()
        self._channel.close()

    def forget(self) -> None:
        """Let go of what belongs to the process that forked the worker, in another one that it has forked."""
        self._channel.close()

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _lost(self) -> WorkerLost:
        pid, code = self._pid, self._wait()
        how = f"was ended by signal {-code}" if code < 0 else f"has ended with code {code}"
        return WorkerLost(f"process {pid}, which did a part of the work, {how}; --jobs 1 does without others")


def start(work: Callable[[Channel], None], workers: list[Worker]) -> None:
    """Fork a process that does the work and ends, and add it to the workers that there are already.

    An interrupt finds the new one among them or, in the new process, ends that.

    :raises OSError: if the system allows no more processes.
    """
    from_parent, to_worker = os.pipe()
    from_worker, to_parent = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        pid = os.fork()
        if not pid:
            os.close(to_worker)
            os.close(from_worker)
            _be_worker(work, Channel(from_parent, to_parent), workers)
        workers.append(Worker(pid, Channel(from_worker, to_worker)))
    finally:
        os.close(from_parent)
        os.close(to_parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))


def _be_worker(work: Callable[[Channel], None], channel: Channel, others: list[Worker]) -> NoReturn:
    """What a forked process does from its begin to its end."""
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        for other in others:  # or they would not notice that their parent has gone
            other.forget()
        work(channel)
        code = 0
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except (EOFError, BrokenPipeError):
        pass  # the parent has gone
    except BaseException:  # noqa: BLE001 - nothing of this process may go on
        from traceback import print_exc

        print_exc()
    finally:
        os._exit(code)


class Tickets:
    """The numbers from 0 below ``count``, of which each goes to one of the processes that ask for one."""

    MOST = 128

    __slots__ = ("_incoming",)

    def __init__(self, count: int) -> None:
        self._incoming, outgoing = os.pipe()
        os.write(outgoing, bytes(range(count)))
        os.close(outgoing)

    def take(self) -> int | None:
        """The next number, or None if all are taken."""
        taken = os.read(self._incoming, 1)
        return taken[0] if taken else None

    def close(self) -> None:
        os.close(self._incoming)
