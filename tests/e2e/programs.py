"""Programs beside a test that it starts, kills, pauses and starts again; none survives the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

STOP_SECONDS = 20


class Program:
    """A command line that can run many times, one after the other, each time in a process group of its own.

    Start it from the main thread: where the system can, the process dies with the thread that started it.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process that was started last."""
        assert self._process is not None
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *more: str) -> None:
        """Start it, unless it runs; what it logs is appended.

        :param more: further arguments, of which the last ones count.
        """
        if self.is_running():
            return
        # Not even a killed test run is to leave servers behind.
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                [*guard, *self._command, *more],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End it as a loss of power would, with all its processes (from any thread)."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def pause(self) -> None:
        """Freeze it with all its processes until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it as kubelet does, and wait for that."""
        if not self.is_running():
            return
        self.resume()
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def last_words(self, lines: int = 10) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def processes(self) -> list[int]:
        """The processes of its group that run now (Linux)."""
        return [pid for pid in _all_processes() if _group_of(pid) == self.pid]

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


@contextlib.contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Program]:
    """A program that has been started, and is stopped at the end."""
    program = Program(command, log)
    program.start()
    try:
        yield program
    finally:
        program.stop()


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0
