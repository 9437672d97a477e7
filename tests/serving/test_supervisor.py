"""What the parent process waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

WAIT = """
import signal
from serving.supervisor import next_signal
signals = {signal.SIGTERM, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("waiting", flush=True)
print(next_signal(signals, 0.2))
"""


def waiting() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", WAIT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    return process


@pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="Linux only")
def test_process_that_was_stopped() -> None:
    """Who goes on after the time is over has got no signal, and goes on serving."""
    process = waiting()
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    time.sleep(0.3)
    process.send_signal(signal.SIGCONT)
    assert process.communicate()[0] == "None\n"


@pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="Linux only")
def test_nothing_comes() -> None:
    """The time is over."""
    assert waiting().communicate()[0] == "None\n"
