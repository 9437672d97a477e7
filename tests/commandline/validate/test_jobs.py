"""`claimcheck validate --jobs N`: several processes find and say what one does, and end as one does."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commandline.main import main
from commandline.reports import FORMATS

EXAMPLES = Path(__file__).parents[3] / "manifests" / "examples"
_PATIENCE_SECONDS = 120
COMMAND = [sys.executable, "-m", "commandline.main", "validate"]
HEAD = "apiVersion: resource.k8s.io/v1\nkind: %s\nmetadata: {name: %s}\n"
CLAIM = HEAD % ("ResourceClaim", "%s") + (
    "spec:\n  devices:\n    requests:\n    - name: %s\n      exactly: {deviceClassName: %s%s}\n"
)
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec:\n"
    "  containers:\n  - {name: c, image: i, resources: {claims: [{name: a, request: %s}]}}\n"
    "  resourceClaims:\n  - {name: a, resourceClaimName: %s}\n"
)
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {resource.kubernetes.io/admin-access: '%s'}}\n"
SLICE = HEAD % ("ResourceSlice", "%s") + (
    "spec:\n  driver: gpu.example.com\n  nodeName: node-a\n  pool: {name: p, resourceSliceCount: 2, generation: %d}\n"
    "  sharedCounters:\n  - {name: set-%d, counters: {memory: {value: 1Gi}}}\n"
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


def _name(pick: random.Random) -> str:
    return pick.choice(("a", "b", "c", "d"))


def _class(pick: random.Random) -> str:
    rest = pick.choice(
        ("", "spec: {selectors: [{cel: {expression: device.driver == 'x'}}]}\n", "spec: {nodes: x}\n")
    )
    return HEAD % ("DeviceClass", _name(pick)) + rest


DOCUMENTS: tuple[Callable[[random.Random], str], ...] = (
    lambda pick: CLAIM % (_name(pick), _name(pick), _name(pick), pick.choice(("", ", adminAccess: true"))),
    lambda pick: CLAIM % (_name(pick), "main", _name(pick), ", count: -1"),
    lambda pick: POD % (_name(pick), _name(pick)),
    _class,
    lambda pick: NAMESPACE % pick.choice(("true", "false")),
    lambda pick: SLICE % (_name(pick), pick.randint(1, 2), pick.randint(1, 3)),
    lambda pick: HEAD % ("Widget", _name(pick)),
    lambda pick: "kind: ConfigMap\napiVersion: v1\n",
    lambda pick: "a: [\n",
    lambda pick: "just text\n",
)


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[int], str]:
    """Makes a directory of files whose objects depend on each other, some of them no manifests; different by seed."""

    def make(seed: int) -> str:
        pick = random.Random(seed)
        root = tmp_path / f"tree-{seed}"
        for number in range(40):
            file = root / pick.choice(("", "x", "x/y")) / f"{pick.randrange(10**6)}-{number}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            made = [pick.choice(DOCUMENTS)(pick) for _ in range(pick.randint(1, 3))]
            file.write_text("---\n".join(made))
        (root / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
        return str(root)

    return make


def _run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def require_same(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Compares three processes with one, which needs none of its own."""

    def compare(*arguments: str) -> None:
        code = main(["validate", "--jobs", "1", *arguments])
        output, errors = capsys.readouterr()
        assert _run("--jobs", "3", *arguments) == (code, output, errors)

    return compare


@pytest.mark.parametrize("format", FORMATS)
def test_examples_in_every_format(format: str, require_same: Callable[..., None]) -> None:
    """The shipped examples, good and bad: the same report, to the byte."""
    require_same("-o", format, "--notes", str(EXAMPLES))


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--no-lint",),
        ("--warnings-as-errors", "-o", "json"),
        ("--kube-version", "1.34"),
        ("--kube-version", "kep", "--namespace-labels", "default:resource.kubernetes.io/admin-access=true"),
        ("--namespace", "other"),
        ("--inventory", str(EXAMPLES / "inventory"), "--notes", "-o", "yaml"),
        ("--inventory", "not-there"),
    ],
    ids=lambda options: " ".join(options).replace(str(EXAMPLES), "") or "default",
)
def test_options(
    options: tuple[str, ...], tree: Callable[[int], str], require_same: Callable[..., None]
) -> None:
    """Whatever the options, and wherever the objects are that others depend on."""
    require_same(*options, tree(0))


