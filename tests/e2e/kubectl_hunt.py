"""Reads random files with a real kubectl and server, and with Claimcheck, and shows where the verdicts differ.

python -m tests.e2e.kubectl_hunt --seed 7 --mutated 2600 --odd 1600 --unchanged 245 --sequences 563
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from commandline.main import main as claimcheck
from tests.corpus.tables import NAMESPACES
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.kubectl import Kubectl, Output
from tests.e2e.kubectl_files import PROFILE, File, mutated_files, odd_files, steps, stored_file

VERBS = ("create", "apply")
_SERVER = ("--runtime-config", "api/all=true")
_LABELS = tuple(
    f"--namespace-labels={name}:{','.join(f'{key}={value}' for key, value in labels.items())}"
    for name, labels in NAMESPACES.items()
    if labels
)
_NO_NAMESPACE = re.compile(r'namespaces ".*" not found')
_OPTIONS = {"create": ("--create",), "apply": (), "apply --server-side": ("--server-side",)}


class Difference(NamedTuple):
    """A file about which the two disagree."""

    file: File
    verb: str
    kubectl: Output
    findings: list[str]

    def __str__(self) -> str:
        said = self.kubectl.errors.strip() or "accepted"
        ours = "\n    ".join(self.findings) or "accepted"
        return f"{self.file.name} {self.verb} [{self.file.note[:300]}]\n  kubectl: {said[:600]}\n  claimcheck: {ours[:600]}"


def verdict(*arguments: str) -> tuple[bool, list[str]]:
    """Whether Claimcheck accepts everything in files, and its errors."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = claimcheck(["validate", "-o", "json", "--no-lint", "--quiet", *_SERVER, *_LABELS, *arguments])
    report = json.loads(out.getvalue()) if out.getvalue() else {}
    errors = [
        f"{finding['line']}: {finding.get('field', '')} {finding['message']}"
        for result in report.get("results", ())
        for finding in result["findings"]
        if finding["severity"] == "error"
    ]
    errors += [f"{failure['file']}: {failure['message']}" for failure in report.get("failures", ())]
    empty = not report.get("results") and not report.get("skipped")
    return code == 0 and not empty, errors or ["nothing to validate"] * empty


def compared(
    server: ApiServer, files: Iterable[File], directory: Path, verbs: Sequence[str] = VERBS
) -> Iterator[Difference | None]:
    """A difference or None for every file and verb."""
    kubectl = Kubectl(server, directory / "cache")
    for name, labels in NAMESPACES.items():
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        server.client.ask("POST", "/api/v1/namespaces", namespace)

    def ask(asked: tuple[File, str]) -> Output:
        file, verb = asked
        return kubectl(*verb.split(), "--dry-run=server", "-o", "name", "-f", str(directory / file.name))

    with ThreadPoolExecutor(2) as pool:
        pending = iter([(file, verb) for file in files for verb in verbs])
        while chunk := list(islice(pending, 40)):
            for file, _ in chunk:  # before anybody reads one: the verbs are asked at the same time
                (directory / file.name).write_bytes(file.text.encode("utf-8", "surrogateescape"))
            for (file, verb), output in zip(chunk, pool.map(ask, chunk), strict=True):
                if _NO_NAMESPACE.search(output.errors):  # which files do not tell
                    continue
                accepted, errors = verdict(str(directory / file.name), *_OPTIONS[verb])
                differs = accepted != (output.code == 0)
                yield Difference(file, verb, output, errors) if differs else None


def sequences(server: ApiServer, seed: str, count: int, directory: Path) -> Iterator[Difference | None]:
    """Objects that are made and changed step by step; a difference or None for each step."""
    kubectl = Kubectl(server, directory / "cache")
    live = ("--live", f"--kubeconfig={server.kubeconfig}")
    for number in range(count):
        for step, (verb, options, ours, file, more) in enumerate(steps(seed, number)):
            for each in (file, *more):
                (directory / each.name).write_text(each.text, encoding="utf-8")
            paths = [str(directory / each.name) for each in more]
            target = str(directory / file.name)
            accepted, errors = verdict(*live, target, *ours, *(f"--patch-file={path}" for path in paths))
            output = kubectl(verb, *options, "-f", target, *(f"--patch-file={path}" for path in paths))
            if step == 0 and output.code:
                break  # nothing to change
            conflicts = "Apply failed with" in output.errors
            differs = accepted != (output.code == 0) or (
                conflicts and not any(_as_said(error) in output.errors for error in errors)
            )
            yield Difference(file, " ".join((verb, *options)), output, errors) if differs else None


def unchanged(server: ApiServer, seed: str, count: int, directory: Path) -> Iterator[Difference | None]:
    """Objects that are stored as they are, and asked about again; a difference or None for each."""
    kubectl = Kubectl(server, directory / "cache")
    live = ("--live", f"--kubeconfig={server.kubeconfig}")
    asked = 0
    for number in range(10 * count):
        file, verb = stored_file(seed, number)
        path = directory / file.name
        path.write_text(file.text, encoding="utf-8")
        if kubectl(verb, "-f", str(path)).code:
            continue
        accepted, errors = verdict(*live, str(path))
        yield None if accepted else Difference(file, "apply", Output(0, "", ""), errors)
        asked += 1
        if asked == count:
            return


def _as_said(error: str) -> str:
    """An error without line and field."""
    return error.partition(":  ")[2] or error


def _tell(what: str, found: Iterable[Difference | None], out: Callable[[str], Any]) -> None:
    count, differences = 0, []
    for each in found:
        count += 1
        if each is not None:
            differences.append(each)
            out(f"{each}\n")
    out(f"== {what}: {len(differences)} of {count} verdicts differ\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.kubectl_hunt", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seed", required=True, help="any text; the same seed gives the same files")
    parser.add_argument("--mutated", type=int, default=0, metavar="N", help="so many mutated manifests")
    parser.add_argument("--odd", type=int, default=0, metavar="N", help="so many oddities of YAML and JSON")
    parser.add_argument(
        "--sequences", type=int, default=0, metavar="N", help="so many objects that are changed"
    )
    parser.add_argument(
        "--unchanged", type=int, default=0, metavar="N", help="so many objects as they are stored"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory, control_plane(PROFILE) as server:

        def out(text: str) -> None:
            print(text, end="", flush=True)

        for what, files in (
            ("mutated", mutated_files(options.seed, options.mutated)),
            ("odd", odd_files(options.seed, options.odd)),
        ):
            place = Path(directory) / what
            place.mkdir()
            _tell(what, compared(server, files, place), out)
        for what, ask, count in (
            ("sequences", sequences, options.sequences),
            ("unchanged", unchanged, options.unchanged),
        ):
            place = Path(directory) / what
            place.mkdir()
            _tell(what, ask(server, options.seed, count, place), out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
