"""Worker processes: forked, so that they start with all modules loaded, and connected by pipes.

Messages are pickled Python objects; both ends are this program.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pickle import dumps, loads
from typing import Any, NoReturn

from commandline.errors import INTERRUPTED, WorkerLost

# The container's limit (cgroup v2): microseconds per period, or "max", and the period in microseconds.
QUOTA_FILE = "/sys/fs/cgroup/cpu.max"


def usable_processors() -> int:
    """The processors that the process may run on, limited by its container's share, rounded up."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota(count))


def _quota(count: int) -> int:
    """The container's share in processors; ``count`` if there is no limit."""
    try:
        with open(QUOTA_FILE, "rb") as file:
            quota, period = file.read(64).split()
        return max(-(-int(quota) // int(period)), 1)
    except (OSError, ValueError, ZeroDivisionError):  # not Linux, no limit ("max"), or another format
        return count


_LENGTH_BYTES = 8


class Channel:
    """One end of a connection between two processes."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, message: Any) -> None:
        """Send an object.

        :raises BrokenPipeError: if the other end is closed.
        """
        payload = dumps(message, protocol=5)
        unsent = memoryview(len(payload).to_bytes(_LENGTH_BYTES, "little") + payload)
        while unsent:
            unsent = unsent[os.write(self._outgoing, unsent) :]

    def receive(self) -> Any:
        """Wait for an object and return it.

        :raises EOFError: if the other end is closed.
        """
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
        """Close this end."""
        os.close(self._incoming)
        os.close(self._outgoing)


class Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, pid: int, channel: Channel) -> None:
        self._pid = pid
        self._channel = channel

    def send(self, message: Any) -> None:
        """Send an object to the process.

        :raises WorkerLost: if the process has ended.
        """
        try:
            self._channel.send(message)
        except BrokenPipeError:
            raise self._lost() from None

    def receive(self) -> Any:
        """Wait for an object from the process and return it.

        :raises WorkerLost: if the process has ended.
        """
        try:
            return self._channel.receive()
        except EOFError:
            raise self._lost() from None

    def end(self) -> None:
        """Kill the process."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()
        self._channel.close()

    def forget(self) -> None:
        """Close the parent's end of the connection in another worker process, which has inherited it."""
        self._channel.close()

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _lost(self) -> WorkerLost:
        pid, code = self._pid, self._wait()
        how = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
        return WorkerLost(f"worker process {pid} {how}; --jobs 1 works without worker processes")


def start(work: Callable[[Channel], None], workers: list[Worker]) -> None:
    """Fork a process that does the work and exits, and append it to ``workers``.

    SIGINT is blocked meanwhile, so that no process is forked without being in the list.

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
    """Run the whole life of a worker process."""
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        for other in others:  # or they would not notice that their parent has exited
            other.forget()
        work(channel)
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (EOFError, BrokenPipeError):
        pass  # the parent has exited
    except BaseException:  # noqa: BLE001 - the code of the parent must not continue in this process
        from traceback import print_exc

        print_exc()
    finally:
        os._exit(code)


class Tickets:
    """The numbers from 0 to ``count`` - 1, each of which goes to exactly one process, whichever takes it first."""

    MOST = 128

    def __init__(self, count: int) -> None:
        self._incoming, outgoing = os.pipe()
        os.write(outgoing, bytes(range(count)))
        os.close(outgoing)

    def take(self) -> int | None:
        """The next number, or None if all are taken."""
        taken = os.read(self._incoming, 1)
        return taken[0] if taken else None

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._incoming)