@pytest.mark.parametrize("seed", range(1, 5))
def test_random_trees(
    seed: int, tree: Callable[[int], str], tmp_path: Path, require_same: Callable[..., None]
) -> None:
    """Which process reads what does not show; nor that an inventory overrides what the files say."""
    inventory = tmp_path / "inventory"
    shutil.copytree(tree(seed + 100), inventory)
    require_same("--notes", "-o", "json", tree(seed), "not-there.yaml")
    require_same("--notes", tree(seed), "--inventory", str(inventory))


def test_more_processes_than_files(tree: Callable[[int], str]) -> None:
    """At most one process per file."""
    file = next(Path(tree(1)).rglob("*.yaml"))
    assert (
        _run("--jobs", "64", str(file), str(EXAMPLES))[1] == _run("--jobs", "1", str(file), str(EXAMPLES))[1]
    )


@pytest.mark.parametrize("number", ["0", "-1", "65"])
def test_impossible_number(number: str) -> None:
    """The number of processes is bounded."""
    expected = f"claimcheck: --jobs {number}: expected a number from 1 to 64\n"
    assert _run(f"--jobs={number}", str(EXAMPLES)) == (2, "", expected)


# --- what goes wrong with processes --------------------------------------------------------------------------------


@pytest.fixture
def stuck(tmp_path: Path, interruptible: None) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Two processes, one of which waits for the writer of a named pipe; and that pipe."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    other = tmp_path / "other.yaml"
    other.write_text(CLAIM % ("a", "a", "a", ""))
    with subprocess.Popen(
        [*COMMAND, "--jobs", "2", str(pipe), str(other)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process, pipe
        process.kill()


def _child_of(pid: int) -> int:
    """The only child of a process, once there is one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.01)
    raise AssertionError("no child")


def _let_go(pipe: Path, ended: Callable[[], bool]) -> None:
    """Let whoever waits for the pipe's writer read nothing, until all has ended."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if ended():
            return
        with contextlib.suppress(OSError):  # nobody is waiting (yet, or any more)
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        time.sleep(0.01)
    raise AssertionError("it goes on and on")


def _has_ended(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")


@needs_proc
def test_process_that_dies(stuck: tuple[subprocess.Popen[str], Path]) -> None:
    """The work could not be done: exit code 2, and a line that says why; no report."""
    process, pipe = stuck
    child = _child_of(process.pid)
    os.kill(child, signal.SIGKILL)
    _let_go(pipe, lambda: process.poll() is not None)
    output, errors = process.communicate(timeout=_PATIENCE_SECONDS)
    assert (process.returncode, output) == (2, "")
    assert errors == (
        f"claimcheck: worker process {child} was killed by signal 9; "
        "--jobs 1 works without worker processes\n"
    )


@needs_proc
def test_interrupt(stuck: tuple[subprocess.Popen[str], Path]) -> None:
    """Ctrl-C ends all processes, without a word."""
    process, _ = stuck
    child = _child_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=_PATIENCE_SECONDS) == ("", "")
    assert process.returncode == 130
    assert not Path(f"/proc/{child}").exists()


@needs_proc
def test_parent_that_dies(stuck: tuple[subprocess.Popen[str], Path]) -> None:
    """Nobody goes on working for a process that is no longer there."""
    process, pipe = stuck
    child = _child_of(process.pid)
    process.kill()
    process.wait()
    _let_go(pipe, lambda: _has_ended(child))


def test_process_that_fails() -> None:
    """What goes wrong in a process is on stderr, and the one that waits for it does not wait on."""
    program = """
from commandline.errors import WorkerLost
from commandline.validate.workers import start

def work(channel):
    raise LookupError("nothing here")

workers = []
start(work, workers)
try:
    workers[0].receive()
except WorkerLost as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("exited with code 1; --jobs 1 works without worker processes\n")
    assert done.stderr.endswith("LookupError: nothing here\n")


def test_no_more_processes() -> None:
    """Where the system allows no process, those that there are do the work."""
    program = f"""
import errno, os, sys
from commandline.main import main

def refuse():
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

os.fork = refuse
sys.exit(main(["validate", "--jobs", "4", {str(EXAMPLES)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == _run("--jobs", "1", str(EXAMPLES))
